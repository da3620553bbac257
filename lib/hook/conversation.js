// One conversation of a hook: the list of its last call, and its native side. A call finds the changes since, describes them
// and gets a plan; one call at a time.
"use strict";

const { isObject } = require("../helpers.js");
const { refuseForeign } = require("./foreign.js");
const { applied, readPlan } = require("./plan.js");
const { Batch } = require("./snapshot.js");
const { isStale, positionsIn, sharedBeginning, valuesOf } = require("./values.js");

/** Largest batch for a worker, in UTF-16 code units and in messages. It holds the main thread for about a millisecond. */
const BATCH_UNITS = 256 * 1024;
const BATCH_MESSAGES = 512;

/**
 * Messages checked for changes in place at every call: the newest ones, the edited ones, and this many of the others in
 * turn. Checking all of a long conversation would hold the main thread for longer than the rest of the call.
 */
const WATCHED_NEWEST = 256;
const WATCHED_OLDER = 64;

class Conversation {
  #native;
  /** The host's functions: `{ marker, markerLine, protects }`. */
  #host;
  /** The messages of the last call as first read, and the values compared for each. Equal copies passed later are not stored. */
  #list = [];
  #values = [];
  /** The last applied plan, with its terms while it is valid for the list, and the request made from the host's own objects. */
  #last = { plan: { edits: [] } };
  #watchFrom = 0;
  #queue = Promise.resolve();
  /** The list of the newest pending call. */
  #ahead;

  /** `native` is a Conversation of the addon, which counts by `encoding`. Markers are written in `language`. */
  constructor(native, host, { encoding, language }) {
    this.#native = native;
    this.#host = host;
    this.encoding = encoding;
    this.language = language;
    /** Number of successive calls that cut its beginning. */
    this.cuts = 0;
    /** Its number of calls, their `bill`, the last one until it is answered (`open`), and the account it was forked `from`. */
    this.account = { calls: 0 };
  }

  /** Returns a copy that continues on its own. Both share the edits and their edited copies. */
  fork() {
    const fork = new Conversation(this.#native.fork(), this.#host, this);
    fork.#list = this.#list.slice();
    fork.#values = this.#values.slice();
    fork.#last = { plan: this.#last.plan };
    return fork;
  }

  /** Frees its memory when its calls are over. No call may follow. */
  free() {
    return this.turn(() => this.#native.free());
  }

  /** The list of the newest pending call, else of the last call. */
  get target() {
    return this.#ahead ?? this.#list;
  }

  /** Runs `work` when every earlier call is over; `list` is the list of this call. */
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
   * Makes the request for `list` under these terms, `{ plan, edited }`. Rejects if the list cannot be read or planned, and
   * with `ERR_CANCELLED` if `call` was cancelled: it then counts as never sent. `shared` is the beginning shared with a
   * known list.
   */
  async request(list, terms, call, shared) {
    const change = this.#changeTo(list, shared);
    const isSame = change.isNone && this.#last.terms === terms;
    if (isSame) call.decide();
    const plan = isSame
      ? { ...this.#last.plan, firstChanged: undefined, learnedWindow: undefined }
      : await this.#planned(change, list, terms, call);
    const made = (isSame && change.isOwn && this.#last.made) || this.#made(list, plan);
    this.#last = { plan, terms, made: change.isOwn ? made : undefined };
    return { plan: { ...plan, edits: made.edits }, edited: made.sent?.slice() ?? list };
  }

  #made(list, plan) {
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

  /** The messages of the last call, as first read. */
  get known() {
    return this.#list;
  }

  /** Tokens of each message of the last call. */
  tokens() {
    return this.#native.tokens();
  }

  /** `{ forms, kept }` of the last plan: the form of the call that each result answers, and the results that stay whole. */
  explanation() {
    return JSON.parse(this.#native.explanation());
  }

  /**
   * The change from the last list to `list`: `kept` messages stay, the others were at `positions`, -1 for new ones. `isOwn` is
   * true if none is a copy or has moved.
   */
  #changeTo(list, shared) {
    const old = this.#list;
    const same = shared?.target === old ? shared : sharedBeginning(old, list);
    const changed = this.#changedInPlace();
    const known = changed.length === 0 ? old : old.map((of, i) => (changed.includes(i) ? undefined : of));
    const kept = Math.min(same.kept, ...changed);
    const isNone = kept === list.length && kept === old.length;
    const positions = positionsIn(known, list, kept);
    return { kept, positions, isNone, isOwn: same.isOwn && positions.every((place) => place < 0) };
  }

  /** True if the host changed the message at `index` in place since it was read. */
  #isChanged(index) {
    const values = this.#values[index];
    return values !== undefined && isStale(values, this.#list[index]);
  }

  /** Indices of the checked messages that were changed in place. */
  #changedInPlace() {
    const { length } = this.#list;
    const newest = Math.max(0, length - WATCHED_NEWEST);
    const older = this.#watchFrom < newest ? this.#watchFrom : 0;
    this.#watchFrom = Math.min(newest, older + WATCHED_OLDER);
    const changed = [];
    const check = (index) => {
      if (this.#isChanged(index)) changed.push(index);
    };
    for (let index = older; index < this.#watchFrom; index += 1) check(index);
    for (const { copy, index } of this.#last.plan.edits)
      if (copy !== undefined && index < newest) check(index);
    for (let index = newest; index < length; index += 1) check(index);
    return changed;
  }

  /** Returns the values of new messages, and their last batch, which `plan` reads. A worker reads earlier batches ahead. */
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

  /** Appends a message to a batch. Returns its compared values, or undefined for a non-object. */
  #describe(message, batch) {
    refuseForeign(message);
    const { markerLine, protects } = this.#host;
    const values = isObject(message) ? valuesOf(message) : undefined;
    batch.add(message ?? {}, markerLine, isObject(message) ? protects : undefined);
    return values;
  }
}

/** Updates a list parallel to the messages; `fresh` holds the entries of new ones. */
function renew(known, { kept, positions }, fresh) {
  const newer = fresh.values();
  const rest = Array.from(positions, (place) => (place < 0 ? newer.next().value : known[place]));
  known.length = kept;
  for (const one of rest) known.push(one);
}

module.exports = { Conversation };
