// Many sessions side by side, each bounded: past a number of messages the middle of a session becomes one summary. The logic is
// written once, as generators over a store: ContextManager runs them at once, a shared manager waits for each step.
"use strict";

const { countTokens } = require("../tools/count.js");
const { amount, atLeastOne, checkOptions, count, handler, oneOf, positive, show } = require("../options.js");
const { readCall } = require("../shapes/calls.js");
const { checkMessage, keyOf, newId } = require("./message.js");
const { fromAgentMessage } = require("./conversation.js");
const { MemoryDatabase, PostgresDatabase, SqliteDatabase } = require("./databases.js");
const { noteOf, summarise } = require("./digest.js");
const { lettable, withGroups } = require("./groups.js");
const { Notices } = require("./notices.js");
const { summaryPrompt } = require("./prompts.js");
const { finishLater, finishNow } = require("./steps.js");
const { callSummarizer } = require("./summarizer.js");

const FIELDS = ["goal", "planId"];
/** Messages beside the newest that a compression leaves: the prompt and the summary. */
const ROOM = 2;

const service = {
  allowed: "a function, or an object with the method callAI",
  accepts: (value) => typeof value === "function" || typeof value?.callAI === "function",
};
const pool = {
  allowed: "a Pool of the package pg",
  accepts: (value) => typeof value?.connect === "function" && typeof value?.query === "function",
};
/** Below this a prompt cannot even say what is asked for. */
const promptTokens = {
  allowed: "a whole number from 400 on",
  accepts: (value) => count.accepts(value) && value >= 400,
};
const handle = { allowed: "a handle", accepts: () => true };

const OPTIONS = {
  maxMessages: [50, atLeastOne],
  maxCompressedMessages: [20, count],
  language: ["auto", oneOf("zh", "en", "auto")],
  summarize: [undefined, service],
  summarizeTimeoutMs: [30_000, positive],
  summarizeTokens: [16_000, promptTokens],
  onEvent: [undefined, handler],
};

/** The methods of a manager that are steps. */
const METHODS = {
  *getOrCreateContext(sessionId, systemPrompt) {
    const key = keyOf(sessionId);
    const prompt = systemPrompt === undefined ? undefined : promptOf(systemPrompt);
    const known = yield this.database.read(key, (store) => sessionOf(store, key));
    const needsPrompt = prompt !== undefined && !known?.messages.some(({ role }) => role === "system");
    if (known !== undefined && !needsPrompt) return contextOf(known);
    const made = yield this.database.write(key, function* (store) {
      const { state } = yield store.open(key, newState(sessionId), now());
      if (needsPrompt && state.prompt === undefined) yield store.save(key, { ...state, prompt });
      return yield* sessionOf(store, key);
    });
    return contextOf(made);
  },

  *addMessage(sessionId, message) {
    const key = keyOf(sessionId);
    const checked = checkMessage(message);
    const { isOver, compressed } = yield this.database.write(key, (store) =>
      append(store, key, newState(sessionId), checked, this.options),
    );
    if (compressed !== undefined) this.notices.emit({ type: "compressed", sessionId, ...compressed });
    if (isOver && !this.compressing.has(key)) compressInBackground(this, sessionId);
  },

  *getMessages(sessionId, includeSystem = true) {
    const key = keyOf(sessionId);
    const { messages } = (yield this.database.read(key, (store) => sessionOf(store, key))) ?? {
      messages: [],
    };
    return includeSystem ? messages : messages.filter(({ role }) => role !== "system");
  },

  *clearContext(sessionId) {
    const key = keyOf(sessionId);
    // Done again after a broken connection, it would take what came in between.
    yield this.database.write(key, (store) => clear(store, key), false);
  },

  *setSystemPrompt(sessionId, systemPrompt) {
    yield change(this.database, sessionId, { prompt: promptOf(systemPrompt) });
  },

  *setMetadata(sessionId, metadata = {}) {
    yield change(this.database, sessionId, fieldsOf(metadata));
  },

  *deleteMessages(sessionId, ids) {
    const key = keyOf(sessionId);
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string"))
      throw new TypeError("deleteMessages: ids must be an array of message ids");
    return yield this.database.write(key, (store) => forget(store, key, new Set(ids), this.options.language));
  },

  *listSessions() {
    const sessions = yield this.database.read(undefined, function* (store) {
      return yield store.list();
    });
    return sessions.map((session) => ({
      sessionId: session.state.id,
      messages: session.messages + Number(session.state.prompt !== undefined),
      metadata: metadataOf(session),
    }));
  },

  *getStats(sessionId) {
    const key = keyOf(sessionId);
    const session = yield this.database.read(key, (store) => sessionOf(store, key));
    if (session === undefined) return undefined;
    const { messages, state } = session;
    const { compressions = 0 } = state;
    return { messages: messages.length, tokens: tokensOf(messages), compressions };
  },
};

