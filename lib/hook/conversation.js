// One conversation as a hook knows it: the list of its last call, and its native side. A call finds the changes since, has
// them read, and asks for a plan; one call at a time.
"use strict";

const { refuseForeign } = require("./foreign.js");
const { applied, readPlan } = require("./plan.js");
const { Batch } = require("./snapshot.js");
const { isStale, positionsIn, sharedBeginning, valuesOf } = require("./values.js");

/** Largest batch for a worker, in UTF-16 code units and in messages. It holds the main thread for about a millisecond. */
const BATCH_UNITS = 256 * 1024;
const BATCH_MESSAGES = 512;

/**
 * Messages looked at for changes in place at every call: the newest, what is edited, and of the others so many in turn. Their
 * values lie all over memory, so looking at a long conversation would hold the main thread for longer than all else together.
 */
const WATCHED_NEWEST = 256;
const WATCHED_OLDER = 64;

class Conversation {
  #native;
  /** The host's functions: `{ marker, markerLine, protects }`. */
  #host;
  /** The messages of the last call as they were first read, and the values that each was read from. A later equal copy replaces none. */
  #list = [];
  #values = [];
  /** The last plan that was applied, with its terms as long as it holds for the list. */
  #last = { plan: { edits: [] } };
  #watchFrom = 0;
  #queue = Promise.resolve();
  /** The list of the newest call under way. */
  #ahead;

  /** `native` is a Conversation of the addon, `encoding` that it counts by, `language` that of its markers. */
  constructor(native, host, { encoding, language }) {
    this.#native = native;
    this.#host = host;
    this.encoding = encoding;
    this.language = language;
    /** Times in a row that its beginning was cut. */
    this.cuts = 0;
    /** `{ bill, open }`: what its calls cost, and the last one while it is not answered. */
    this.billed = {};
  }

  /** Another one that goes on from here. The edits are shared: what either makes of a message serves both. */
  fork() {
    const fork = new Conversation(this.#native.fork(), this.#host, this);
    fork.#list = this.#list.slice();
    fork.#values = this.#values.slice();
    fork.#last = { plan: this.#last.plan };
    return fork;
  }

  /** Frees the memory of one that is given up, when its calls are over. */
  free() {
    return this.turn(() => this.#native.free());
  }

  /** The list of the newest call under way, else of the last call. */
  get target() {
    return this.#ahead ?? this.#list;
  }

  /** Runs `work` when every call before it is over; `list` is that of this call. */
  turn(work, list) {
    this.#ahead = list ?? this.#ahead;
    const run = this.#queue.then(work);
    const settle = () => {
      if (this.#ahead === list) this.#ahead = undefined;
    };
    this.#queue = run.then(settle, settle);
    return run;
  }

  /**
   * The request that `list` makes under these terms, `{ plan, edited }`. Rejects where the list cannot be read or planned, and
   * with `ERR_CANCELLED` if `call` was cancelled: then it counts as never sent. `shared` is what it shares with a known one.
   */
  async request(list, terms, call, shared) {
    const change = this.#changeTo(list, shared);
    const isSame = change.isNone && this.#last.terms === terms;
    if (isSame) call.decide();
    const plan = isSame
      ? { ...this.#last.plan, firstChanged: undefined, learnedWindow: undefined }
      : await this.#planned(change, list, terms, call);
    this.#last = { plan, terms };
    const isAsRead = (i) => this.#values[i] !== undefined && !this.#isChanged(i);
    return applied(list, plan, { own: this.#host.marker, language: this.language }, isAsRead);
  }

  async #planned(change, list, terms, call) {
    const fresh = list.slice(change.kept).filter((_, i) => change.positions[i] < 0);
    const { values, batch } = await this.#read(fresh, call);
    const { kept, positions } = change;
    const answer = await call.away(() => this.#native.plan(kept, positions, batch, terms));
    renew(this.#list, change, fresh);
    renew(this.#values, change, values);
    if (call.isCancelled) {
      this.#native.withdraw();
      this.#last = { plan: this.#last.plan };
    }
    call.decide();
    return readPlan(answer, this.#last.plan.edits);
  }

  /** The messages of the last call; of a host's copies those that were read. */
  get known() {
    return this.#list;
  }

  /** Tokens of each of them. */
  tokens() {
    return this.#native.tokens();
  }

  /** `{ forms, kept }` of the last plan: the form of the call that each result answers, and the results that stay whole. */
  explanation() {
    return JSON.parse(this.#native.explanation());
  }

  /** How `list` differs from the last one: `kept` messages stay, the others stood at `positions`, new ones at -1. */
  #changeTo(list, shared) {
    const old = this.#list;
    const same = shared?.target === old ? shared : sharedBeginning(old, list);
    const changed = this.#changedInPlace();
    const known = changed.length === 0 ? old : old.map((of, i) => (changed.includes(i) ? undefined : of));
    const kept = Math.min(same.kept, ...changed);
    const isNone = kept === list.length && kept === old.length;
    return { kept, positions: positionsIn(known, list, kept), isNone };
  }

  /** True if the host changed the message at `index` in place since it was read. */
  #isChanged(index) {
    const values = this.#values[index];
    return values !== undefined && isStale(values, this.#list[index]);
  }

  /** The messages that were changed in place, as far as they are looked at now. */
  #changedInPlace() {
    const { length } = this.#list;
    const newest = Math.max(0, length - WATCHED_NEWEST);
    const older = this.#watchFrom < newest ? this.#watchFrom : 0;
    this.#watchFrom = Math.min(newest, older + WATCHED_OLDER);
    const changed = [];
    const look = (index) => {
      if (this.#isChanged(index)) changed.push(index);
    };
    for (let index = older; index < this.#watchFrom; index += 1) look(index);
    for (const { copy, index } of this.#last.plan.edits)
      if (copy !== undefined && index < newest) look(index);
    for (let index = newest; index < length; index += 1) look(index);
    return changed;
  }

  /**
   * The values of new messages, and the last batch of them, which is read when it is planned. Many are read ahead, on a worker.
   */
  async #read(fresh, call) {
    const values = [];
    let batch = new Batch();
    for (const [i, message] of fresh.entries()) {
      if (batch.length === BATCH_MESSAGES || batch.units >= BATCH_UNITS) {
        await call.away(() => this.#native.readAhead(i - batch.length, batch));
        batch = new Batch();
      }
      values.push(this.#describe(message, batch));
    }
    return { values, batch };
  }

  /** Appends a message to a batch; the values it was read from. What is no object says nothing. */
  #describe(message, batch) {
    refuseForeign(message);
    const { markerLine, protects } = this.#host;
    const isObject = typeof message === "object" && message !== null;
    const values = isObject ? valuesOf(message) : undefined;
    batch.add(message ?? {}, markerLine, isObject ? protects : undefined);
    return values;
  }
}

/** Brings a list that goes with the messages to the next ones; `fresh` is of the new ones. */
function renew(known, { kept, positions }, fresh) {
  const newer = fresh.values();
  const rest = Array.from(positions, (place) => (place < 0 ? newer.next().value : known[place]));
  known.length = kept;
  for (const one of rest) known.push(one);
}

module.exports = { Conversation };
