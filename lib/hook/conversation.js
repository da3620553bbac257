// One conversation as a hook knows it: the list of its last call, and the native side of it. A call finds what changed since,
// has that read, and asks for a plan; one call at a time.
"use strict";

const { Plan } = require("./plan.js");
const { Batch } = require("./snapshot.js");
const { isCopy, isStale, valuesOf } = require("./values.js");

/** Most that crosses to a worker in one go: about a millisecond on the main thread. Code units, messages. */
const BATCH_UNITS = 256 * 1024;
const BATCH_MESSAGES = 512;

/**
 * Messages looked at for changes in place at every call: the newest, what is edited, and of the others so many in turn. Their
 * values lie all over memory, so looking at a long conversation would hold the main thread for longer than all else together.
 */
const WATCHED_NEWEST = 256;
const WATCHED_OLDER = 64;
/** Messages among which the newest of the last call is looked for: more than one call adds. */
const NEW_MESSAGES = 64;

/**
 * The last shared part that was found: looking for the conversation that a list goes on in tells what is new in it, too. One for
 * all, and forgotten when it was used, for it holds messages.
 */
let found;

class Conversation {
  #native;
  /** The host's way of reading messages: `{ marker, protects }`. */
  #reader;
  /** The list of the last call, and the values that each message of it was read from. */
  #list = [];
  #values = [];
  /** The edited messages by position, and the last answer: its plan and the edited list. */
  #made = [];
  #last;
  /** The terms that the native side was told last. */
  #terms;
  #isTold = false;
  #watchFrom = 0;
  #queue = Promise.resolve();

  /** `native` is a Conversation of the addon, `encoding` that it counts by, `language` that of its markers. */
  constructor(native, reader, { encoding, language }) {
    this.#native = native;
    this.#reader = reader;
    this.encoding = encoding;
    this.language = language;
    /** The list that calls under way bring it to. */
    this.target = this.#list;
    /** True if the host hands in copies: then messages are compared by what they hold. */
    this.isCloned = false;
    /** True if a model has ever answered in it: then its encoding stays. */
    this.isAnswered = false;
  }

