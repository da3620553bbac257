// One conversation as a hook knows it: the list of its last call, and its native side. A call finds the changes since, has
// them read, and asks for a plan; one call at a time.
"use strict";

const { NEW_MESSAGES } = require("./conversations.js");
const { refuseForeign } = require("./foreign.js");
const { Plan } = require("./plan.js");
const { Batch } = require("./snapshot.js");
const { isAnswer, isSameMessage, isStale, sharedBeginning, valuesOf } = require("./values.js");

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

class Conversation {
  #native;
  /** The host's way of reading messages: `{ marker, protects }`. */
  #reader;
  /** The messages of the last call as they were read, and the values that each was read from. */
  #list = [];
  #values = [];
  /** The edited messages by position, and the last answer: its plan and the edited list. */
  #made = [];
  #last;
  /** The terms of the last plan. */
  #terms;
  #isTold = false;
  /** True if the list of the last call holds copies of messages that were read before. */
  #isCopied = false;
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
    fork.#list = this.#list;
    fork.#values = this.#values.slice();
    fork.#made = this.#made.slice();
    fork.#isTold = this.#isTold;
    fork.#terms = this.#terms;
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
    const last = this.#last;
    if (!change.isChanged && last !== undefined && isEqual(terms, this.#terms)) {
      this.#goOn(list, change);
      Object.assign(last.plan, { firstChanged: undefined, isNews: undefined });
      return last.plan;
    }
    const fresh = list
      .slice(change.at, change.at + change.inserted)
      .concat(list.slice(list.length - change.added));
    const { values, batch } = await this.#read(fresh, call);
    if (call.isCancelled) return undefined;
    const { numbers, strings } = batch;
    const answer = await call.away(
      this.#native.plan(change, numbers, strings, terms, this.#isTold, call.flag),
    );
    this.#takeIn(change, values);
    this.#goOn(list, change, fresh);
    this.#terms = terms;
    this.#isTold = false;
    this.#last = undefined;
    if (call.isCancelled) {
      this.#native.withdraw();
      return undefined;
    }
    const plan = new Plan(answer);
    this.#last = { plan, edited: undefined };
    return plan;
  }

  /** The edited list; `list` itself where nothing is edited. `own` is the host's marker function. */
  apply(list, plan, own) {
    const last = this.#last;
    if (last.edited === undefined || last.isCopied || this.#isCopied) {
      const isAsRead = (i) => this.#values[i] !== undefined && !this.#isChanged(i);
      const edited = plan.apply(list, this.#made, { own, language: this.language }, isAsRead);
      this.#isTold = true;
      last.edited = edited === list ? null : edited;
      last.isCopied = this.#isCopied;
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

  /** The place of its newest messages in `list`: the same objects, or copies with an answer among them. Undefined without any. */
  leftIn(list) {
    const left = keptIn(list, 0, this.target);
    const { kept, end, cut } = left;
    const isOwn = kept > 0 && this.target.at(-1 - cut) === list[end - 1];
    return isOwn || list.slice(end - kept, end).some(isAnswer) ? { ...left, conversation: this } : undefined;
  }

  /**
   * The splice that makes `list` of that of the last call: `cut` messages went from its end, then `removed` messages from `at` on gave
   * way to `inserted` ones, and `added` came behind all. `shared` is what `list` shares with the list of `shared.target`.
   */
  #changeTo(list, shared) {
    const old = this.#list;
    const { own, count, end, knownEnd } = shared?.target === old ? shared : sharedBeginning(old, list);
    let beginning = 0;
    while (beginning < end - count && isSameMessage(old[beginning], list[beginning])) beginning += 1;
    if (beginning === end - count && end === knownEnd) beginning = end;
    const changed = this.#changedInPlace();
    const [at, last] = [Math.min(beginning, ...changed), Math.max(-1, ...changed)];
    let splice = { at, removed: 0, inserted: 0, cut: 0, added: list.length - old.length };
    let isCopied =
      count > own || old.slice(0, Math.min(at, end - count)).some((message, i) => message !== list[i]);
    if (beginning < old.length) {
      const { kept: same, end, cut } = keptIn(list, at, old);
      const kept = Math.max(0, Math.min(same, old.length - cut - 1 - last));
      for (let i = 1; i <= kept; i += 1) isCopied ||= old[old.length - cut - i] !== list[end - i];
      const [removed, inserted] = [old.length - cut - kept - at, end - kept - at];
      splice = { at, removed, inserted, cut, added: list.length - end };
    } else if (last >= at) splice = { ...splice, removed: last + 1 - at, inserted: last + 1 - at };
    const isChanged = splice.removed + splice.inserted + splice.cut + splice.added > 0;
    return { ...splice, isChanged, isCopied };
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

  /** Takes in the values of the new messages of a change. */
  #takeIn(change, values) {
    const { at, removed, inserted, cut } = change;
    // Of a long list that is only added to nothing is copied.
    if (removed + inserted + cut === 0) for (const of of values) this.#values.push(of);
    else this.#values = spliced(this.#values, change, values);
    this.#made.length = Math.min(this.#made.length, removed + inserted > 0 ? at : this.#list.length - cut);
  }

  /** Goes on with `list`; of copies those stay that were read. */
  #goOn(list, change, fresh = []) {
    this.#list = change.isCopied ? spliced(this.#list, change, fresh) : list;
    this.#isCopied = change.isCopied;
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

/** The number of messages of `old` from `first` on that stand in `list` side by side up to `end`, where `old` has `cut` more. */
function keptIn(list, first, old) {
  for (let cut = 0; cut < Math.min(NEWEST, old.length - first); cut += 1) {
    for (let end = list.length; end > Math.max(first, list.length - NEW_MESSAGES); end -= 1) {
      const most = Math.min(old.length - cut, end) - first;
      let kept = 0;
      while (kept < most && isSameMessage(old[old.length - cut - 1 - kept], list[end - 1 - kept])) kept += 1;
      if (kept > 0) return { kept, end, cut };
    }
  }
  return { kept: 0, end: list.length, cut: 0 };
}

const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

/** `list` as a splice leaves it. */
function spliced(list, { at, removed, inserted, cut }, fresh) {
  const [before, behind] = [list.slice(0, at), list.slice(at + removed, list.length - cut)];
  return before.concat(fresh.slice(0, inserted), behind, fresh.slice(inserted));
}

/** Lists of times only grow, so comparing the last element is enough. */
function isEqual(some, other) {
  const newest = (value) => (Array.isArray(value) ? value.at(-1) : value);
  for (const name in some) if (newest(some[name]) !== newest(other[name])) return false;
  return true;
}

module.exports = { Conversation };
