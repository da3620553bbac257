// Manages many sessions. Over a number of messages the middle of a session becomes one summary. The methods are generators,
// written once: ContextManager runs them at once, a shared manager awaits each step.
"use strict";

const { Reporter } = require("../hook/events.js");
const { countTokens } = require("../tools/count.js");
const rules = require("../options.js");
const { compress, forget, replaceableRows } = require("./compression.js");
const { fieldsOf, liveContext, metadataOf, snapshotOf } = require("./context.js");
const { fromAgentMessage } = require("./conversation.js");
const { finishLater, finishNow, postgresStore, sqliteStore } = require("./databases.js");
const { checkMessage, keyOf } = require("./message.js");
const { PostgresPool } = require("./postgres.js");
const { MemoryStore, promptChange, sessionOf } = require("./store.js");
const { callSummarizer, summaryPrompt } = require("./summarizer.js");

const { anything, atLeastOne, checkOptions, checkValue, count, oneOf, positive, rule, show } = rules;

const service = {
  allowed: "a function, or an object with the method callAI",
  accepts: (value) => typeof value === "function" || typeof value?.callAI === "function",
};
/** A shorter prompt has no room for its instructions. */
const promptTokens = rule("a whole number from 400 on", (value) => count.accepts(value) && value >= 400);
/** Longest believable wait for another process's summary, in timeouts. A longer one was set by a wrong clock. */
const MOST_TIMEOUTS = 2;
const OPTIONS = {
  maxMessages: [50, atLeastOne],
  maxCompressedMessages: [20, count],
  language: ["auto", oneOf("zh", "en", "auto")],
  summarize: [undefined, service],
  summarizeTimeoutMs: [30_000, positive],
  summarizeTokens: [16_000, promptTokens],
  onEvent: [undefined, rules.handler],
};

