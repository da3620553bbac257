// What a hook remembers of each message object: the slot of its facts on the native side and the very values they
// were read from. Freed with the message, here and there.
"use strict";

const { Batch, markerLine } = require("./snapshot.js");

/** Slot of what is no object (null, a number, a hole): nothing is known of it and nothing is done to it. */
const NOTHING = 0;
const FIRST_SLOT = 1;

/** Text read here and now, on the main thread: well under a millisecond of counting. Code units. */
const INLINE_UNITS = 8 * 1024;
/** Text that crosses to a worker in one go, so that the main thread is never held long. Code units. */
const BATCH_UNITS = 1024 * 1024;
/** Messages read in one go. */
const BATCH_MESSAGES = 2048;

/** Stands for the role of a message whose reading failed: it looks changed, so the next call reads it again. */
const UNREAD = Symbol("unread");

/** The facts of one message object, valid as long as the message holds the same values. */
class Facts {
  /** Replacement text of a summarised tool result, once it was asked for. */
  shortened = undefined;
  /** Settles when the native side has the facts; undefined when it has them already. */
  pending = undefined;

  constructor(place, message) {
    this.place = place;
    this.remember(message);
  }

  get slot() {
    return this.place.slot;
  }

  remember(message) {
    const { role, content, stopReason, usage } = message;
    this.role = role;
    this.content = content;
    this.stopReason = stopReason;
    this.usage = usage;
    this.blocks = Array.isArray(content) ? content.slice() : NO_BLOCKS;
    this.values = this.blocks.map(textOf);
    this.shortened = undefined;
  }

  /** True if the host changed the message in place since it was read. */
  isStale(message) {
    const { content, blocks, values } = this;
    if (message.content !== content || message.role !== this.role) return true;
    if (this.role === "assistant" && this.#isOtherOutcome(message)) return true;
    if (blocks === NO_BLOCKS) return false;
    if (content.length !== blocks.length) return true;
    for (let i = 0; i < blocks.length; i += 1) {
      if (content[i] !== blocks[i] || textOf(blocks[i]) !== values[i]) return true;
    }
    return false;
  }

  #isOtherOutcome(message) {
    return message.stopReason !== this.stopReason || message.usage !== this.usage;
  }
}

const NO_BLOCKS = [];

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
   * Slots of these messages, each read if it is new or was changed. Little text is read at once; more is read on a
   * worker, in batches, giving the event loop its turn between them. `call` keeps the time and may be cancelled;
   * then the result is undefined.
   */
  async slotsOf(messages, call) {
    for (;;) {
      const { slots, fresh, waits } = this.#survey(messages);
      if (fresh.length > 0) await this.#readAll(fresh, call);
      // What another call was reading may have failed or been cancelled there: then it is read here.
      if (waits.length > 0) await call.away(Promise.allSettled(waits));
      if (call.isCancelled) return undefined;
      if (waits.length === 0) return slots;
    }
  }

  /** The messages' slots; what must be read first is in `fresh`, what another call is reading in `waits`. */
  #survey(messages) {
    const fresh = [];
    const waits = [];
    const slots = new Uint32Array(messages.length);
    try {
      for (let i = 0; i < messages.length; i += 1) slots[i] = this.#slotOf(messages[i], fresh, waits);
    } catch (error) {
      this.#forget(fresh);
      throw error;
    }
    return { slots, fresh, waits };
  }

  #slotOf(message, fresh, waits) {
    if (typeof message !== "object" || message === null) return NOTHING;
    const facts = this.#known.get(message);
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
      const end = from + BATCH_MESSAGES;
      while (from < fresh.length && from < end && batch.units < BATCH_UNITS) {
        const { message, facts } = fresh[from++];
        batch.add(facts.slot, message, this.#marker);
      }
      if (batch.units <= INLINE_UNITS) this.#read(batch);
      else await call.away(this.#engine.readAsync(batch.numbers, batch.strings));
    }
  }

  /** Facts with a slot of their own: a plan under way may still be using the old one. */
  #renew(facts, message) {
    const slot = this.#free.pop() ?? this.#nextSlot++;
    if (facts === undefined) {
      const created = new Facts({ slot }, message);
      this.#known.set(message, created);
      this.#registry.register(message, created.place);
      return created;
    }
    this.#retire(facts.slot);
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

module.exports = { FactStore };
