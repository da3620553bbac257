// What a hook remembers of each message object: the slot of its facts on the native side and the very values they
// were read from. Freed with the message, here and there.
"use strict";

const { Batch, markerLine, protection } = require("./snapshot.js");

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

/** Stands for the role of a message whose reading failed: it looks changed, so the next call reads it again. */
const UNREAD = Symbol("unread");

/** A property by which our recordings say that a message never changes: no value of it is kept to compare it with. */
const SETTLED = Symbol("settled");

/** Blocks of a content that is no list. */
const NO_LIST = -1;

/** What is read of a message beside its content, by role; assistants and tool results have theirs in `Facts` itself. */
const FIELDS = {
  __proto__: null,
  system: ["sections", "toolsAdded"],
  bashExecution: ["command", "output", "excludeFromContext"],
  branchSummary: ["summary"],
  compactionSummary: ["summary"],
};
const OTHER_FIELDS = ["excludeFromContext"];

/**
 * The facts of one message object, valid as long as the message holds the same values. They are looked at on every call,
 * so the values lie side by side in one object, and only messages of several blocks need more.
 *
 * A host changes in place what grows (content, calls, a shell's output) or comes late (the stop reason, the usage). What is
 * set once is read, but not looked at again: `timestamp`, `api`, `provider`, `model`, signatures, and of the usage the
 * answer's tokens and the costs, which come together with the prompt's.
 */
class Facts {
  constructor(slot, message) {
    this.slot = slot;
    /** The slot without the message's values: the garbage collector keeps it for longer than those. */
    this.place = { slot };
    /** Settles when the native side has the facts; undefined when it has them already. */
    this.pending = undefined;
    this.remember(message);
  }

  remember(message) {
    const { role } = message;
    this.role = role;
    /** Replacement text of a summarised tool result, once it was asked for. */
    this.shortened = undefined;
    /** Text of a tool result that was cut by line, and which lines it keeps, once it was asked for. */
    this.kept = undefined;
    this.isSettled = message[SETTLED] === true;
    if (!this.isSettled) this.#rememberValues(message, role);
  }

  #rememberValues(message, role) {
    const { content } = message;
    const blocks = Array.isArray(content) ? content.slice() : undefined;
    this.content = content;
    this.count = blocks?.length ?? NO_LIST;
    this.first = blocks?.[0];
    this.value = textOf(this.first);
    this.others = this.count > 1 ? blocks.slice(1).map((block) => new KnownBlock(block)) : undefined;
    this.call = isCall(this.first) ? new KnownBlock(this.first) : undefined;
    this.rest = restOf(message, role);
  }

  /** True if the host changed the message in place since it was read. */
  isStale(message) {
    if (this.isSettled) return this.role === UNREAD;
    const { content, role } = message;
    if (content !== this.content || role !== this.role || this.#isRestStale(message, role)) return true;
    const { count } = this;
    if (count === NO_LIST) return false;
    if (content.length !== count) return true;
    if (count === 0) return false;
    const first = content[0];
    if (first !== this.first || textOf(first) !== this.value || this.call?.isStale(first)) return true;
    return count > 1 && this.others.some((known, i) => known.isStale(content[i + 1]));
  }

  #isRestStale(message, role) {
    const { rest } = this;
    if (role === "toolResult") return message.toolCallId !== rest.id || message.toolName !== rest.name;
    if (role === "user") return false;
    if (role !== "assistant") return fieldsOf(role).some((name, i) => message[name] !== rest[i]);
    const { stopReason, usage } = message;
    if (stopReason !== rest.stopReason || usage !== rest.usage) return true;
    return (
      usage?.input !== rest.input ||
      usage?.cacheRead !== rest.cacheRead ||
      usage?.cacheWrite !== rest.cacheWrite
    );
  }
}

/** What was read of one block. */
class KnownBlock {
  constructor(block) {
    this.block = block;
    this.value = textOf(block);
    this.id = block?.id;
    this.name = block?.name;
  }

  isStale(block) {
    if (block !== this.block || textOf(block) !== this.value) return true;
    return block?.id !== this.id || block?.name !== this.name;
  }
}

function restOf(message, role) {
  if (role === "toolResult") return { id: message.toolCallId, name: message.toolName };
  if (role === "user") return undefined;
  if (role !== "assistant") return fieldsOf(role).map((name) => message[name]);
  const { stopReason, usage } = message;
  const { input, cacheRead, cacheWrite } = usage ?? {};
  return { stopReason, usage, input, cacheRead, cacheWrite };
}

function fieldsOf(role) {
  return FIELDS[role] ?? OTHER_FIELDS;
}

/** The one value of a block that its facts come from. */
function textOf(block) {
  return block?.text ?? block?.thinking ?? block?.arguments;
}

function isCall(block) {
  return block?.type === "toolCall";
}

/** Room for so many slots: that of the last call as long as it is enough, so that a long conversation is not copied. */
function roomFor(length, slots = new Uint32Array(0)) {
  if (slots.length >= length) return slots;
  const room = new Uint32Array(length + (length >> 2));
  room.set(slots);
  return room;
}

/**
 * A conversation as one call saw it. It is kept by its newest message: it lives as long as the host holds that one, and
 * gives way to what the next call sees.
 */
class Seen {
  constructor(messages, { facts, slots, watchFrom, renewals }) {
    this.messages = messages;
    this.facts = facts;
    this.slots = slots;
    /** As long as no message is read again, each keeps its slot. */
    this.renewals = renewals;
    /** Which of the older messages are looked at next. */
    this.watchFrom = watchFrom;
  }

  /** How many messages `messages` opens with that were there before, the same objects in the same order. */
  sharedWith(messages) {
    const end = Math.min(messages.length, this.messages.length);
    let shared = 0;
    while (shared < end && messages[shared] === this.messages[shared]) shared += 1;
    return shared;
  }
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
 * `readings` counts the arrows into "taken". As long as it stays the same, every slot means what it meant, and the last
 * plan for the same slots still holds.
 */
class FactStore {
  #engine;
  #marker;
  #protects;
  #known = new WeakMap();
  #seen = new WeakMap();
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

  constructor(engine, options) {
    this.#engine = engine;
    this.#marker = markerLine(options.marker, options);
    this.#protects = protection(options.protect);
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
    const last = this.#takeLastSeen(messages);
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
    try {
      look(turn, turnEnd);
      look(newest, shared);
    } catch {
      // A getter of the host's threw: reading from the beginning finds out which, and says so.
      return { slots, facts: [], queue: [], at: 0, next: 0, watchFrom: 0, renewals, isUnchanged: false };
    }
    const isUnchanged = queue.length === 0 && shared === messages.length && shared === last?.messages.length;
    return { slots, facts, queue, at: 0, next: shared, watchFrom: turnEnd, renewals, isUnchanged };
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

  /** Keeps what a call read for the next one. The call is over: from now on `read` may change. */
  keep(messages, read) {
    const newest = messages.at(-1);
    if (typeof newest === "object" && newest !== null) this.#seen.set(newest, new Seen(messages, read));
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
      this.#registry.register(message, created.place);
      return created;
    }
    this.#renewals += 1;
    this.#retire(facts.slot);
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

module.exports = { FactStore, SETTLED };
