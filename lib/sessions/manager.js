// Many sessions side by side, each bounded: past a number of messages the middle of a session becomes one summary.
// In memory, or in a file that other processes may use too; then what is let go can still be found.
"use strict";

const { Reporter } = require("../events.js");
const { checkOptions, count, handler, positive } = require("../options.js");
const { summarise } = require("./compression.js");
const { checkMessage, fromAgentMessage } = require("./conversation.js");
const { SessionFile } = require("./file.js");
const { matcher } = require("./search.js");
const { Entry, Session, bodyOf } = require("./session.js");

const MAX_MESSAGES = 50;
const MAX_COMPRESSED_MESSAGES = 20;
/** Sessions of a file that are kept in memory; the least used give way. */
const CACHED_SESSIONS = 1024;
/** Messages a search finds where no limit is asked for. */
const SEARCH_LIMIT = 20;

const filePath = {
  allowed: "the path of a file",
  accepts: (value) => typeof value === "string" && value !== "" && value !== ":memory:",
};
const atLeastOne = {
  allowed: "a whole number from 1 on",
  accepts: (value) => count.accepts(value) && value > 0,
};

const OPTIONS = {
  store: [undefined, filePath],
  maxMessages: [MAX_MESSAGES, atLeastOne],
  maxCompressedMessages: [MAX_COMPRESSED_MESSAGES, count],
  summarize: [undefined, handler],
  summarizeTimeoutMs: [30_000, positive],
  onEvent: [undefined, handler],
};

let instance;

class ContextManager {
  #options;
  #reporter;
  #file;
  #sessions = new Map();
  #isClosed = false;

  static getInstance() {
    instance ??= new ContextManager();
    return instance;
  }

  constructor(options) {
    this.#options = checkOptions("ContextManager", options, OPTIONS);
    this.#reporter = new Reporter(this.#options.onEvent);
    const { store } = this.#options;
    if (store === undefined) return;
    this.#file = new SessionFile(store);
    const { setAside } = this.#file;
    if (setAside !== undefined) this.#reporter.emit({ type: "storeSetAside", store, movedTo: setAside });
  }

  getOrCreateContext(sessionId, systemPrompt) {
    if (systemPrompt !== undefined && typeof systemPrompt !== "string") {
      throw new TypeError(`systemPrompt must be a string, not ${typeof systemPrompt}`);
    }
    const session = this.#find(sessionId) ?? this.#create(sessionId);
    if (systemPrompt !== undefined && !session.hasSystem) {
      const entry = new Entry(checkMessage({ role: "system", content: systemPrompt }));
      session.add(entry);
      if (this.#file !== undefined) this.#reportFailure(this.#store(session, entry));
    }
    return session.context();
  }

  async addMessage(sessionId, message) {
    const entry = new Entry(checkMessage(message));
    const session = this.#find(sessionId) ?? this.#create(sessionId);
    session.add(entry);
    if (this.#file !== undefined) await this.#store(session, entry);
    if (session.entries.length > this.#options.maxMessages) await this.compressContext(sessionId);
  }

  getMessages(sessionId, includeSystem = true) {
    const messages = this.#find(sessionId)?.messages ?? [];
    return includeSystem ? messages : messages.filter(({ role }) => role !== "system");
  }

  async compressContext(sessionId, summarize = this.#options.summarize) {
    const session = this.#find(sessionId);
    if (session === undefined) return { before: 0, after: 0, by: "none" };
    session.compressing ??= this.#compress(session, summarize).finally(() => {
      session.compressing = undefined;
    });
    return session.compressing;
  }

  clearContext(sessionId) {
    const key = keyOf(sessionId);
    this.#assertOpen();
    this.#sessions.delete(sessionId);
    if (this.#file !== undefined) this.#reportFailure(this.#file.write({ kind: "clear", key }));
  }

  listSessions() {
    this.#assertOpen();
    const inMemory = [...this.#sessions.keys()];
    if (this.#file === undefined) return inMemory;
    const stored = this.#file.keys().map((key) => JSON.parse(key));
    return [...new Set([...stored, ...inMemory])];
  }

  getStats(sessionId) {
    const session = this.#find(sessionId);
    if (session === undefined) return undefined;
    const { entries, compressions, tokensSaved } = session;
    const tokens = entries.reduce((sum, entry) => sum + entry.tokens, 0);
    return { messages: entries.length, tokens, compressions, tokensSaved };
  }

  setMetadata(sessionId, { goal, planId } = {}) {
    const session = this.#find(sessionId) ?? this.#create(sessionId);
    for (const [name, value] of Object.entries({ goal, planId })) {
      if (value === undefined) continue;
      if (typeof value !== "string")
        throw new TypeError(`metadata.${name} must be a string, not ${typeof value}`);
      session.metadata[name] = value;
    }
    session.metadata.updatedAt = new Date().toISOString();
    this.#storeState(session);
  }

  setMaxMessages(n) {
    this.#set("maxMessages", n);
  }

  setMaxCompressedMessages(n) {
    this.#set("maxCompressedMessages", n);
  }

  search(query, { sessionId, limit = SEARCH_LIMIT } = {}) {
    if (typeof query !== "string") throw new TypeError(`search: query must be a string, not ${typeof query}`);
    if (!count.accepts(limit)) throw new TypeError(`search: limit must be ${count.allowed}`);
    this.#assertOpen();
    const key = sessionId === undefined ? undefined : keyOf(sessionId);
    if (this.#file === undefined) return this.#searchMemory(query, sessionId, limit);
    return this.#file.search(query, key, limit).map(({ key: found, body, isLive }) => ({
      sessionId: JSON.parse(found),
      message: JSON.parse(body).message,
      isCurrent: isLive,
    }));
  }

  /** Adds to the session what an Agent says, does and gets from its tools. Returns what ends this. */
  attach(agent, sessionId) {
    keyOf(sessionId);
    return agent.subscribe((event) => {
      if (event?.type !== "message_end" || event.message?.role === "system") return;
      const message = fromAgentMessage(event.message);
      if (message !== undefined) this.#reportFailure(this.addMessage(sessionId, message));
    });
  }

  /** Resolves when all that was written is on disk and the file is closed. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (instance === this) instance = undefined;
    this.#sessions.clear();
    await this.#file?.close();
  }

  #assertOpen() {
    if (this.#isClosed) {
      throw Object.assign(new Error("the ContextManager was closed; make a new one to go on"), {
        code: "ERR_CLOSED",
      });
    }
  }

  #set(name, value) {
    const [, rule] = OPTIONS[name];
    if (!rule.accepts(value)) throw new TypeError(`${name} must be ${rule.allowed}`);
    this.#options[name] = value;
  }

  /** The session, from memory or else from the file; read again if another process has written since. */
  #find(sessionId) {
    const key = keyOf(sessionId);
    this.#assertOpen();
    const known = this.#sessions.get(sessionId);
    if (this.#file === undefined) return known;
    this.#file.refresh();
    const isBusy = known !== undefined && (known.pending > 0 || known.compressing !== undefined);
    if (isBusy || known?.generation === this.#file.generation) return known;
    const stored = this.#file.load(key);
    this.#sessions.delete(sessionId);
    return stored === undefined ? undefined : this.#keep(Session.restore(sessionId, stored));
  }

  #create(sessionId) {
    const session = this.#keep(new Session(sessionId));
    this.#storeState(session);
    return session;
  }

  #keep(session) {
    this.#sessions.set(session.id, session);
    if (this.#file === undefined) return session;
    session.generation = this.#file.generation;
    for (const [id, other] of this.#sessions) {
      if (this.#sessions.size <= CACHED_SESSIONS) break;
      if (other.pending === 0 && other.compressing === undefined && other !== session)
        this.#sessions.delete(id);
    }
    return session;
  }

  /** Resolves when the entry is on disk; rejects, and takes it out of the session again, where that fails. */
  async #store(session, entry) {
    const { message } = entry;
    try {
      const operation = {
        kind: "append",
        key: keyOf(session.id),
        body: bodyOf(entry),
        text: message.content,
      };
      entry.id = await this.#write(session, operation);
    } catch (error) {
      session.remove(entry);
      throw error;
    }
  }

  #storeState(session) {
    if (this.#file === undefined) return;
    this.#reportFailure(
      this.#write(session, { kind: "state", key: keyOf(session.id), state: session.state() }),
    );
  }

  async #write(session, operation) {
    session.pending += 1;
    try {
      return await this.#file.write(operation);
    } finally {
      session.pending -= 1;
    }
  }

