// One conversation as a hook knows it: the list of its last call, and its native side. A call finds the changes since, has
// them read, and asks for a plan; one call at a time.
"use strict";

const { refuseForeign } = require("./foreign.js");
const { Plan } = require("./plan.js");
const { Batch } = require("./snapshot.js");
const { isAnswer, isSameMessage, isStale, positionsIn, sharedBeginning, valuesOf } = require("./values.js");

/** Most that crosses to a worker in one go: about a millisecond on the main thread. Code units, messages. */
const BATCH_UNITS = 256 * 1024;
const BATCH_MESSAGES = 512;

/**
 * Messages looked at for changes in place at every call: the newest, what is edited, and of the others so many in turn. Their
 * values lie all over memory, so looking at a long conversation would hold the main thread for longer than all else together.
 */
const WATCHED_NEWEST = 256;
const WATCHED_OLDER = 64;
/** Newest known messages that a host may have changed or taken away at once. */
const NEWEST = 8;
/** Newest messages of a list among which a known one is looked for: more than one call adds. */
const NEW_MESSAGES = 64;

class Conversation {
  #native;
  /** The host's way of reading messages: `{ marker, protects }`. */
  #reader;
  /** The messages of the last call and the values that each was read from. Of a host's copies those stay that were read. */
  #list = [];
  #values = [];
  /** The edited messages by position. */
  #made = [];
  /** The last plan with its terms and, once it was applied, the edited list. */
  #last;
  #isTold = false;
  #watchFrom = 0;
  #queue = Promise.resolve();
  /** The list of the newest call under way. */
  #ahead;

  /** `native` is a Conversation of the addon, `encoding` that it counts by, `language` that of its markers. */
  constructor(native, reader, { encoding, language }) {
    this.#native = native;
    this.#reader = reader;
    this.encoding = encoding;
    this.language = language;
    /** True if it goes on from another one whose beginning was cut, and was not continued since. */
    this.isCut = false;
  }