class Manager {
  #core;

  static {
    for (const [name, method] of Object.entries(METHODS)) {
      Manager.prototype[name] = function (...given) {
        return this.#core.finish(method.apply(this.#core, given));
      };
    }
  }

  /** `finish` runs steps at once, or waits for each. */
  constructor(owner, finish, options, databaseOf) {
    const notices = new Notices(owner, options.onEvent);
    this.#core = {
      options,
      finish,
      notices,
      compressing: new Map(),
      database: databaseOf(lostRows(notices)),
    };
  }

  setMaxMessages(n) {
    this.#setLimit("maxMessages", n, atLeastOne);
  }

  setMaxCompressedMessages(n) {
    this.#setLimit("maxCompressedMessages", n, count);
  }

  async compressContext(sessionId, aiService) {
    if (aiService != null && !service.accepts(aiService))
      throw new TypeError(`compressContext: aiService must be ${service.allowed}`);
    return compressOnce(this.#core, sessionId, aiService ?? this.#core.options.summarize);
  }

  /** Adds to the session what an Agent says, does and gets from its tools. Returns what ends this. */
  attach(agent, sessionId) {
    keyOf(sessionId);
    if (typeof agent?.subscribe !== "function")
      throw new TypeError("attach: agent must be an Agent, with the method subscribe");
    const add = async (message) => this.addMessage(sessionId, message);
    return agent.subscribe((event) => {
      if (event?.type !== "message_end" || event.message?.role === "system") return;
      const message = fromAgentMessage(event.message);
      if (message === undefined) return;
      add(message).catch((error) => this.#core.notices.failed("storeFailed", error, { sessionId }));
    });
  }

  #setLimit(name, n, rule) {
    if (!rule.accepts(n)) throw new TypeError(`${name} is ${show(n)}; it must be ${rule.allowed}`);
    this.#core.options[name] = n;
  }
}

let instance;

/** Sessions in memory, or in the host's SQLite database. */
class ContextManager extends Manager {
  static getInstance(options) {
    if (instance !== undefined && options !== undefined)
      throw new TypeError("getInstance: the instance is there already; options go to the first call");
    instance ??= new ContextManager(options);
    return instance;
  }

  constructor(given) {
    const table = { ...OPTIONS, database: [undefined, handle] };
    const { database, ...options } = checkOptions("ContextManager", given, table);
    // A handle that is not set must not become sessions in memory.
    const isInMemory = given === undefined || !Object.hasOwn(given, "database");
    const databaseOf = (lost) => (isInMemory ? new MemoryDatabase() : new SqliteDatabase(database, lost));
    super("ContextManager", finishNow, options, databaseOf);
  }
}

/** Sessions in the host's Postgres, for many processes: the same methods as promises. */
function createSharedContextManager(given) {
  const table = { ...OPTIONS, pool: [undefined, pool], retryMs: [10_000, amount] };
  const { pool: host, retryMs, ...options } = checkOptions("createSharedContextManager", given, table);
  if (host === undefined)
    throw new TypeError(`createSharedContextManager: option pool is missing; it must be ${pool.allowed}`);
  const databaseOf = (lost) => new PostgresDatabase(host, retryMs, lost);
  return new Manager("createSharedContextManager", finishLater, options, databaseOf);
}

/** A listener that reports each row that cannot be read, once. */
function lostRows(notices) {
  const told = new Set();
  return ({ key, id, error }) => {
    const row = JSON.stringify([key, id]);
    if (told.has(row)) return;
    told.add(row);
    const message = `${id === undefined ? "the state of a session" : "a message"} cannot be read and is left out`;
    const details = { sessionId: key, ...(id !== undefined && { messageId: id }) };
    notices.warn({ type: "rowUnreadable", ...details, code: "ERR_DATABASE_ROW", message, cause: error });
  };
}

