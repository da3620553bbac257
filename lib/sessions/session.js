// One session as it is known here: its messages as they were loaded, with what was done to it since. What is on its way
// to the store shows at once; what the store answers tells whether somebody else has changed the session meanwhile.
"use strict";

const { countTokens, countTokensAsync } = require("../tools/count.js");
const { frozen, readCall } = require("./conversation.js");

/** UTF-16 units counted before the event loop gets its turn, about a ms; and what a message costs beside its text. */
const TURN_UNITS = 16 * 1024;
const UNITS_BESIDE = 256;
/** Units of a message that is counted on a worker. */
const LONG_UNITS = 16 * 1024;

const counted = new WeakMap();

class Session {
  /** The session as the store has it; undefined where there is none. */
  stamp = undefined;
  isLoaded = false;
  /** True if the store has something else than this. */
  isStale = false;
  exists = false;
  prompt = undefined;
  /** `{ message, isSummary }`, in order. */
  rows = [];
  fields = {};
  digest = "";
  compressions = 0;
  tokensSaved = 0;
  /** The compression under way. */
  compressing = undefined;
  /** Changes on their way to the store, oldest first: what each does here. */
  inFlight = [];
  /** Number of its clears that are on their way to the store. */
  clears = 0;
  #loadedIds = undefined;
  #createdAt = Date.now();
  #updatedAt = this.#createdAt;
  /** Version of the newest change that was acknowledged, and how often the session was cleared. */
  #newest = { session: 0, version: 0, clears: 0 };

  constructor(id, key) {
    this.id = id;
    this.key = key;
  }

  /** All messages, the prompt first. They are frozen. */
  get messages() {
    const messages = this.rows.map(({ message }) => message);
    return this.prompt === undefined ? messages : [this.prompt, ...messages];
  }

  get count() {
    return this.rows.length + (this.prompt === undefined ? 0 : 1);
  }

  /** Tokens of all messages; counting many lets others have their turn. */
  async tokens() {
    let tokens = 0;
    let units = 0;
    for (const message of this.messages) {
      if (!counted.has(message)) units += message.content.length + UNITS_BESIDE;
      tokens += message.content.length > LONG_UNITS ? await longTokensOf(message) : tokensOf(message);
      if (units > TURN_UNITS) {
        units = 0;
        await new Promise(setImmediate);
      }
    }
    return tokens;
  }

  get hasSystem() {
    return this.prompt !== undefined || this.rows.some(({ message }) => message.role === "system");
  }

