// A conversation as one call of a hook saw it, for the next call to go on from.
"use strict";

const { isCopy } = require("./clones.js");

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

  /** How many messages `messages` opens with that are copies of those, and nothing was changed in either since. */
  copiedIn(messages) {
    const end = Math.min(messages.length, this.messages.length);
    let copied = 0;
    while (copied < end && this.#isCopied(copied, messages[copied])) copied += 1;
    return copied;
  }

  #isCopied(index, message) {
    const [facts, known] = [this.facts[index], this.messages[index]];
    if (facts === undefined || facts.pending !== undefined || facts.slot !== this.slots[index]) return false;
    return !facts.isStale(known) && isCopy(known, message);
  }

  /** How many messages `messages` opens with that were there before, the same objects in the same order. */
  sharedWith(messages) {
    const end = Math.min(messages.length, this.messages.length);
    let shared = 0;
    while (shared < end && messages[shared] === this.messages[shared]) shared += 1;
    return shared;
  }
}

module.exports = { Seen };
