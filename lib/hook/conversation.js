// One conversation as a hook knows it: the list of its last call, and the native side of it. A call finds what changed since,
// has that read, and asks for a plan; one call at a time.
"use strict";

const { Plan } = require("./plan.js");
const { Batch } = require("./snapshot.js");
const { NEW_MESSAGES, isSameMessage, isStale, sharedBeginning, valuesOf } = require("./values.js");

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

  /** `native` is a Conversation of the addon, `encoding` that it counts by, `language` that of its markers. */
  constructor(native, reader, { encoding, language }) {
    this.#native = native;
    this.#reader = reader;
    this.encoding = encoding;
    this.language = language;
    /** The list that calls under way bring it to. */
    this.target = this.#list;
  }

  /** Another one that goes on from here. */
  fork() {
    const fork = new Conversation(this.#native.fork(), this.#reader, this);
    fork.#list = this.#list;
    fork.#values = this.#values.slice();
    fork.#made = this.#made.slice();
    fork.#isTold = this.#isTold;
    fork.#terms = this.#terms;
    fork.target = fork.#list;
    return fork;
  }

  /** Runs `work` when every call before it is over. */
  turn(work) {
    const run = this.#queue.then(work);
    const settle = () => {};
    this.#queue = run.then(settle, settle);
    return run;
  }

  /**
   * The plan for `list` under these terms; undefined if `call` was cancelled, and then nothing of it stays. Rejects where it cannot
   * be read or planned. `shared` is what the list shares with `target`. `startsOver` is set if it is another conversation with the
   * same messages: the position of the answer to the last call. A plan that is not applied needs no texts twice.
   */
  async plan(list, terms, call, { shared, startsOver, needsNoTexts = false }) {
    const change = this.#changeTo(list, shared);
    const last = this.#last;
    if (!change.isChanged && last !== undefined && isEqual(terms, this.#terms)) {
      this.#goOn(list, change);
      return last.plan;
    }
    const answer = await this.#bring(list, change, startsOver, call, (splice, batch) => {
      const isTold = needsNoTexts || this.#isTold;
      return this.#native.plan(splice, batch.numbers, batch.strings, terms, isTold, call.flag);
    });
    if (answer === undefined) return undefined;
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

  /** The edited list; `list` itself where nothing is edited. `writer` is how the hook writes markers. */
  apply(list, plan, writer) {
    const last = this.#last;
    if (last.edited === undefined || last.isCopied || this.#isCopied) {
      const isAsRead = (i) => this.#values[i] !== undefined && !this.#isChanged(i);
      const edited = plan.apply(list, this.#made, { ...writer, language: this.language }, isAsRead);
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

  /** The number of its messages, up to the newest ones, that stand in `list` up to `end`. */
  keptIn(list) {
    const { kept, end } = this.#keptIn(list, 0, this.target);
    return { kept, end, isMost: kept > this.target.length / 2 };
  }

  /** Another conversation made the last call, if the message at `answer` came to that. */
  follow(other, answer) {
    this.#native.follow(other.#native, answer);
  }

  /**
   * The splice that makes `list` of that of the last call: `cut` messages went from its end, then `removed` messages from `at` on gave
   * way to `inserted` ones, and `added` came behind all.
   */
  #changeTo(list, known) {
    const old = this.#list;
    const shared = known?.target === old ? known : sharedBeginning(old, list);
    const { from, to } = this.#changedInPlace(shared.at);
    const at = Math.min(shared.at, from);
    let splice = { at, removed: 0, inserted: 0, cut: 0, added: list.length - old.length };
    let { isCopied } = shared;
    if (shared.at < old.length) {
      const { kept, end, cut } = this.#keptIn(list, at, old);
      for (let i = 1; i <= kept; i += 1) isCopied ||= old[old.length - cut - i] !== list[end - i];
      const [removed, inserted] = [old.length - cut - kept - at, end - kept - at];
      splice = { at, removed, inserted, cut, added: list.length - end };
    } else if (to > at) splice = { ...splice, removed: to - at, inserted: to - at };
    const isChanged = splice.removed + splice.inserted + splice.cut + splice.added > 0;
    return { ...splice, isChanged, isCopied };
  }

  /** The number of `old`'s messages from `first` on that stand in `list` side by side up to `end`, where `old` has `cut` more. */
  #keptIn(list, first, old) {
    for (let cut = 0; cut < Math.min(NEWEST, old.length - first); cut += 1) {
      for (let end = list.length; end > Math.max(first, list.length - NEW_MESSAGES); end -= 1) {
        const kept = this.#runBack(old, old.length - cut, list, end, first);
        if (kept > 0) return { kept, end, cut };
      }
    }
    return { kept: 0, end: list.length, cut: 0 };
  }

  /** The number of messages before `oldEnd` of `old` that are those before `end` of `list`, none before `first`. */
  #runBack(old, oldEnd, list, end, first) {
    const most = Math.min(oldEnd, end) - first;
    const isKept = (from, to) =>
      isSameMessage(old[from], list[to]) && !(old === this.#list && this.#isChanged(from));
    let kept = 0;
    while (kept < most && isKept(oldEnd - 1 - kept, end - 1 - kept)) kept += 1;
    return kept;
  }

  /** True if the host changed the message at `index` in place since it was read. */
  #isChanged(index) {
    const values = this.#values[index];
    return values !== undefined && isStale(values, this.#list[index]);
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

  /** Reads what is new in `list`, has the native side take it in by `cross`, and takes it in here once that is done. */
  async #bring(list, change, startsOver, call, cross) {
    const { at, removed, inserted, cut, added } = change;
    const fresh = list.slice(at, at + inserted).concat(list.slice(list.length - added));
    const { values, batch } = await this.#read(fresh, call);
    if (call.isCancelled) return undefined;
    const answer = await call.away(cross({ at, removed, inserted, cut, added, startsOver }, batch));
    if (removed + inserted + cut === 0) for (const of of values) this.#values.push(of);
    else this.#values = spliced(this.#values, change, values);
    this.#made.length = Math.min(this.#made.length, removed + inserted > 0 ? at : this.#list.length - cut);
    this.#goOn(list, change, fresh);
    return answer;
  }

  /** Goes on with `list`; of copies those stay that were read. */
  #goOn(list, change, fresh = []) {
    const known = change.isCopied ? spliced(this.#list, change, fresh) : list;
    if (this.target === this.#list || this.target === list) this.target = known;
    this.#list = known;
    this.#isCopied = change.isCopied;
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
