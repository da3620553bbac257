// Many sessions side by side, each bounded: past a number of messages or tokens the middle of a session becomes one
// summary. What a session may let go is decided natively, and a store keeps the rows: this file is the host's door.
"use strict";

const { native } = require("../native/native.js");
const { atLeastOne, checkOptions, count, oneOf, positive, text } = require("../options.js");
const { storeOf } = require("./store/index.js");
const { Opening } = require("./store/opening.js");
const { WriteQueue } = require("./store/queue.js");
const { askAbout, compressionOf } = require("./compression.js");
const { answerOf, checkMessage, fromAgentMessage, written } = require("./conversation.js");
const { checkLimits, checkManagerOptions, name } = require("./limits.js");
const { Notices } = require("./notices.js");
const { Sessions, keyOf } = require("./sessions.js");
const { isPlain, storable } = require("./text.js");
const { exportSessions, hitsOf, importSessions, listed } = require("./transfer.js");

/** Messages a search finds, sessions on a page of a list, where no limit is asked for. */
const SEARCH_LIMIT = 20;
const LIST_LIMIT = 100;
const DAY_MS = 86_400_000;
const FIELDS = ["goal", "planId"];

let instance;

class ContextManager {
  #options;
  #given;
  #notices;
  #store;
  #queue;
  #sessions;
  #opening;
  #closing = new AbortController();

  static getInstance(options) {
    if (instance !== undefined && options !== undefined && !isSame(options, instance.#given)) {
      throw new TypeError(
        "getInstance: there is an instance with other options; close it, or ask without options",
      );
    }
    instance ??= new ContextManager(options);
    return instance;
  }

  /** Resolves when the store is open, rejects if it cannot be. */
  static async open(options) {
    const manager = new ContextManager(options);
    try {
      await manager.#opening.ready();
    } catch (error) {
      await manager.close().catch(() => {});
      throw error;
    }
    return manager;
  }

  constructor(options) {
    this.#given = { ...options };
    this.#options = checkManagerOptions(options);
    this.#notices = new Notices("ContextManager", this.#options.onEvent);
    this.#store = storeOf(this.#options.store);
    this.#opening = new Opening(
      () => this.#open(),
      (error, tried) => this.#notices.failed("storeFailed", error, tried),
    );
    this.#opening.ready().catch(() => {});
    this.#queue = new WriteQueue(this.#store, this.#opening);
    this.#sessions = new Sessions(this.#store, this.#options.namespace, this.#opening);
  }

