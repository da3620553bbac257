// What a hook remembers of each message object, and of whole conversations from one call to the next. Freed with the
// messages, here and there.
"use strict";

const { Facts, UNREAD } = require("./facts.js");
const { Seen } = require("./seen.js");
const { Batch, markerLine } = require("./snapshot.js");

/** Slot of what is no object (null, a number, a hole): nothing is known of it and nothing is done to it. */
const NOTHING = 0;
const FIRST_SLOT = 1;

/** What is read here and now, on the main thread: well under a millisecond of counting. Code units, messages. */
const INLINE_UNITS = 8 * 1024;
const INLINE_MESSAGES = 64;
/** What crosses to a worker in one go: about a millisecond on the main thread. Code units, messages. */
const BATCH_UNITS = 256 * 1024;
const BATCH_MESSAGES = 512;

/**
 * Messages looked at for changes in place at every call: the newest so many, and as many of the older ones in turn. Their
 * values lie all over memory, so looking at a long conversation would hold the main thread for longer than all else
 * together. What the host changed in one of the newest is noticed at once, in an older one within so many calls as there are
 * times as many messages; what is edited is looked at in any case, right before that.
 */
const WATCHED_MESSAGES = 256;
/** How far back the newest message of the last call is looked for: more than one call adds. */
const NEW_MESSAGES = 64;

/** Room for so many slots: that of the last call as long as it is enough, so that a long conversation is not copied. */
function roomFor(length, slots = new Uint32Array(0)) {
  if (slots.length >= length) return slots;
  const room = new Uint32Array(length + (length >> 2));
  room.set(slots);
  return room;
}

/**
 * All messages one hook has seen and their host still holds. Each has a slot, a number by which the native side knows its
 * facts and a plan names it:
 *
 *   free ──#renew──▶ taken ──#retire──▶ retired ──#release──▶ free
 *
 *   taken    `facts.slot` of one message. While `facts.pending` is set, the native side does not have the facts yet:
 *            other calls wait for that promise. If it fails, `#forget` makes the message look changed.
 *   retired  The message was read again into another slot, or the garbage collector took it. A call that was under way
 *            then may have a plan that names the slot.
 *   free     Every call that began before is over (`leave`), and the native side has let go of the facts.
 *
 * Of a host that clones the slots are the conversation's (`#keepCloned`): they go from each message to its copy, and
 * `#forsake` retires those that have none.
 *
 * `readings` counts the arrows into "taken". As long as it stays the same, every slot means what it meant, and the last
 * plan for the same slots still holds.
 */
class FactStore {
  #engine;
  #marker;
  #protects;
  #known = new WeakMap();
  #seen = new WeakMap();
  /**
   * The conversation of a host that clones, as its last call saw it. Nobody else holds those messages any more, so what is
   * known of them would be freed with them: it is kept here, for one conversation.
   */
  #cloned;
  /** How many such conversations were kept; each is a keeper of its own. */
  #keepers = 0;
  /** The last conversation of which every message was new: if the next such one begins alike and goes on, its host clones. */
  #begun = { timestamp: Number.NaN, length: 0 };
  #free = [];
  #nextSlot = FIRST_SLOT;
  /** Messages read so far. */
  readings = 0;
  /** Those of them that were read before, and times that one was found to be due. */
  #renewals = 0;
  /** Calls under way by number, the oldest first, and how many there were so far. */
  #underWay = new Set();
  #calls = 0;
  /** Slots without a message, in the order they lost it: each free once the calls that began before are over. */
  #retired = [];
  // Holds no more than a slot: what it holds outlives the message by a whole cycle of the garbage collector.
  #registry = new FinalizationRegistry((place) => this.#retire(place.slot));

  /** `marker` and `protects` are the host's functions, checked. */
  constructor(engine, options, marker, protects) {
    this.#engine = engine;
    this.#marker = markerLine(marker, options);
    this.#protects = protects;
    const batch = new Batch();
    batch.add(NOTHING, {});
    this.#read(batch);
  }

  /**
   * Slots and facts of these messages, each read if it is new or was changed. A few new ones are read at once; more are
   * read on a worker, in batches, giving the event loop its turn between them. `call` keeps the time and may be
   * cancelled; then the result is undefined.
   */
  async slotsOf(messages, call) {
    const survey = this.#begin(messages);
    const { slots } = survey;
    while (survey.at < survey.queue.length || survey.next < messages.length) {
      const { fresh, waits, from } = this.#survey(messages, survey);
      if (fresh.length > 0) await this.#readAll(fresh, call);
      if (waits.length > 0) await call.away(Promise.allSettled(waits));
      if (call.isCancelled) return undefined;
      // What another call was reading may have failed or been cancelled there: then it is read here.
      if (waits.length > 0) [survey.at, survey.next] = from;
    }
    return { ...survey, slots: slots.subarray(0, messages.length) };
  }

