// The conversations of one hook. A list goes on in the one with which it shares the longest beginning.
"use strict";

const {
  NEW_MESSAGES,
  isAnswer,
  isSameMessage,
  isSummary,
  isSystem,
  sharedBeginning,
} = require("./values.js");

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
      if (best !== undefined && !mayShareAsMuch(target, list, best)) continue;
      const shared = { ...sharedBeginning(target, list), conversation, target };
      if (isBetter(shared, best, list)) best = { ...shared, leavesAnswer: leavesAnswer(list, shared) };
    }
    return best && { ...best, isAnswered: best.target.slice(0, best.knownEnd).some(isAnswer) };
  }

  /** The latest conversation whose newest messages stand in `list`, though that begins otherwise, and how many of them. */
  thatIsLeftIn(list) {
    const alive = this.#alive().reverse();
    const left = alive.map((conversation) => ({ conversation, ...conversation.keptIn(list) }));
    const found = left.find(({ isMost }) => isMost) ?? left.find(({ kept }) => kept > 0);
    return found ?? this.#onlyOne(list);
  }

  /**
   * The only conversation, if `list` begins with a summary, or its first answer came after the last call: a compaction may leave
   * no message. What it left is given up.
   */
  #onlyOne(list) {
    const [conversation, ...others] = this.#alive();
    if (conversation === undefined || others.length > 0) return undefined;
    const answer = list.findIndex(isAnswer);
    const isLater = list[answer]?.timestamp >= conversation.target.at(-1)?.timestamp;
    if (!isLater && !isSummary(list.find((message) => !isSystem(message)))) return undefined;
    this.forget(conversation);
    return { conversation, end: isLater ? answer : list.length, isMost: false };
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

/** False if a look at two places tells that `list` shares less with `target` than with the best one so far, or no more. */
function mayShareAsMuch(target, list, best) {
  const is = (at) => Object.is(target[at], list[at]);
  if (isSystem(target[0]) || isSystem(list[0])) return true;
  if (best.own > 0 && !is(best.own - 1)) return false;
  return best.leavesAnswer || is(best.own) || isSameMessage(target[best.end], list[best.end]);
}

/** True if more is shared than with the best so far, or as much and no answer is left behind. */
function isBetter(shared, best, list) {
  const more = shared.own - (best?.own ?? 0) || shared.end - (best?.end ?? 0);
  if (more !== 0 || shared.end === 0) return more > 0;
  return best.leavesAnswer && !leavesAnswer(list, shared);
}

/** True if the newest answer of the conversation that `list` shares a beginning with is not in the list. */
function leavesAnswer(list, { knownEnd, target }) {
  const at = target.findLastIndex(isAnswer);
  if (at < knownEnd || list.includes(target[at])) return false;
  return !list.slice(-NEW_MESSAGES).some((message) => isSameMessage(target[at], message));
}

module.exports = { Conversations };
