// One session as the store has acknowledged it: its messages as they were loaded, with what was changed here since. What the
// store answers to a change tells whether somebody else has changed the session meanwhile.
"use strict";

const { countTokensAsync } = require("../tools/count.js");
const { frozen, readCall } = require("./conversation.js");

/** Tokens of the messages that were counted. */
const counted = new WeakMap();

class Session {
  /** The store's name for the state that is known here; undefined where there is no session. */
  stamp = undefined;
  /** False as long as nothing is known, or the store has something newer. */
  isCurrent = false;
  /** Grows with each answer to a change: what was asked for before may be older than that. */
  answers = 0;
  /** Changes on their way to the store, and a promise that resolves when there are none. */
  underWay = 0;
  settled = Promise.resolve();
  /** The compression under way. */
  compressing = undefined;

  constructor(id, key) {
    this.id = id;
    this.key = key;
    this.reset();
    this.isCurrent = false;
  }

  get exists() {
    return this.stamp !== undefined;
  }

  /** All messages, the prompt first. They are frozen. */
  get messages() {
    const messages = this.rows.map(({ message }) => message);
    return this.prompt === undefined ? messages : [this.prompt, ...messages];
  }

  get count() {
    return this.rows.length + (this.prompt === undefined ? 0 : 1);
  }

  /** Tokens of all messages, each counted once, on a worker. */
  async tokens() {
    let tokens = 0;
    for (const message of this.messages) {
      if (!counted.has(message)) counted.set(message, await countTokensAsync(countable(message)));
      tokens += counted.get(message);
    }
    return tokens;
  }

  get hasSystem() {
    return this.prompt !== undefined || this.rows.some(({ message }) => message.role === "system");
  }

  get context() {
    const metadata = metadataOf({ fields: this.fields, ...this.stamp });
    return { sessionId: this.id, messages: this.messages, metadata };
  }

  /** Waits for a change that the store was asked for. A message that it `appended` is known here then; all else is loaded. */
  async change(asked, appended) {
    this.underWay += 1;
    const acknowledged = this.#acknowledge(asked, appended);
    const done = () => {
      this.underWay -= 1;
    };
    this.settled = acknowledged.then(done, done);
    return acknowledged;
  }

  async #acknowledge(asked, appended) {
    try {
      const outcome = await asked;
      this.#take(outcome.stamp, appended);
      return outcome;
    } catch (error) {
      // Some stores cannot say whether a change was made that failed.
      this.isCurrent = false;
      throw error;
    }
  }

  #take(stamp, appended) {
    this.answers += 1;
    const { session, version } = this.stamp ?? { session: stamp?.session, version: 0 };
    if (stamp === undefined) {
      this.reset();
    } else if (appended !== undefined && stamp.session === session && stamp.version === version + 1) {
      // The message that made a session is all there is to know of it.
      this.isCurrent ||= version === 0;
      this.stamp = stamp;
      this.#add(appended);
    } else if (stamp.session !== session || stamp.version > version) {
      this.isCurrent = false;
    }
  }

  #add({ message, isNew }) {
    const isKnown = !isNew && this.rows.some((row) => row.message.id === message.id);
    if (!isKnown) this.rows.push({ message, isSummary: false });
  }

  /** Takes what the store has. */
  load(stored) {
    this.reset();
    if (stored === undefined) return;
    const { stamp, prompt, messages, fields, digest, compressions, tokensSaved } = stored;
    Object.assign(this, { stamp, fields, digest, compressions, tokensSaved });
    this.prompt = prompt === undefined ? undefined : frozen(JSON.parse(prompt));
    this.rows = messages.map(({ body, isSummary }) => ({ message: frozen(JSON.parse(body)), isSummary }));
  }

  /** There is no such session, as far as is known here. */
  reset() {
    const nothing = { prompt: undefined, rows: [], fields: {}, digest: "", compressions: 0, tokensSaved: 0 };
    Object.assign(this, { stamp: undefined, isCurrent: true, ...nothing });
  }
}

/** A session's metadata as a host sees it. */
function metadataOf({ fields, createdAt = Date.now(), updatedAt = createdAt }) {
  const metadata = {};
  for (const [name, text] of Object.entries(fields)) metadata[name] = JSON.parse(text);
  for (const [name, ms] of Object.entries({ createdAt, updatedAt }))
    metadata[name] = new Date(ms).toISOString();
  return metadata;
}

/** A message as the counting knows it. */
function countable({ role, content, blocks, toolCalls = [] }) {
  const calls = toolCalls.map((call) => ({ type: "toolCall", ...readCall(call) }));
  const said = blocks ?? [{ type: "text", text: content }];
  return { role: role === "tool" ? "toolResult" : role, content: [...said, ...calls] };
}

module.exports = { Session, metadataOf };
