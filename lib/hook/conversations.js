// The conversations of one hook. A list goes on in the one with which it shares the longest beginning.
"use strict";

const { NEW_MESSAGES, isAnswer, isSameMessage, isSystem, sharedBeginning } = require("./values.js");

/** Conversations that are compared with a list, the latest. */
const MOST = 256;
/** Conversations of a host that hands in copies that are kept, the latest: nobody else holds them. */
const MOST_COPIED = 8;

/**
 * A conversation lives as long as the host holds the newest message of its last call. The latest ones of a host that hands in
 * copies, or that was not met twice, are held here.
 */
class Conversations {
  /** The latest last. */
  #recent = [];
  #heldBy = new WeakMap();
  #held = [];

  /**
   * The conversation that `list` goes on in and what they share: `isAnswered` if a model answered in that, `leavesAnswer` if the
   * newest answer is not in the list. Undefined if they share no message: system messages do not count, for agents share them.
   */
  of(list) {
    let best;
    for (const conversation of this.#alive().reverse()) {
      const { target } = conversation;
      if (best !== undefined && !mayShareMore(target, list, best)) continue;
      const shared = sharedBeginning(target, list);
      const more = shared.own - (best?.own ?? 0) || shared.end - (best?.end ?? 0);
      if (more > 0) best = { ...shared, conversation, target };
    }
    if (best === undefined) return undefined;
    const left = best.target.findLast(isAnswer);
    const leavesAnswer = left !== undefined && !holds(list, best, left);
    return { ...best, leavesAnswer, isAnswered: best.target.slice(0, best.knownEnd).some(isAnswer) };
  }

  /** The latest conversation of which `list` holds most, though it begins otherwise. */
  thatIsLeftIn(list) {
    return this.#alive().findLast((conversation) => conversation.isMostlyIn(list));
  }

  /** Keeps a conversation that is at `list` as the latest. `isOwn` if the host handed the same messages in before. */
  keep(conversation, list, isOwn) {
    conversation.target = list;
    const newest = list.findLast((message) => typeof message === "object" && message !== null);
    if (newest !== undefined) this.#heldBy.set(newest, conversation);
    this.#held = this.#held.filter((of) => of !== conversation);
    if (!isOwn) this.#held = [...this.#held.slice(1 - MOST_COPIED), conversation];
    if (this.#recent.at(-1)?.deref() === conversation) return;
    const others = this.#recent.filter((of) => of.deref() !== undefined && of.deref() !== conversation);
    this.#recent = [...others.slice(1 - MOST), new WeakRef(conversation)];
  }

  /** Gives a conversation up: what went wrong there must not go on. */
  forget(conversation) {
    this.#held = this.#held.filter((of) => of !== conversation);
    this.#recent = this.#recent.filter((of) => of.deref() !== conversation);
  }

  #alive() {
    return this.#recent.map((of) => of.deref()).filter((conversation) => conversation !== undefined);
  }
}

/** False if a look at two places tells that `list` shares no more with `target` than with the best one so far. */
function mayShareMore(target, list, best) {
  const is = (at) => Object.is(target[at], list[at]);
  if (isSystem(target[0]) || isSystem(list[0])) return true;
  if (best.own > 0 && !is(best.own - 1)) return false;
  return is(best.own) || isSameMessage(target[best.end], list[best.end]);
}

/** True if `list` has the newest answer of the conversation it shares a beginning with. */
function holds(list, { knownEnd, target }, answer) {
  const at = target.lastIndexOf(answer);
  if (at < knownEnd || list.includes(answer)) return true;
  return list.slice(-NEW_MESSAGES).some((message) => isSameMessage(answer, message));
}

module.exports = { Conversations };