  get context() {
    const { fields, stamp } = this;
    const updatedAt = Math.max(this.#updatedAt, stamp?.updatedAt ?? 0);
    const metadata = metadataOf({ fields, createdAt: stamp?.createdAt ?? this.#createdAt, updatedAt });
    return { sessionId: this.id, messages: this.messages, metadata };
  }

  /** Does `effect` here, to be done again should the session be loaded before the store has it. */
  begin(effect) {
    effect(this);
    this.inFlight.push(effect);
  }

  /** The store has done `effect`. */
  acknowledge(effect, { stamp }) {
    this.#settle(effect);
    const before = this.stamp;
    if (stamp === undefined) {
      this.#newest.clears += 1;
      this.stamp = undefined;
      this.isLoaded = true;
      return;
    }
    if (stamp.session > this.#newest.session)
      Object.assign(this.#newest, { session: stamp.session, version: 0 });
    this.#newest.version = Math.max(this.#newest.version, stamp.version);
    const isFirst = stamp.version === 1;
    const isNext = stamp.session === before?.session && stamp.version === before.version + 1;
    const isOld = stamp.session === before?.session && stamp.version <= before.version;
    // The operation made the session: what is known of it here is all there is.
    if (isFirst && before === undefined) this.isLoaded = true;
    else if (!isNext && !isOld) this.isStale = true;
    if (!isOld) this.stamp = stamp;
  }

  /** The store has refused `effect`. */
  fail(effect, undo) {
    this.#settle(effect);
    if (undo === undefined) this.isStale = true;
    else undo(this);
  }

  #settle(effect) {
    const at = this.inFlight.indexOf(effect);
    if (at >= 0) this.inFlight.splice(at, 1);
  }

  /** A mark that `load` compares: what was acknowledged since must be in what was loaded. */
  mark() {
    return this.#newest.clears;
  }

  /** Takes what the store has; false if that is older than what it has acknowledged. */
  load(stored, mark) {
    const { session, version, clears } = this.#newest;
    if (mark !== clears) return false;
    if (stored !== undefined && stored.stamp.session === session && stored.stamp.version < version)
      return false;
    this.reset();
    if (stored !== undefined) this.#take(stored);
    this.stamp = stored?.stamp;
    this.isLoaded = true;
    this.isStale = false;
    // The store may have done what it has not acknowledged yet.
    this.#loadedIds = new Set(this.rows.map(({ message }) => message.id));
    for (const effect of this.inFlight) effect(this);
    this.#loadedIds = undefined;
    return true;
  }

  #take({ prompt, messages, fields, digest, compressions, tokensSaved }) {
    this.exists = true;
    this.prompt = prompt === undefined ? undefined : frozen(JSON.parse(prompt));
    this.rows = messages.map(({ body, isSummary }) => ({ message: frozen(JSON.parse(body)), isSummary }));
    Object.assign(this, { fields, digest, compressions, tokensSaved });
  }

  /** Nothing: what a session is that was cleared. */
  reset() {
    const counts = { compressions: 0, tokensSaved: 0 };
    Object.assign(this, { exists: false, prompt: undefined, rows: [], fields: {}, digest: "", ...counts });
  }

  /** `isNew`: no other message has its id. */
  add(message, isNew) {
    this.#touch();
    const isKnown =
      this.#loadedIds?.has(message.id) ?? (!isNew && this.rows.some((row) => row.message.id === message.id));
    if (!isKnown) this.rows.push({ message, isSummary: false });
  }

  remove(ids) {
    const gone = new Set(ids);
    this.rows = this.rows.filter(({ message }) => !gone.has(message.id));
  }

  set(fields, prompt) {
    this.#touch();
    if (prompt !== undefined) this.prompt = prompt;
    for (const [name, value] of Object.entries(fields)) {
      if (value === null) delete this.fields[name];
      else this.fields[name] = value;
    }
  }

  /** The summary where the last of the messages it replaces was. */
  compress(ids, summary, { digest, tokensSaved }) {
    const gone = new Set(ids);
    const last = this.rows.findLastIndex(({ message }) => gone.has(message.id));
    this.rows = this.rows.flatMap((row, index) => {
      if (index === last) return [{ message: summary, isSummary: true }];
      return gone.has(row.message.id) ? [] : [row];
    });
    this.digest = digest;
    this.compressions += 1;
    this.tokensSaved += tokensSaved;
  }

  #touch() {
    this.exists = true;
    this.#updatedAt = Date.now();
  }
}

/** A session's metadata as a host sees it. */
function metadataOf({ fields, createdAt, updatedAt }) {
  const metadata = {};
  for (const [name, text] of Object.entries(fields)) metadata[name] = JSON.parse(text);
  for (const [name, ms] of Object.entries({ createdAt, updatedAt }))
    metadata[name] = new Date(ms).toISOString();
  return metadata;
}

/** Tokens of a message, counted once. */
function tokensOf(message) {
  let tokens = counted.get(message);
  if (tokens === undefined) {
    tokens = countTokens(countable(message));
    counted.set(message, tokens);
  }
  return tokens;
}

/** The same on a worker. */
async function longTokensOf(message) {
  if (!counted.has(message)) counted.set(message, await countTokensAsync(countable(message)));
  return counted.get(message);
}

/** A message as the counting knows it. */
function countable({ role, content, blocks, toolCalls = [] }) {
  const calls = toolCalls.map(readCall).map(({ id, name, arguments: text }) => ({
    type: "toolCall",
    id,
    name,
    arguments: text,
  }));
  const said = blocks ?? [{ type: "text", text: content }];
  return { role: role === "tool" ? "toolResult" : role, content: [...said, ...calls] };
}

module.exports = { Session, metadataOf };