/** Compresses until the session is within its limit: messages may come meanwhile. */
async function compressInBackground(core, sessionId) {
  try {
    for (let isOver = true; isOver; ) {
      const { after, by } = await compressOnce(core, sessionId, core.options.summarize);
      isOver = by !== "none" && after > core.options.maxMessages;
    }
  } catch (error) {
    core.notices.failed("compressFailed", error, { sessionId });
  }
}

/** The compression of a session that is under way, or a new one: `{ before, after, by }`. */
function compressOnce(core, sessionId, summarize) {
  const key = keyOf(sessionId);
  const { compressing } = core;
  if (!compressing.has(key)) {
    const work = compress(core, sessionId, key, summarizerOf(summarize));
    compressing.set(
      key,
      work.finally(() => compressing.delete(key)),
    );
  }
  return compressing.get(key);
}

async function compress({ database, options, notices }, sessionId, key, summarize) {
  const plan = await database.read(key, (store) => planOf(store, key, options));
  const none = { before: plan.before, after: plan.before, by: "none" };
  if (plan.letGo.length === 0) return none;
  let words;
  if (summarize !== undefined) {
    const messages = plan.letGo.map(({ message }) => message);
    const prompt = summaryPrompt(messages, options.summarizeTokens);
    const request = { timeoutMs: options.summarizeTimeoutMs };
    const { text, failure } = await callSummarizer(summarize, messages, prompt, request);
    if (failure !== undefined) notices.failed("summarizeFailed", failure, { sessionId, by: "rules" });
    words = text;
  }
  const compressed = await database.write(key, (store) => swap(store, key, plan, words, options));
  if (compressed !== undefined) notices.emit({ type: "compressed", sessionId, ...compressed });
  return compressed ?? none;
}

/** A service with `callAI(prompt, provider, useTools)` as a summariser. */
function summarizerOf(given) {
  if (given == null || typeof given === "function") return given ?? undefined;
  return async (_, { prompt }) => given.callAI(prompt, await given.getCurrentProvider?.(), false);
}

const now = () => new Date().toISOString();
const newState = (id) => ({ id, revision: newId() });
/** The messages of a session and its prompt. */
const countOf = (messages, { prompt }) => messages + Number(prompt !== undefined);

function promptOf(systemPrompt) {
  if (typeof systemPrompt !== "string")
    throw new TypeError(`systemPrompt must be a string, not ${show(systemPrompt)}`);
  return checkMessage({ role: "system", content: systemPrompt });
}

/** The metadata that a host sets; null removes a field. */
function fieldsOf(metadata) {
  if (typeof metadata !== "object" || metadata === null)
    throw new TypeError(`setMetadata: metadata must be an object, not ${show(metadata)}`);
  const fields = {};
  for (const name of FIELDS) {
    const value = metadata[name];
    if (value !== undefined && value !== null && typeof value !== "string")
      throw new TypeError(`metadata.${name} must be a string or null, not ${show(value)}`);
    if (value !== undefined) fields[name] = value ?? undefined;
  }
  return fields;
}

function change(database, sessionId, fields) {
  const key = keyOf(sessionId);
  return database.write(key, function* (store) {
    const { state } = yield store.open(key, newState(sessionId), now());
    yield store.save(key, { ...state, ...fields });
  });
}

/** A session with its messages, the prompt first. */
function* sessionOf(store, key) {
  const session = yield store.find(key);
  if (session === undefined) return undefined;
  const { prompt } = session.state;
  const messages = (yield store.live(key)).map(({ message }) => message);
  return { ...session, messages: prompt === undefined ? messages : [prompt, ...messages] };
}

function contextOf(session) {
  return { sessionId: session.state.id, messages: session.messages, metadata: metadataOf(session) };
}

function metadataOf({ state, createdAt, updatedAt }) {
  const fields = FIELDS.filter((name) => state[name] !== undefined).map((name) => [name, state[name]]);
  return { ...Object.fromEntries(fields), createdAt, updatedAt };
}

function* clear(store, key) {
  yield store.clear(key);
  yield store.clearMessages(key);
}

/** Adds a message. A session over its limit is compressed by rules at once; with a summariser, `isOver` says so. */
function* append(store, key, fresh, message, options) {
  const { state } = yield store.open(key, fresh, now());
  const { messages, next } = yield store.size(key);
  if (message.role === "system" && state.prompt === undefined && messages === 0) {
    yield store.save(key, { ...state, prompt: message });
    return {};
  }
  yield store.add(key, next, message);
  if (countOf(messages + 1, state) <= options.maxMessages) return {};
  if (options.summarize !== undefined) return { isOver: true };
  const plan = yield* planOf(store, key, options);
  return plan.letGo.length === 0
    ? {}
    : { compressed: yield* replace(store, key, state, plan, undefined, options) };
}

