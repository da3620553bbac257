// One session: its messages in order, what it is about, and what is left of the messages it let go. Knows how it is
// written down; does not decide when it is compressed.
"use strict";

const { countTokens } = require("../count.js");
const { SUMMARY_LABEL, readCall } = require("./conversation.js");
const { openCallStart, tailStart } = require("./rounds.js");

let entriesMade = 0;

/** A message in a session, with its id in the file once it has one. */
class Entry {
  id = undefined;
  /** Grows from one to the next, over all sessions. */
  order = ++entriesMade;
  #tokens;

  constructor(message, isSummary = false) {
    this.message = message;
    this.isSummary = isSummary;
  }

  get tokens() {
    this.#tokens ??= countTokens(countable(this.message));
    return this.#tokens;
  }
}

class Session {
  entries = [];
  /** The messages of the entries, ready to be handed out. */
  #messages = [];
  compressions = 0;
  tokensSaved = 0;
  /** Digest of the messages let go, as the native side writes it. */
  digest = "";
  /** The compression under way. */
  compressing = undefined;
  /** Writes that are not on disk yet. */
  pending = 0;
  /** Generation of the file this was read from. */
  generation = 0;

  constructor(id) {
    this.id = id;
    const now = new Date().toISOString();
    this.metadata = { createdAt: now, updatedAt: now };
  }

  get messages() {
    return this.#messages.slice();
  }

  get hasSystem() {
    return this.entries.some(({ message }) => message.role === "system");
  }

  add(entry) {
    this.entries.push(entry);
    this.#messages.push(entry.message);
    this.metadata.updatedAt = entry.message.timestamp;
  }

  remove(entry) {
    this.#setEntries(this.entries.filter((other) => other !== entry));
  }

  /** What a compression would let go: not the system messages, the newest `keep`, nor calls without their results. */
  middle(keep) {
    const others = this.entries.filter(({ message }) => message.role !== "system");
    const messages = others.map(({ message }) => message);
    return others.slice(0, Math.min(tailStart(messages, keep), openCallStart(messages)));
  }

  /** The session with `summary` where the last of `middle` was. */
  replace(middle, summary) {
    const gone = new Set(middle);
    const last = middle.at(-1);
    const entries = this.entries.flatMap((entry) => {
      if (entry === last) return [summary];
      return gone.has(entry) ? [] : [entry];
    });
    this.#setEntries(entries);
  }

  #setEntries(entries) {
    this.entries = entries;
    this.#messages = entries.map(({ message }) => message);
  }

  context() {
    return { sessionId: this.id, messages: this.messages, metadata: { ...this.metadata } };
  }

  /** Everything but the messages, to be stored. */
  state(changes = {}) {
    const { metadata, compressions, tokensSaved, digest } = { ...this, ...changes };
    return JSON.stringify({ metadata, compressions, tokensSaved, digest });
  }

  /** The session as it was stored. */
  static restore(id, { state, ids, bodies }) {
    const session = new Session(id);
    const { metadata, compressions, tokensSaved, digest } = JSON.parse(state);
    const entries = bodies.map((body, index) => {
      const { message, isSummary } = JSON.parse(body);
      return Object.assign(new Entry(Object.freeze(message), isSummary), { id: ids[index] });
    });
    session.#setEntries(entries);
    const newest = session.entries.at(-1)?.message.timestamp;
    Object.assign(session.metadata, metadata, newest !== undefined && { updatedAt: newest });
    session.compressions = compressions ?? 0;
    session.tokensSaved = tokensSaved ?? 0;
    session.digest = digest ?? "";
    return session;
  }
}

/** An entry as it is stored. JSON says lone surrogates and NULs too, which a database's text cannot. */
function bodyOf({ message, isSummary }) {
  return JSON.stringify({ message, isSummary });
}

/** A message as the counting knows it. */
function countable({ role, content, toolCalls = [] }) {
  const calls = toolCalls.map(readCall).map(({ id, name, arguments: text }) => ({
    type: "toolCall",
    id,
    name,
    arguments: text,
  }));
  return {
    role: role === "tool" ? "toolResult" : role,
    content: [{ type: "text", text: content }, ...calls],
  };
}

function summaryEntry(text) {
  const message = {
    role: "assistant",
    content: `${SUMMARY_LABEL} ${text}`,
    timestamp: new Date().toISOString(),
  };
  return new Entry(Object.freeze(message), true);
}

module.exports = { Entry, Session, bodyOf, countable, summaryEntry };