  async #open() {
    await this.#store.open((event) => {
      const message =
        event.message ??
        `the damaged file ${event.store} was moved to ${event.movedTo}; ${event.salvaged} of its messages could be read`;
      this.#notices.warn({ message, ...event });
    });
  }

  getOrCreateContext(sessionId, systemPrompt) {
    checkPrompt(systemPrompt);
    keyOf(sessionId);
    return this.#report(this.#getOrCreate(sessionId, systemPrompt));
  }

  async #getOrCreate(sessionId, systemPrompt) {
    const session = await this.#load(sessionId);
    const needsPrompt = systemPrompt !== undefined && !session.hasSystem;
    if (needsPrompt || !session.exists) {
      const prompt = needsPrompt ? checkMessage({ role: "system", content: systemPrompt }) : undefined;
      await this.#setFields(session, {}, prompt, true);
      if (!session.isCurrent) await this.#sessions.refresh(session);
    }
    return session.context;
  }

  async addMessage(sessionId, message) {
    const checked = checkMessage(message);
    const session = this.#touch(sessionId);
    const isPrompt = checked.role === "system" && session.count === 0 && session.underWay === 0;
    const isNew = message.id === undefined;
    if (!isPrompt || !(await this.#addPrompt(session, checked))) await this.#append(session, checked, isNew);
    while (!this.#closing.signal.aborted && (await this.#isOver(session))) {
      const { by } = await this.#compressOnce(session, this.#options.summarize);
      if (by === "none") return;
    }
  }

  /** A system message that opens a session is its prompt. False where another process was quicker. */
  async #addPrompt(session, message) {
    const { prompt } = await this.#setFields(session, {}, message, true);
    return prompt === undefined || prompt === written(message);
  }

  #append(session, message, isNew) {
    const entry = { id: message.id, body: written(message), text: storable(message.content) };
    const change = { kind: "append", messages: [entry] };
    return this.#write(session, change, { message, isNew });
  }

  async getMessages(sessionId, includeSystem = true) {
    const session = await this.#load(sessionId);
    return includeSystem ? session.messages : session.messages.filter(({ role }) => role !== "system");
  }

  async compressContext(sessionId, summarize = this.#options.summarize) {
    const session = await this.#load(sessionId);
    return session.exists ? this.#compressOnce(session, summarize) : { before: 0, after: 0, by: "none" };
  }

  clearContext(sessionId) {
    const cleared = this.#write(this.#touch(sessionId), { kind: "clear" });
    return this.#report(cleared.then(({ erased }) => erased));
  }

  async setSystemPrompt(sessionId, systemPrompt) {
    if (systemPrompt === undefined) throw new TypeError("setSystemPrompt: systemPrompt must be a string");
    checkPrompt(systemPrompt);
    const prompt = checkMessage({ role: "system", content: systemPrompt });
    await this.#setFields(this.#touch(sessionId), {}, prompt, false);
  }

  setMetadata(sessionId, metadata = {}) {
    if (typeof metadata !== "object" || metadata === null)
      throw new TypeError(`setMetadata: metadata must be an object, not ${String(metadata)}`);
    const fields = {};
    for (const name of FIELDS) {
      const value = metadata[name];
      if (value === undefined) continue;
      if (typeof value !== "string" && value !== null)
        throw new TypeError(`metadata.${name} must be a string or null, not ${typeof value}`);
      fields[name] = value === null ? null : JSON.stringify(value);
    }
    return this.#report(this.#setFields(this.#touch(sessionId), fields, undefined, false));
  }

  async list(query) {
    const table = {
      namespace: [this.#options.namespace, name],
      order: ["created", oneOf("created", "updated")],
      limit: [LIST_LIMIT, atLeastOne],
      cursor: [undefined, text],
    };
    const asked = checkOptions("list", query, table);
    await this.#settled();
    return listed(await this.#store.list(asked));
  }

  async getStats(sessionId) {
    const session = await this.#load(sessionId);
    if (!session.exists) return undefined;
    const tokens = await session.tokens();
    const { count: messages, compressions, tokensSaved } = session;
    return { messages, tokens, compressions, tokensSaved };
  }

  setMaxMessages(n) {
    this.#setLimit("maxMessages", n);
  }

  setMaxCompressedMessages(n) {
    this.#setLimit("maxCompressedMessages", n);
  }

  async search(query, options) {
    if (typeof query !== "string") throw new TypeError(`search: query must be a string, not ${typeof query}`);
    const table = { sessionId: [undefined, text], limit: [SEARCH_LIMIT, count] };
    const { sessionId, limit } = checkOptions("search", options, table);
    const key = sessionId === undefined ? undefined : keyOf(sessionId);
    await this.#settled();
    const phrases = native().searchPhrases(query);
    return hitsOf(await this.#store.search({ namespace: this.#options.namespace, key, phrases, limit }));
  }

  async deleteMessages(sessionId, ids) {
    if (!Array.isArray(ids) || !ids.every((id) => typeof id === "string" && isPlain(id)))
      throw new TypeError("deleteMessages: ids must be an array of message ids");
    const session = await this.#load(sessionId);
    const wanted = new Set(ids);
    const rows = session.rows.slice();
    const indices = rows.flatMap(({ message }, index) => (wanted.has(message.id) ? [index] : []));
    for (const index of await askAbout("groupsOf", rows, indices)) {
      wanted.add(rows[index].message.id);
    }
    const all = [...wanted];
    await this.#write(session, { kind: "delete", ids: all });
    return all;
  }

  async prune(options) {
    const { maxAgeDays } = checkOptions("prune", options, { maxAgeDays: [undefined, positive] });
    if (maxAgeDays === undefined) throw new TypeError("prune: option maxAgeDays is missing");
    await this.#settled();
    const pruned = await this.#store.prune(this.#options.namespace, Date.now() - maxAgeDays * DAY_MS);
    this.#sessions.distrust();
    return pruned;
  }

  /** The lines of one session, or of all. */
  async *export(sessionId) {
    const key = sessionId === undefined ? undefined : keyOf(sessionId);
    await this.#settled();
    yield* exportSessions(this.#store, this.#options.namespace, key);
  }

  async import(lines) {
    if (!isText(lines))
      throw new TypeError("import: lines must be text, or chunks of text or bytes one by one");
    await this.#settled();
    const imported = await importSessions(this.#queue, this.#options.namespace, lines);
    this.#sessions.distrust();
    return imported;
  }

  /** Asks with the session's messages and keeps question and answer; a question that fails leaves nothing behind. */
  async ask(sessionId, text, complete, { signal } = {}) {
    if (typeof complete !== "function") throw new TypeError("ask: complete must be a function");
    const question = checkMessage({ role: "user", content: text });
    await this.addMessage(sessionId, question);
    try {
      const answer = await complete(await this.getMessages(sessionId), { sessionId, signal });
      const message = answerOf(answer);
      await this.addMessage(sessionId, message);
      return message.content;
    } catch (error) {
      await this.deleteMessages(sessionId, [question.id]).catch(() => {});
      throw error;
    }
  }

  /** Adds to the session what an Agent says, does and gets from its tools. Returns what ends this. */
  attach(agent, sessionId) {
    keyOf(sessionId);
    if (typeof agent?.subscribe !== "function")
      throw new TypeError("attach: agent must be an Agent, with the method subscribe");
    return agent.subscribe((event) => {
      if (event?.type !== "message_end" || event.message?.role === "system") return;
      const message = fromAgentMessage(event.message);
      if (message !== undefined) this.#report(this.addMessage(sessionId, message));
    });
  }

  /** Resolves when all that was added is stored and the store is closed. */
  async close() {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    if (instance === this) instance = undefined;
    await this.#queue.drained();
    await this.#opening.settled();
    await this.#store.close();
  }

  #assertOpen() {
    if (!this.#closing.signal.aborted) return;
    throw Object.assign(new Error("the ContextManager was closed; make a new one to go on"), {
      code: "ERR_CLOSED",
    });
  }

  #setLimit(name, n) {
    const rule = name === "maxMessages" ? atLeastOne : count;
    if (!rule.accepts(n)) throw new TypeError(`ContextManager: ${name} must be ${rule.allowed}`);
    checkLimits({ ...this.#options, [name]: n });
    this.#options[name] = n;
  }

  async #load(sessionId) {
    this.#assertOpen();
    return this.#sessions.load(sessionId);
  }

  /** The session as far as it is known here; nothing is read. */
  #touch(sessionId) {
    this.#assertOpen();
    return this.#sessions.known(sessionId);
  }

  #setFields(session, fields, prompt, ifAbsent) {
    const body = prompt && { prompt: written(prompt), promptIfAbsent: ifAbsent };
    return this.#write(session, { kind: "fields", fields, ...body });
  }

  /** Resolves with the outcome when the change is stored. */
  #write(session, change, appended) {
    const operation = { namespace: this.#options.namespace, key: session.key, ...change };
    return session.change(this.#queue.write(operation), appended);
  }

  /** Resolves when the store is open, and has answered to all changes asked for before. */
  async #settled() {
    this.#assertOpen();
    await this.#opening.ready();
    await this.#queue.settled();
  }

  async #isOver(session) {
    if (!session.isCurrent) await this.#sessions.refresh(session);
    const { maxMessages, maxTokens } = this.#options;
    return session.count > maxMessages || (maxTokens !== undefined && (await session.tokens()) > maxTokens);
  }

  #compressOnce(session, summarize) {
    session.compressing ??= this.#compress(session, summarize).finally(() => {
      session.compressing = undefined;
    });
    return session.compressing;
  }

  async #compress(session, summarize) {
    const before = session.count;
    const none = () => ({ before, after: session.count, by: "none" });
    try {
      const made = await compressionOf(session, summarize, this.#options, this.#closing.signal);
      if (made === undefined) return none();
      const { by, change, failure } = made;
      if (failure !== undefined)
        this.#notices.failed("summarizeFailed", failure, { sessionId: session.id, by: "rules" });
      const forget = this.#store.forgets === true;
      const { applied } = await this.#write(session, { ...change, forget });
      if (!applied) {
        if (!this.#closing.signal.aborted) await this.#sessions.refresh(session);
        return none();
      }
      const result = { before, after: before - change.letGo.length + 1, by };
      const { tokensSaved } = change;
      this.#notices.emit({ type: "compressed", sessionId: session.id, ...result, tokensSaved });
      return result;
    } catch (error) {
      if (!this.#closing.signal.aborted)
        this.#notices.failed("compressFailed", error, { sessionId: session.id });
      return none();
    }
  }

  /** The same promise; its failure is told even if nobody waits for it, and never ends the process. */
  #report(work) {
    work.catch((error) => this.#notices.failed("storeFailed", error));
    return work;
  }
}

/** Text, or what can be read one chunk after the other. */
function isText(lines) {
  const isIterable = (method) => typeof lines?.[method] === "function";
  return typeof lines === "string" || isIterable(Symbol.iterator) || isIterable(Symbol.asyncIterator);
}

function checkPrompt(systemPrompt) {
  if (systemPrompt !== undefined && typeof systemPrompt !== "string")
    throw new TypeError(`systemPrompt must be a string, not ${typeof systemPrompt}`);
}

function isSame(some, others) {
  const names = new Set([...Object.keys(some), ...Object.keys(others)]);
  return [...names].every((option) => some[option] === others[option]);
}

module.exports = { ContextManager };