/** The rows that a compression would replace, and the revision of the session that this holds for. */
function* planOf(store, key, { maxMessages, maxCompressedMessages }) {
  const session = yield store.find(key);
  if (session === undefined) return { before: 0, letGo: [] };
  const { state } = session;
  const rows = yield store.live(key);
  const messages = rows.map(({ message }) => message);
  const keep = Math.max(0, Math.min(maxCompressedMessages, maxMessages - ROOM));
  const letGo = lettable(messages, keep, state.prompt !== undefined).map((index) => rows[index]);
  return { before: countOf(rows.length, state), letGo, revision: state.revision };
}

/** Replaces the rows of a plan if nothing else was taken from the session since. */
function* swap(store, key, plan, words, options) {
  const session = yield store.touch(key, now());
  if (session === undefined || session.state.revision !== plan.revision) return undefined;
  return yield* replace(store, key, session.state, plan, words, options);
}

function* replace(store, key, state, { letGo }, words, { language }) {
  const { messages } = yield store.size(key);
  const notes = [];
  for (const { id, message } of letGo) {
    if (id === state.summary) {
      yield store.remove(key, id);
    } else {
      notes.push(noteOf(message));
      yield store.letGo(key, id, notes.at(-1));
    }
  }
  const { text, digest, isFromHost } = summarise(state.digest, notes, words, language);
  const summary = checkMessage({ role: "assistant", content: text });
  yield store.add(key, letGo.at(-1).position, summary);
  const compressions = (state.compressions ?? 0) + 1;
  yield store.save(key, { ...state, compressions, digest, summary: summary.id, revision: newId() });
  const before = countOf(messages, state);
  return { before, after: before - letGo.length + 1, by: isFromHost ? "ai" : "rules" };
}

/** Deletes messages with their groups, also from the summary: that is made anew from the notes on what is left. */
function* forget(store, key, wanted, language) {
  const session = yield store.touch(key, now());
  if (session === undefined) return [];
  const { prompt, summary, ...state } = session.state;
  const gone = yield store.gone(key);
  const rows = [...gone, ...(yield store.live(key))];
  const indices = [...rows.keys()].filter((index) => wanted.has(rows[index].id));
  const grouped = withGroups(
    rows.map(({ message }) => message),
    indices,
  );
  const deleted = new Set(grouped.map((index) => rows[index].id));
  // Who deletes the summary deletes what it says.
  const left = deleted.has(summary) ? [] : gone.filter(({ id }) => !deleted.has(id));
  if (left.length === gone.length && !deleted.has(summary)) {
    Object.assign(state, { summary });
  } else {
    const at = rows.find(({ id }) => id === summary)?.position ?? left.at(-1)?.position;
    yield store.remove(key, summary ?? "");
    Object.assign(state, { digest: undefined, ...(yield* summaryAnew(store, key, at, left, language)) });
  }
  const isLeft = new Set(left.map(({ id }) => id));
  for (const id of new Set([...deleted, ...gone.map((row) => row.id)])) {
    if (!isLeft.has(id)) yield store.remove(key, id);
  }
  if (prompt !== undefined && wanted.has(prompt.id)) deleted.add(prompt.id);
  else Object.assign(state, { prompt });
  yield store.save(key, { ...state, revision: newId() });
  return [...deleted];
}

/** The summary by rules of the messages that notes tell of, put at a position: what a session's state says of it. */
function* summaryAnew(store, key, position, rows, language) {
  if (rows.length === 0) return {};
  const notes = rows.map(({ message }) => message);
  const { text, digest } = summarise(undefined, notes, undefined, language);
  const summary = checkMessage({ role: "assistant", content: text });
  yield store.add(key, Math.abs(position), summary);
  return { digest, summary: summary.id };
}

/** Tokens of messages, cl100k. */
function tokensOf(messages) {
  return countTokens(
    messages.map(({ role, content, blocks, toolCalls = [] }) => {
      const calls = toolCalls.map((call) => ({ type: "toolCall", ...readCall(call) }));
      const said = blocks ?? [{ type: "text", text: content }];
      return { role: role === "tool" ? "toolResult" : role, content: [...said, ...calls] };
    }),
  );
}

module.exports = { ContextManager, createSharedContextManager };