  /** Another one that goes on from here, in which a model has answered or not. */
  fork(isAnswered) {
    const fork = new Conversation(this.#native.fork(), this.#reader, this);
    fork.#list = this.#list;
    fork.#values = this.#values.slice();
    fork.#made = this.#made.slice();
    fork.#isTold = this.#isTold;
    fork.#terms = this.#terms;
    fork.target = fork.#list;
    fork.isCloned = this.isCloned;
    fork.isAnswered = isAnswered;
    return fork;
  }

  /** Runs `work` when every call before it is over. */
  turn(work) {
    const run = this.#queue.then(work);
    const settle = () => {};
    this.#queue = run.then(settle, settle);
    return run;
  }

  /** True if one of its messages is `message`, or holds the same. */
  isSame(known, message) {
    return known === message || (this.isCloned && isCopy(known, message));
  }

  /**
   * The plan for `list` under these terms, and whether it is a new one; undefined if `call` was cancelled. Both sides have
   * taken the list in then. Rejects where it cannot be read or planned. A plan that is not applied needs no texts twice.
   */
  async plan(list, terms, call, needsNoTexts = false) {
    const change = this.#changeTo(list);
    const last = this.#last;
    // The same messages in another array: the next call is compared with that one already.
    if (change === undefined && !this.isCloned) this.#list = list;
    if (change === undefined && last !== undefined && isEqual(terms, this.#terms)) {
      return { plan: last.plan, isNew: false };
    }
    if (!(await this.#takeIn(list, change, terms, call))) return undefined;
    const isTold = needsNoTexts || this.#isTold;
    this.#isTold = false;
    this.#last = undefined;
    const plan = new Plan(await call.away(this.#native.plan(isTold, call.flag)));
    this.#last = { plan, edited: undefined };
    return { plan, isNew: true };
  }

  /** The edited list; `list` itself where nothing is edited. `writer` is how the hook writes markers. */
  apply(list, plan, writer) {
    const last = this.#last;
    if (last.edited === undefined || this.isCloned) {
      const isAsRead = (i) => this.#values[i] !== undefined && !this.#isChanged(i);
      const edited = plan.apply(list, this.#made, { ...writer, language: this.language }, isAsRead);
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

  /** The text that the last plan put into the message at `index`. */
  textAt(index) {
    return this.#made[index]?.text;
  }

  /**
   * The splice that makes `list` of that of the last call: `removed` messages from `at` on gave way to `inserted` ones, and `added` came
   * behind all. Undefined where it does not.
   */
  #changeTo(list) {
    const old = this.#list;
    const shared = this.sharedWith(list, old);
    found = undefined;
    const { from, to } = this.#changedInPlace(shared);
    const at = Math.min(shared, from);
    if (shared === old.length) {
      const changed = Math.max(0, to - at);
      if (changed === 0 && list.length === shared) return undefined;
      return { at, removed: changed, inserted: changed, added: list.length - shared };
    }
    const { kept, end } = this.#keptIn(list, shared);
    const removed = old.length - kept - at;
    const inserted = kept > 0 ? end - kept - at : Math.min(removed, list.length - at);
    return { at, removed, inserted, added: kept > 0 ? list.length - end : list.length - at - inserted };
  }

  /** The number of messages that `list` opens with as `old` does, the list that calls under way bring it to. */
  sharedWith(list, old = this.target) {
    if (found?.list === list && found.old === old && found.isCloned === this.isCloned) return found.shared;
    const end = Math.min(list.length, old.length);
    let shared = 0;
    // `===` would look into each message, which lie all over memory.
    while (shared < end && Object.is(list[shared], old[shared])) shared += 1;
    if (this.isCloned) while (shared < end && this.isSame(old[shared], list[shared])) shared += 1;
    found = { list, old, isCloned: this.isCloned, shared };
    return shared;
  }

  /** True if the host changed the message at `index` in place since it was read. */
  #isChanged(index) {
    const values = this.#values[index];
    return values !== undefined && isStale(values, this.#list[index]);
  }

  /** The number of its newest messages that stand in `list` behind the first `shared`, and where the last of them ends. */
  #keptIn(list, shared) {
    const old = this.#list;
    const first = Math.max(shared, list.length - NEW_MESSAGES);
    for (let newest = list.length - 1; newest >= first; newest -= 1) {
      if (!this.isSame(old.at(-1), list[newest])) continue;
      let kept = 0;
      const isKept = (from, to) => this.isSame(old[from], list[to]) && !this.#isChanged(from);
      const most = Math.min(old.length, newest + 1) - shared;
      while (kept < most && isKept(old.length - 1 - kept, newest - kept)) kept += 1;
      return { kept, end: newest + 1 };
    }
    return { kept: 0, end: list.length };
  }

  /** The range of those among the first `shared` messages that were changed in place, as far as they are looked at now. */
  #changedInPlace(shared) {
    const changed = { from: shared, to: 0 };
    const newest = Math.max(0, shared - WATCHED_NEWEST);
    const older = this.#watchFrom < newest ? this.#watchFrom : 0;
    this.#watchFrom = Math.min(newest, older + WATCHED_OLDER);
    const look = (from, to) => {
      for (let i = from; i < to; i += 1) {
        if (this.#isChanged(i)) {
          changed.from = Math.min(changed.from, i);
          changed.to = Math.max(changed.to, i + 1);
        }
      }
    };
    look(older, this.#watchFrom);
    look(newest, shared);
    for (const index of this.#last?.plan.edited ?? []) if (index < newest) look(index, index + 1);
    return changed;
  }

  /**
   * Makes `list` and `terms` those of both sides; false if the call was cancelled first. What fails from there on leaves the two
   * sides apart.
   */
  async #takeIn(list, change, terms, call) {
    if (change !== undefined) await this.#splice(list, change, call);
    if (call.isCancelled) return false;
    if (this.#terms === undefined || !isEqual(terms, this.#terms)) this.#native.setTerms(terms);
    this.#terms = terms;
    return true;
  }

  async #splice(list, change, call) {
    const { at, removed, inserted, added } = change;
    const fresh = list.slice(at, at + inserted).concat(list.slice(list.length - added));
    const { values, batch } = await this.#read(fresh, call);
    if (call.isCancelled) return;
    this.#native.splice(change, batch.numbers, batch.strings);
    this.#last = undefined;
    if (removed + inserted > 0) {
      this.#values = spliced(this.#values, change, values);
      this.#made.length = Math.min(this.#made.length, at);
    } else {
      for (const of of values) this.#values.push(of);
    }
    // Of a host's copies those are held that were read.
    this.#list = this.isCloned ? spliced(this.#list, change, fresh) : list;
    this.target = list;
  }

  /**
   * The values of new messages, and the last batch of them, which is read when it is planned. Many are read ahead, on a worker;
   * not to the end if the call was cancelled.
   */
  async #read(fresh, call) {
    const values = [];
    let batch = new Batch();
    const underWay = [];
    try {
      for (const [i, message] of fresh.entries()) {
        if (batch.length === BATCH_MESSAGES || batch.units >= BATCH_UNITS) {
          const reading = this.#native.readAhead(i - batch.length, batch.numbers, batch.strings, call.flag);
          reading.catch(() => {});
          underWay.push(reading);
          // One batch crosses while a worker reads the one before.
          if (underWay.length > 1) await call.away(underWay.shift());
          if (call.isCancelled) break;
          batch = new Batch();
        }
        values.push(this.#describe(message, batch));
      }
      await call.away(Promise.all(underWay));
    } finally {
      // Until it is over a worker may write what the next call reads.
      await Promise.allSettled(underWay);
    }
    return { values, batch };
  }

  /** Appends a message to a batch; the values it was read from. What is no object says nothing. */
  #describe(message, batch) {
    const { marker, protects, refuse } = this.#reader;
    if (typeof message !== "object" || message === null) {
      batch.add({});
      return undefined;
    }
    refuse?.(message);
    const values = valuesOf(message);
    batch.add(message, marker, protects);
    return values;
  }
}

function spliced(list, { at, removed, inserted }, fresh) {
  const [before, after] = [list.slice(0, at), list.slice(at + removed)];
  return before.concat(fresh.slice(0, inserted), after, fresh.slice(inserted));
}

/** Of times the newest tells: they are added to. */
function isEqual(some, other) {
  const told = (value) => (Array.isArray(value) ? value.at(-1) : value);
  for (const name in some) if (told(some[name]) !== told(other[name])) return false;
  return true;
}

module.exports = { Conversation };