  /** Another one that goes on from here. */
  fork(isCut = false) {
    const fork = new Conversation(this.#native.fork(), this.#reader, this);
    fork.#list = this.#list.slice();
    fork.#values = this.#values.slice();
    fork.#made = this.#made.slice();
    fork.#isTold = this.#isTold;
    fork.isCut = isCut;
    return fork;
  }

  /** Frees the memory of one that is given up, when its calls are over. */
  free() {
    return this.turn(() => this.#native.free());
  }

  /** The list that the calls under way bring it to. An aborted call leaves it where it was. */
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
   * The plan for `list` under these terms; undefined if `call` was cancelled, and then nothing of it stays. Rejects where it
   * cannot be read or planned. `shared` is what the list shares with a known one.
   */
  async plan(list, terms, call, shared) {
    const change = this.#changeTo(list, shared);
    const { isCopied } = change;
    const last = this.#last;
    if (change.isNone && last !== undefined && isEqual(terms, last.terms)) {
      if (isCopied || last.isCopied) last.edited = undefined;
      Object.assign(last.plan, { firstChanged: undefined, isNews: undefined });
      Object.assign(last, { isCopied });
      return last.plan;
    }
    const fresh = list.slice(change.kept).filter((_, i) => change.positions[i] < 0);
    const { values, batch } = await this.#read(fresh, call);
    if (call.isCancelled) return undefined;
    const { numbers, strings } = batch;
    const answer = await call.away(
      this.#native.plan(change, numbers, strings, terms, this.#isTold, call.flag),
    );
    renew(this.#list, change, fresh);
    renew(this.#values, change, values);
    this.#made.length = Math.min(this.#made.length, change.kept);
    this.#isTold = false;
    this.#last = undefined;
    if (call.isCancelled) {
      this.#native.withdraw();
      return undefined;
    }
    this.#last = { plan: new Plan(answer), terms, isCopied, edited: undefined };
    return this.#last.plan;
  }

  /** The edited list; `list` itself where nothing is edited. `own` is the host's marker function. */
  apply(list, plan, own) {
    const last = this.#last;
    if (last.edited === undefined) {
      const isAsRead = (i) => this.#values[i] !== undefined && !this.#isChanged(i);
      const edited = plan.apply(list, this.#made, { own, language: this.language }, isAsRead);
      this.#isTold = true;
      last.edited = edited === list ? null : edited;
    }
    // The host may do with its array as it likes.
    return last.edited === null ? list : last.edited.slice();
  }

  /** The messages of the last call; of a host's copies those that were read. */
  get known() {
    return this.#list;
  }

  /** Tokens of each of them. */
  tokens() {
    return this.#native.tokens();
  }

  /** `{ copy, text }` of the message at `index` as the last plan edited it: the copy that was sent, and the text put into it. */
  editAt(index) {
    return this.#made[index];
  }

  /** The number of messages in `list` behind this conversation's newest: the same object, or a copy of an answer. */
  newerIn(list) {
    const recent = list.slice(-NEW_MESSAGES);
    for (const known of this.target.slice(-NEWEST).reverse()) {
      const at = recent.findLastIndex((message) => isSameMessage(known, message));
      if (at >= 0 && (recent[at] === known || isAnswer(known))) return recent.length - 1 - at;
    }
    return undefined;
  }

  /** How `list` differs from the last one: `kept` messages stay, the others stood at `positions`, new ones at -1. */
  #changeTo(list, shared) {
    const old = this.#list;
    const same = shared?.target === old ? shared : sharedBeginning(old, list);
    const changed = this.#changedInPlace();
    const known = changed.length === 0 ? old : old.map((of, i) => (changed.includes(i) ? undefined : of));
    const kept = Math.min(same.kept, ...changed);
    const positions = positionsIn(known, list, kept);
    const isCopy = (place, i) => place >= 0 && !Object.is(old[place], list[kept + i]);
    const isCopied = same.isCopied || positions.some(isCopy);
    return { kept, positions, isNone: kept === list.length && kept === old.length, isCopied };
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
    const edited = this.#last?.plan.edited.filter((index) => index < newest) ?? [];
    const looked = [...range(older, this.#watchFrom), ...edited, ...range(newest, length)];
    return looked.filter((index) => this.#isChanged(index));
  }

  /**
   * The values of new messages, and the last batch of them, which is read when it is planned. Many are read ahead, on a worker;
   * not to the end if the call was cancelled.
   */
  async #read(fresh, call) {
    const values = [];
    let batch = new Batch();
    for (const [i, message] of fresh.entries()) {
      if (batch.length === BATCH_MESSAGES || batch.units >= BATCH_UNITS) {
        const { numbers, strings } = batch;
        await call.away(this.#native.readAhead(i - batch.length, numbers, strings, call.flag));
        if (call.isCancelled) break;
        batch = new Batch();
      }
      values.push(this.#describe(message, batch));
    }
    return { values, batch };
  }

  /** Appends a message to a batch; the values it was read from. What is no object says nothing. */
  #describe(message, batch) {
    if (typeof message !== "object" || message === null) {
      batch.add(message ?? {}, this.#reader.marker);
      return undefined;
    }
    refuseForeign(message);
    const values = valuesOf(message);
    batch.add(message, this.#reader.marker, this.#reader.protects);
    return values;
  }
}

const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

/** Brings a list that goes with the messages to the next ones; `fresh` is of the new ones. */
function renew(known, { kept, positions }, fresh) {
  const newer = fresh.values();
  const rest = Array.from(positions, (place) => (place < 0 ? newer.next().value : known[place]));
  known.length = kept;
  for (const one of rest) known.push(one);
}

/** Lists of times only grow, so comparing the last element is enough. */
function isEqual(some, other) {
  const newest = (value) => (Array.isArray(value) ? value.at(-1) : value);
  for (const name in some) if (newest(some[name]) !== newest(other[name])) return false;
  return true;
}

module.exports = { Conversation };