  async #compress(session, summarize) {
    const before = session.entries.length;
    const middle = session.middle(this.#options.maxCompressedMessages);
    const none = () => ({ before, after: session.entries.length, by: "none" });
    // One message, or the summary of the last time, is not worth a summary.
    if (middle.length < 2) return none();
    let made;
    try {
      made = await summarise(session, middle, summarize, this.#options.summarizeTimeoutMs);
      if (!(await this.#storeSummary(session, middle, made))) return none();
    } catch (error) {
      this.#reporter.failed(error);
      return none();
    }
    session.replace(middle, made.summary);
    session.digest = made.digest;
    session.compressions += 1;
    session.tokensSaved += made.tokensSaved;
    const result = { before, after: session.entries.length, by: made.by };
    this.#reporter.emit({
      type: "compressed",
      sessionId: session.id,
      ...result,
      tokensSaved: made.tokensSaved,
    });
    return result;
  }

  /** False if the session was cleared meanwhile, or compressed by another process. */
  async #storeSummary(session, middle, { summary, digest, tokensSaved }) {
    const isCurrent = () => this.#sessions.get(session.id) === session;
    if (!isCurrent() || this.#file === undefined) return isCurrent();
    const state = session.state({
      digest,
      compressions: session.compressions + 1,
      tokensSaved: session.tokensSaved + tokensSaved,
    });
    const ids = middle.map((entry) => entry.id);
    // A message that is not on disk yet cannot be let go there; the next message tries again.
    if (ids.includes(undefined)) return false;
    const operation = { kind: "replace", key: keyOf(session.id), ids, body: bodyOf(summary), state };
    summary.id = await this.#write(session, operation);
    if (summary.id >= 0) return isCurrent();
    session.generation = -1;
    return false;
  }

  #searchMemory(query, sessionId, limit) {
    const matches = matcher(query);
    if (matches === undefined) return [];
    const sessions = sessionId === undefined ? [...this.#sessions.values()] : [this.#sessions.get(sessionId)];
    const hits = sessions.flatMap((session) => {
      const found =
        session?.entries.filter((entry) => !entry.isSummary && matches(entry.message.content)) ?? [];
      return found.map(({ message, order }) => ({
        order,
        hit: { sessionId: session.id, message, isCurrent: true },
      }));
    });
    hits.sort((a, b) => b.order - a.order);
    return hits.slice(0, limit).map(({ hit }) => hit);
  }

  #reportFailure(work) {
    work.catch((error) => {
      const { code = "ERR_INTERNAL", message } = error;
      this.#reporter.emit({ type: "storeFailed", code, message });
    });
  }
}

/** The key of a session in the file: JSON, because a database's text cannot hold every string. */
function keyOf(sessionId) {
  if (typeof sessionId !== "string")
    throw new TypeError(`sessionId must be a string, not ${typeof sessionId}`);
  return JSON.stringify(sessionId);
}

module.exports = { ContextManager };