/** The methods of a manager, as generators whose steps are the store's answers. `this` is the manager's core. */
const METHODS = {
  *getOrCreateContext(sessionId, systemPrompt) {
    const key = keyOf(sessionId);
    const prompt = (systemPrompt ?? "") === "" ? undefined : promptOf(systemPrompt);
    const isPrompted = ({ messages }) =>
      prompt === undefined || messages.some(({ role }) => role === "system");
    const create = (session) => {
      if (isPrompted(session)) return { result: session };
      const change = promptChange(session, prompt);
      return { ...change, result: sessionOf(session, [...change.put, ...session.rows]) };
    };
    const known = yield this.store.find(key);
    const isReady = known !== undefined && isPrompted(known);
    const session = isReady ? known : yield this.store.change(key, newState(sessionId), create);
    const read = () => this.store.find(key);
    const set = (fields) => this.finish(METHODS.setMetadata.call(this, sessionId, fields));
    return this.contextOf(sessionId, session, read, set);
  },

  *addMessage(sessionId, message, aiService) {
    const key = keyOf(sessionId);
    const checked = checkMessage(message);
    const { maxMessages } = this.options;
    const summarize = serviceOf("addMessage", aiService) ?? this.options.summarize;
    const isLater = summarize !== undefined || this.compressing.has(key);
    const shrink = isLater ? undefined : (session) => compressNow(session, this.options);
    const outcome = yield this.store.add(key, newState(sessionId), checked, maxMessages, shrink);
    if (outcome?.isOver && !this.compressing.has(key)) compressInBackground(this, sessionId, summarize);
    if (outcome?.by !== undefined) this.reporter.emit({ type: "compressed", sessionId, ...outcome });
  },

  *getMessages(sessionId, includeSystem = true) {
    const { messages = [] } = (yield this.store.find(keyOf(sessionId))) ?? {};
    return includeSystem ? messages : messages.filter(({ role }) => role !== "system");
  },

  *clearContext(sessionId) {
    yield this.store.clear(keyOf(sessionId));
  },

  *setSystemPrompt(sessionId, systemPrompt) {
    const key = keyOf(sessionId);
    const prompt = promptOf(systemPrompt);
    yield this.store.change(key, newState(sessionId), (session) => promptChange(session, prompt));
  },

  *setMetadata(sessionId, metadata = {}) {
    const key = keyOf(sessionId);
    const fields = fieldsOf(metadata);
    const set = ({ state }) => ({ state: { ...state, ...fields } });
    yield this.store.change(key, newState(sessionId), set);
  },

  *deleteMessages(sessionId, ids) {
    const key = keyOf(sessionId);
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string"))
      throw new TypeError("deleteMessages: ids must be an array of message ids");
    const work = (session) => forget(session, new Set(ids), this.options.language);
    return (yield this.store.change(key, undefined, work, true)) ?? [];
  },

  *listSessions() {
    const sessions = yield this.store.list();
    return sessions.map(({ messages, ...session }) => ({
      sessionId: session.state.id,
      messages,
      metadata: metadataOf(session),
    }));
  },

  *getStats(sessionId) {
    const session = yield this.store.find(keyOf(sessionId));
    if (session === undefined) return undefined;
    const { messages, state } = session;
    return {
      messages: messages.length,
      tokens: countTokens(messages),
      compressions: state.compressions ?? 0,
    };
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

  /**
   * `finish` runs a generator at once or awaits its steps. `contextOf(sessionId, session, read, set)` returns a context.
   * `compressing` holds the running compressions by session.
   */
  constructor(options, reporter, store, { finish, contextOf }) {
    this.#core = { options, reporter, store, finish, contextOf, compressing: new Map() };
  }

  setMaxMessages(n) {
    this.#setLimit("maxMessages", n);
  }

  setMaxCompressedMessages(n) {
    this.#setLimit("maxCompressedMessages", n);
  }

  async compressContext(sessionId, aiService) {
    const summarize = serviceOf("compressContext", aiService) ?? this.#core.options.summarize;
    return compressOnce(this.#core, sessionId, summarize);
  }

  /** Adds the messages, calls and results of an Agent to the session. Returns a function that stops this. */
  attach(agent, sessionId) {
    keyOf(sessionId);
    if (typeof agent?.subscribe !== "function")
      throw new TypeError("attach: agent must be an Agent, with the method subscribe");
    const add = async (message) => this.addMessage(sessionId, message);
    return agent.subscribe((event) => {
      if (event?.type !== "message_end" || event.message?.role === "system") return;
      const message = fromAgentMessage(event.message);
      if (message === undefined) return;
      add(message).catch((error) => this.#core.reporter.failedAt("storeFailed", error, { sessionId }));
    });
  }

  #setLimit(name, n) {
    checkValue(name, n, OPTIONS[name][1]);
    this.#core.options[name] = n;
  }
}

let instance;

/** Manages sessions in memory or in the host's SQLite database. */
class ContextManager extends Manager {
  static getInstance(options) {
    if (instance !== undefined && options !== undefined)
      throw new TypeError("getInstance: the instance is there already; options go to the first call");
    instance ??= new ContextManager(options);
    return instance;
  }

  constructor(given) {
    const table = { ...OPTIONS, database: [undefined, anything] };
    const { database, ...options } = checkOptions("ContextManager", given, table);
    const reporter = new Reporter(options.onEvent, "ContextManager");
    // `{ database: undefined }` is a mistake, not a wish for sessions in memory.
    const isInMemory = given === undefined || !Object.hasOwn(given, "database");
    const store = isInMemory
      ? new MemoryStore()
      : sqliteStore("ContextManager: option database", database, lostRows(reporter));
    super(options, reporter, store, { finish: finishNow, contextOf: liveContext });
  }
}

/** Manages sessions in the host's Postgres, for many processes. Its methods return promises. */
function createSharedContextManager(given) {
  const owner = "createSharedContextManager";
  const table = { ...OPTIONS, pool: [undefined, anything], retryMs: [10_000, rules.amount] };
  const { pool, retryMs, ...options } = checkOptions(owner, given, table);
  const reporter = new Reporter(options.onEvent, owner);
  const store = postgresStore(new PostgresPool(`${owner}: option pool`, pool, retryMs), lostRows(reporter));
  return new Manager(options, reporter, store, { finish: finishLater, contextOf: snapshotOf });
}

/** Returns a function that reports each unreadable row once. */
function lostRows(reporter) {
  return ({ sessionId, id, error }) => {
    if (!reporter.isFirst(JSON.stringify([sessionId, id]))) return;
    const message = `${id === undefined ? "the state of a session" : "a message"} cannot be read and is left out`;
    const details = { sessionId, ...(id !== undefined && { messageId: id }) };
    reporter.warn({ type: "rowUnreadable", ...details, code: "ERR_DATABASE_ROW", message, cause: error });
  };
}

/** Compresses until the session is within its limit. Messages can arrive meanwhile. */
async function compressInBackground(core, sessionId, summarize) {
  try {
    for (let isOver = true; isOver; ) {
      const { after, by } = await compressOnce(core, sessionId, summarize);
      isOver = by !== "none" && after > core.options.maxMessages;
    }
  } catch (error) {
    core.reporter.failedAt("compressFailed", error, { sessionId });
  }
}

/** Joins the running compression of a session or starts one. Resolves with `{ before, after, by }`. */
function compressOnce(core, sessionId, summarize) {
  const key = keyOf(sessionId);
  const { compressing } = core;
  const running = compressing.get(key);
  // A summary by rules takes no time, so nobody has to join it.
  if (running !== undefined || summarize === undefined) return running ?? compressWith(core, sessionId, key);
  const work = compressWith(core, sessionId, key, summarize).finally(() => compressing.delete(key));
  compressing.set(key, work);
  return work;
}

async function compressWith({ store, options, reporter }, sessionId, key, summarize) {
  const known = await store.find(key);
  const replaceable = known === undefined ? [] : replaceableRows(known, options);
  const before = known?.messages.length ?? 0;
  const none = { before, after: before, by: "none" };
  const told = (compressed) => {
    if (compressed !== undefined) reporter.emit({ type: "compressed", sessionId, ...compressed });
    return compressed ?? none;
  };
  if (replaceable.length === 0) return none;
  if (summarize === undefined)
    return told(await store.change(key, undefined, (session) => compressNow(session, options)));
  // Processes that share a session must not pay for the same summary. After a crash the reservation expires.
  let ownUntil;
  const reserve = ({ state }) => {
    if (isReserved(state, options)) return { result: false };
    ownUntil = Date.now() + options.summarizeTimeoutMs;
    return { state: { ...state, summarizedUntil: ownUntil }, result: true };
  };
  if (!(await store.change(key, undefined, reserve))) return none;
  const messages = replaceable.map(({ message }) => message);
  const prompt = summaryPrompt(messages, options.summarizeTokens);
  const request = { timeoutMs: options.summarizeTimeoutMs };
  const { text, failure } = await callSummarizer(summarize, messages, prompt, request);
  if (failure !== undefined) reporter.failedAt("summarizeFailed", failure, { sessionId, by: "rules" });
  const replace = (session) => {
    const { summarizedUntil, ...state } = session.state;
    if (summarizedUntil !== ownUntil) state.summarizedUntil = summarizedUntil;
    return compress({ ...session, state }, options, replaceable, text) ?? { state };
  };
  return told(await store.change(key, undefined, replace));
}

/** True while a process waits for its summary of the session. */
function isReserved({ summarizedUntil }, { summarizeTimeoutMs }) {
  const leftMs = summarizedUntil - Date.now();
  return leftMs > 0 && leftMs <= MOST_TIMEOUTS * summarizeTimeoutMs;
}

/** Returns the change that compresses by rules; none while another process waits for a summary. */
function compressNow(session, options) {
  return isReserved(session.state, options) ? undefined : compress(session, options);
}

/** Checks the summariser that a host passed to a method. Returns undefined for none. */
function serviceOf(method, given) {
  if (given == null || service.accepts(given)) return given ?? undefined;
  throw new TypeError(`${method}: aiService must be ${service.allowed}`);
}

const newState = (id) => ({ id });

function promptOf(systemPrompt) {
  if (typeof systemPrompt !== "string")
    throw new TypeError(`systemPrompt must be a string, not ${show(systemPrompt)}`);
  return checkMessage({ role: "system", content: systemPrompt });
}

module.exports = { ContextManager, createSharedContextManager };
