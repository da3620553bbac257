// What a hook remembers of each message object: the slot of its facts on the native side and the very values they
// were read from. Freed with the message, here and there.
"use strict";

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

/** Stands for the role of a message whose reading failed: it looks changed, so the next call reads it again. */
const UNREAD = Symbol("unread");

/**
 * A property that says a message never changes: then its values are not kept to compare it with. Only recordings, which
 * are ours, say so.
 */
const SETTLED = Symbol("settled");

/** Blocks of a content that is no list. */
const NO_LIST = -1;

/**
 * The facts of one message object, valid as long as the message holds the same values. All of them are looked at on
 * every call, so the values lie side by side in one object, and only messages of several blocks need a second one.
 */
class Facts {
  constructor(slot, message) {
    this.slot = slot;
    /** The slot by itself, for who must not hold the message's values. */
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
    this.isSettled = message[SETTLED] === true;
    if (!this.isSettled) this.#rememberValues(message);
  }

  #rememberValues({ content, stopReason, usage }) {
    const blocks = Array.isArray(content) ? content.slice() : undefined;
    this.content = content;
    this.count = blocks?.length ?? NO_LIST;
    this.block = blocks?.[0];
    this.value = textOf(this.block);
    this.others =
      this.count > 1 ? blocks.slice(1).map((block) => ({ block, value: textOf(block) })) : undefined;
    this.stopReason = stopReason;
    this.usage = usage;
  }

  /** True if the host changed the message in place since it was read. */
  isStale(message) {
    if (this.isSettled) return this.role === UNREAD;
    const { content, role } = message;
    if (content !== this.content || role !== this.role) return true;
    if (role === "assistant" && (message.stopReason !== this.stopReason || message.usage !== this.usage))
      return true;
    const { count } = this;
    if (count === NO_LIST) return false;
    if (content.length !== count) return true;
    if (count === 0) return false;
    const block = content[0];
    if (block !== this.block || textOf(block) !== this.value) return true;
    return count > 1 && this.others.some((known, i) => isOther(known, content[i + 1]));
  }
}

function isOther(known, block) {
  return block !== known.block || textOf(block) !== known.value;
}

/** The one value of a block that its facts come from. */
function textOf(block) {
  return block?.text ?? block?.thinking ?? block?.arguments;
}

/** All messages one hook has seen and their host still holds. */
class FactStore {
  #engine;
  #marker;
  #known = new WeakMap();
  #free = [];
  #nextSlot = FIRST_SLOT;
  /** Messages read so far: as long as it stays, every slot means what it meant. */
  readings = 0;
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
    const batch = new Batch();
    batch.add(NOTHING, {});
    this.#read(batch);
  }

  /** The facts of a message that was read before. */
  of(message) {
    return this.#known.get(message);
  }

  /**
   * Slots of these messages, each read if it is new or was changed. A few new ones are read at once; more are read on
   * a worker, in batches, giving the event loop its turn between them. `call` keeps the time and may be cancelled;
   * then the result is undefined.
   */
  async slotsOf(messages, call) {
    const slots = new Array(messages.length);
    for (let from = 0; from < messages.length; ) {
      const { to, fresh, waits } = this.#survey(messages, from, slots);
      if (fresh.length > 0) await this.#readAll(fresh, call);
      if (waits.length > 0) await call.away(Promise.allSettled(waits));
      if (call.isCancelled) return undefined;
      // What another call was reading may have failed or been cancelled there: then it is read here.
      if (waits.length === 0) from = to;
    }
    return slots;
  }

  /**
   * Fills in the slots of the messages at `from` and after, up to `to`, where as many are new as are read in one go;
   * those are in `fresh`, what another call is reading is in `waits`.
   */
  #survey(messages, from, slots) {
    const fresh = [];
    const waits = [];
    const known = this.#known;
    let to = from;
    try {
      for (; to < messages.length && fresh.length < BATCH_MESSAGES; to += 1) {
        const message = messages[to];
        const facts = known.get(message);
        const isKnown = facts !== undefined && facts.pending === undefined && !facts.isStale(message);
        slots[to] = isKnown ? facts.slot : this.#slotOf(message, facts, fresh, waits);
      }
    } catch (error) {
      this.#forget(fresh);
      throw error;
    }
    return { to, fresh, waits };
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
    for (let from = 0; from < fresh.length && !call.isCancelled; ) {
      const batch = new Batch();
      while (from < fresh.length && batch.units < BATCH_UNITS) {
        const { message, facts } = fresh[from++];
        batch.add(facts.slot, message, this.#marker);
      }
      if (batch.units <= INLINE_UNITS && fresh.length <= INLINE_MESSAGES) this.#read(batch);
      else await call.away(this.#engine.readAsync(batch.numbers, batch.strings));
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