  /** What is known of `messages` from the last call, and which of them are to be looked at. */
  #begin(messages) {
    const last = this.#takeLastSeen(messages) ?? this.#takeCloned(messages);
    const shared = last?.sharedWith(messages) ?? 0;
    const slots = roomFor(messages.length, last?.slots);
    const facts = last?.facts ?? [];
    facts.length = shared;
    const renewals = this.#renewals;
    const newest = last?.renewals === renewals ? Math.max(0, shared - WATCHED_MESSAGES) : 0;
    const turn = last === undefined || last.watchFrom >= newest ? 0 : last.watchFrom;
    const turnEnd = Math.min(newest, turn + WATCHED_MESSAGES);
    const queue = [];
    const look = (from, to) => {
      for (let i = from; i < to; i += 1) {
        const known = facts[i];
        if (known === undefined) continue;
        if (known.slot !== slots[i] || known.pending !== undefined || known.isStale(messages[i]))
          queue.push(i);
      }
    };
    const survey = {
      slots,
      facts,
      queue,
      at: 0,
      next: shared,
      watchFrom: turnEnd,
      renewals,
      isUnchanged: false,
      known: shared,
    };
    try {
      look(turn, turnEnd);
      look(newest, shared);
    } catch {
      // A getter of the host's threw: reading from the beginning finds out which, and says so.
      return { ...survey, facts: [], queue: [], next: 0, watchFrom: 0, known: 0 };
    }
    const isUnchanged = queue.length === 0 && shared === messages.length && shared === last?.messages.length;
    return { ...survey, isUnchanged };
  }

  /** What the last call saw, if that was of this conversation; from now on it is this call's alone. */
  #takeLastSeen(messages) {
    for (let i = messages.length - 1; i >= 0 && i >= messages.length - NEW_MESSAGES; i -= 1) {
      const seen = this.#seen.get(messages[i]);
      if (seen !== undefined) {
        this.#seen.delete(messages[i]);
        return seen;
      }
    }
    return undefined;
  }

  /**
   * What the last call of a host that clones saw, if `messages` opens with copies of it: from now on it is about those. Not
   * while another call may be about to use it.
   */
  #takeCloned(messages) {
    const cloned = this.#cloned;
    if (cloned === undefined || this.#underWay.size > 1) return undefined;
    try {
      const copied = cloned.copiedIn(messages);
      if (copied === 0) return undefined;
      const facts = cloned.facts.slice(0, copied);
      for (let i = 0; i < copied; i += 1) facts[i].moveTo(messages[i]);
      const seen = new Seen(messages.slice(0, copied), { ...cloned, facts });
      this.#keepCloned(seen);
      return seen;
    } catch {
      // A getter of the host's threw: reading finds out which, and says so.
      return undefined;
    }
  }

  /** Keeps what a call read for the next one. The call is over: from now on `read` may change. */
  keep(messages, read) {
    const newest = messages.at(-1);
    if (typeof newest !== "object" || newest === null) return;
    const seen = new Seen(messages, read);
    this.#seen.set(newest, seen);
    if (this.#isCloned(messages, read)) this.#keepCloned(seen);
  }

  /** Whether the host clones: it goes on with copies of what is kept, or of what it sent before as far as can be told. */
  #isCloned(messages, { facts, known }) {
    if (this.#underWay.size > 0) return false;
    if (known > 0) return facts[0]?.keeper > 0;
    const { timestamp = Number.NaN } = messages[0] ?? {};
    const { length } = messages;
    const goesOn = timestamp === this.#begun.timestamp && length >= this.#begun.length;
    this.#begun = { timestamp, length };
    return goesOn;
  }

  /** The slots are this conversation's from now on, and no longer its messages'. */
  #keepCloned({ messages, facts, ...read }) {
    const last = this.#cloned?.facts ?? [];
    this.#keepers += 1;
    for (const known of facts) {
      if (known === undefined) continue;
      if (known.keeper === 0) this.#registry.unregister(known.place);
      known.keeper = this.#keepers;
    }
    // A list of its own: the call's goes on to change.
    this.#cloned = new Seen(messages, { ...read, facts: facts.slice() });
    for (const known of last) if (known !== undefined && known.keeper !== this.#keepers) this.#forsake(known);
  }

  /** Nobody asks for these facts any more. Should their message come again, it is read again. */
  #forsake(facts) {
    if (facts.keeper === 0) return;
    this.#retire(facts.slot);
    facts.keeper = 0;
    facts.slot = NOTHING;
    facts.role = UNREAD;
  }

  /**
   * Fills in the slots of the changed messages, then of the new ones, until as many are to be read as are read in one
   * go; those are in `fresh`, what another call is reading is in `waits`.
   */
  #survey(messages, survey) {
    const { slots, facts, queue } = survey;
    const from = [survey.at, survey.next];
    const fresh = [];
    const waits = [];
    try {
      while (fresh.length < BATCH_MESSAGES) {
        const isQueued = survey.at < queue.length;
        if (!isQueued && survey.next >= messages.length) break;
        const index = isQueued ? queue[survey.at] : survey.next;
        const message = messages[index];
        const known = this.#known.get(message);
        slots[index] = this.#slotOf(message, known, fresh, waits);
        facts[index] = known ?? this.#known.get(message);
        if (isQueued) survey.at += 1;
        else survey.next += 1;
      }
    } catch (error) {
      this.#forget(fresh);
      throw error;
    }
    return { fresh, waits, from };
  }

  /** The slot of a message that is new, was changed, or is still being read. */
  #slotOf(message, facts, fresh, waits) {
    if (typeof message !== "object" || message === null) return NOTHING;
    if (facts === undefined || facts.isStale(message)) {
      const renewed = this.#renew(facts, message);
      fresh.push({ message, facts: renewed });
      return renewed.slot;
    }
    if (facts.pending !== undefined) waits.push(facts.pending);
    return facts.slot;
  }

  /** Reads messages, and lets other calls that want them wait; what could not be read is forgotten. */
  async #readAll(fresh, call) {
    const reading = this.#readBatches(fresh, call);
    for (const { facts } of fresh) facts.pending = reading;
    try {
      await reading;
      if (call.isCancelled) this.#forget(fresh);
    } catch (error) {
      this.#forget(fresh);
      throw error;
    } finally {
      for (const { facts } of fresh) if (facts.pending === reading) facts.pending = undefined;
    }
  }

  async #readBatches(fresh, call) {
    const underWay = [];
    try {
      for (let from = 0; from < fresh.length && !call.isCancelled; ) {
        const batch = new Batch();
        while (from < fresh.length && batch.units < BATCH_UNITS) {
          const { message, facts } = fresh[from++];
          batch.add(facts.slot, message, this.#marker, this.#protects);
        }
        if (batch.units <= INLINE_UNITS && fresh.length <= INLINE_MESSAGES) this.#read(batch);
        else {
          const reading = this.#engine.readAsync(batch.numbers, batch.strings, call.flag);
          reading.catch(() => {});
          underWay.push(reading);
          // One batch crosses while a worker reads the one before.
          if (underWay.length > 1) await call.away(underWay.shift());
        }
      }
      if (underWay.length > 0) await call.away(Promise.all(underWay));
    } finally {
      // Until it is over a worker may write into slots that would change hands.
      await Promise.allSettled(underWay);
    }
  }

  /** Facts with a slot of their own: a plan under way may still be using the old one. */
  #renew(facts, message) {
    const slot = this.#free.pop() ?? this.#nextSlot++;
    this.readings += 1;
    if (facts === undefined) {
      const created = new Facts(slot, message);
      this.#known.set(message, created);
      this.#registry.register(message, created.place, created.place);
      return created;
    }
    this.#renewals += 1;
    if (facts.slot !== NOTHING) this.#retire(facts.slot);
    else this.#registry.register(message, facts.place, facts.place);
    facts.slot = slot;
    facts.place.slot = slot;
    facts.pending = undefined;
    facts.remember(message);
    return facts;
  }

  #read(batch) {
    this.#engine.read(batch.numbers, batch.strings);
  }

  /** A message was changed in place, and not looked at: the next call looks at all of them. */
  distrust() {
    this.#renewals += 1;
  }

  /** Messages that look changed are read again. */
  #forget(fresh) {
    for (const { facts } of fresh) facts.role = UNREAD;
  }

  /** A call begins: until it leaves no slot changes hands, for its plan names messages by their slots. */
  enter() {
    const number = this.#calls++;
    this.#underWay.add(number);
    return number;
  }

  leave(number) {
    this.#underWay.delete(number);
    this.#releaseRetired();
  }

  #retire(slot) {
    this.#retired.push({ slot, before: this.#calls });
    this.#releaseRetired();
  }

  /** Other calls may always be under way: only those that began before a slot was retired can name it. */
  #releaseRetired() {
    const [oldest = this.#calls] = this.#underWay;
    const still = this.#retired.findIndex(({ before }) => before > oldest);
    const free = still === -1 ? this.#retired.splice(0) : this.#retired.splice(0, still);
    for (const { slot } of free) this.#release(slot);
  }

  /** Never throws: the garbage collector calls it too, and has nobody to catch. */
  #release(slot) {
    try {
      this.#engine.release(slot);
      this.#free.push(slot);
    } catch {
      // The slot stays taken: nothing but its few bytes is lost.
    }
  }
}

module.exports = { FactStore };
