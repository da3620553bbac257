// The conversations of one hook. A list continues the one with which it shares the longest beginning.
"use strict";

const { isAnswer, isSameMessage, sharedBeginning } = require("./values.js");

/** Conversations that are compared with a list, the latest. */
const MOST = 256;
/** Conversations of a host that hands in copies that are kept, the latest: nobody else holds them. */
const MOST_COPIED = 8;
/** Conversations whose beginning was cut that are kept until they are continued: a host may cut its list at each call. */
const MOST_CUT = 8;
/** Newest messages of a list among which a copy of a known answer is looked for: more than one call adds. */
const NEW_MESSAGES = 64;

/**
 * A conversation is kept alive by the newest message of its last call. The latest ones of a host that hands in copies, or that
 * was met once, are held here.
 */
class Conversations {
  /** The latest last. */
  #recent = [];
  #heldBy = new WeakMap();
  #held = [];
  #cut = [];

  /**
   * The conversation that `list` continues, and what they share: `isAnswered` if a model answered in that, `leavesAnswer` if the
   * newest answer is not in the list. Without a shared beginning it is the conversation whose newest messages stand nearest to the
   * end of the list: its beginning was cut or compacted. Undefined if there is none.
   */
  find(list) {
    const alive = this.#alive().reverse();
    const { conversation, ...shared } = alive
      .map((one) => sharedWith(one, list))
      .reduce((best, next) => (isBetter(next, best, list) ? next : best), NOTHING);
    if (conversation === undefined) {
      const newer = alive.map((one) => one.newerIn(list) ?? Number.POSITIVE_INFINITY);
      const least = Math.min(...newer);
      const next = Number.isFinite(least) ? alive[newer.indexOf(least)] : this.#compacted(list);
      return next && { conversation: next, isCut: true };
    }
    this.#cut = this.#cut.filter((one) => one !== conversation);
    conversation.isCut = false;
    const isAnswered = shared.target.slice(0, shared.knownEnd).some(isAnswer);
    return { conversation, ...shared, isAnswered, leavesAnswer: leavesAnswer(shared, list) };
  }

  /** The only conversation, if a compaction left no message of it: a summary, and answers to its last call. It is given up. */
  #compacted(list) {
    const [only, ...others] = this.#alive();
    if (only === undefined || others.length > 0 || !opensWithSummary(list)) return undefined;
    const answer = list.find(isAnswer);
    const isLater = answer === undefined || answer.timestamp >= only.target.at(-1)?.timestamp;
    if (isLater) this.forget(only);
    return isLater ? only : undefined;
  }

  /** Keeps the conversation of a call with `list` as the latest. `isOwn` if the host handed the same messages in before. */
  keep(conversation, list, isOwn) {
    const newest = newestIn(list);
    const alike = this.#heldBy.get(newest)?.filter((of) => of !== conversation) ?? [];
    if (newest !== undefined) this.#heldBy.set(newest, [conversation, ...alike]);
    this.#held = this.#held.filter((of) => of !== conversation);
    if (!isOwn) this.#held = [...this.#held.slice(1 - MOST_COPIED), conversation];
    if (conversation.isCut) this.#cut.push(conversation);
    if (this.#cut.length > MOST_CUT) {
      const oldest = this.#cut.shift();
      this.forget(oldest);
      oldest.free();
    }
    if (this.#recent.at(-1)?.deref() === conversation) return;
    const others = this.#recent.filter((of) => of.deref() !== undefined && of.deref() !== conversation);
    this.#recent = [...others.slice(1 - MOST), new WeakRef(conversation)];
  }

  /** Gives a conversation up. */
  forget(conversation) {
    this.#held = this.#held.filter((of) => of !== conversation);
    this.#recent = this.#recent.filter((of) => of.deref() !== conversation);
    const newest = newestIn(conversation.target);
    const alike = this.#heldBy.get(newest)?.filter((of) => of !== conversation);
    if (alike !== undefined) this.#heldBy.set(newest, alike);
  }

  #alive() {
    return this.#recent.map((of) => of.deref()).filter((conversation) => conversation !== undefined);
  }
}

function opensWithSummary(list) {
  const opening = list.find((message) => message?.role !== "system");
  return opening?.role === "compactionSummary" || opening?.role === "branchSummary";
}

function newestIn(list) {
  return list.findLast((message) => typeof message === "object" && message !== null);
}

const NOTHING = { own: 0, count: 0 };

/** The beginning that `list` shares with a conversation. */
function sharedWith(conversation, list) {
  const { target } = conversation;
  const shared = sharedBeginning(target, list);
  return shared.count === 0 ? NOTHING : { conversation, target, ...shared };
}

/** True if more is shared than with the best so far, or as much and no answer is left behind. */
function isBetter(next, best, list) {
  const more = next.own - best.own || next.count - best.count;
  if (more !== 0 || next.count === 0) return more > 0;
  return !leavesAnswer(next, list) && leavesAnswer(best, list);
}

/** True if the newest answer of the conversation that `list` shares a beginning with is not in the list. */
function leavesAnswer({ target, knownEnd }, list) {
  const at = target.findLastIndex(isAnswer);
  if (at < knownEnd || list.includes(target[at])) return false;
  return !list.slice(-NEW_MESSAGES).some((message) => isSameMessage(target[at], message));
}

module.exports = { Conversations };
