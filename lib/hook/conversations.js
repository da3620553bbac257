// The conversations of one hook. A list continues the one with which it shares the longest beginning.
"use strict";

const { isObject } = require("../helpers.js");
const { isAnswer, isSameMessage, ownBeginning, sharedBeginning } = require("./values.js");

/** Most conversations compared with any list, the latest. Older ones are compared with lists that hold their newest messages. */
const MOST = 256;
/** Most conversations held strongly, the latest. A host that passes copies holds none itself. */
const MOST_COPIED = 8;
/** Most conversations kept alive by one message, the latest: a host may retry it any number of times. */
const MOST_HELD = 8;
/** Successive cuts of the beginning after which a conversation is no longer forked. */
const MOST_CUTS = 2;
/** Number of newest known messages looked for in a list: a host may remove a few at once. */
const NEWEST = 8;
/** Number of newest messages of a list to look in: more than a call adds. */
const NEW_MESSAGES = 64;

/**
 * The newest message of its last call and its newest answer keep a conversation alive. The message alone is not enough: it may
 * be a reminder, new for each call. New conversations, and the latest of hosts that pass copies, are held here.
 */
class Conversations {
  /** The latest first. */
  #recent = [];
  #heldBy = new WeakMap();
  #held = [];

  /**
   * Finds the `conversation` that `list`, of this `encoding()` and `language()`, continues. Returns an empty object if the
   * list begins a new one. `shared` is their common beginning. Without one, `cuts` counts the successive calls that cut or
   * changed the beginning, and `newFrom` is the index after the newest known message. `isAside` is true for a list that may be
   * a side question with only the end of the conversation. `isFork` is true for a list that lacks an answer or the beginning:
   * the caller forks, since both may continue.
   */
  find(list, { encoding, language }) {
    const held = this.#heldIn(list);
    const alive = this.#alive(held);
    // Comparing copies costs far more than comparing objects, and many conversations may begin with copies of one history. So
    // the conversations that share most objects are chosen first. Their copies must share as much as the newest one's.
    const owns = alive.map(({ target }) => ownBeginning(target, list));
    const most = Math.max(0, ...owns);
    const likely = alive.filter((_, at) => owns[at] === most);
    const newest = held.findLast((one) => likely.includes(one));
    const least = newest === undefined ? 0 : sharedWith(newest, list, most).count;
    const best = likely.map((one) => sharedWith(one, list, most, least)).reduce(betterFor(list), NOTHING);
    if (best.count === 0) {
      const cut = nearest(alive, list, isOwn) ?? nearest(alive, list, isCopy) ?? this.#compacted(alive, list);
      if (cut === undefined || cut.encoding !== encoding() || cut.language !== language()) return {};
      const isAside = cut.isAside || isShifted(cut.target, list);
      const newFrom = list.length - newerIn(list, cut.target, isKnown);
      return { conversation: cut, isFork: cut.cuts < MOST_CUTS, cuts: cut.cuts + 1, isAside, newFrom };
    }
    const { conversation, target, knownEnd } = best;
    const isFork = leavesAnswer(best, list);
    // Before any answer two lists that begin alike are two conversations.
    const first = target.findIndex(isAnswer);
    const isAnswered = first >= 0 && first < knownEnd;
    if (!isAnswered && (isFork || conversation.encoding !== encoding())) return {};
    return { conversation, isFork, shared: best };
  }

  /**
   * Forgets and returns the only conversation, if `list` is its compaction: a summary, alone or with answers to the last
   * call.
   */
  #compacted([only, ...others], list) {
    const isOnly = only !== undefined && only === this.#recent[0].deref() && others.length === 0;
    if (!isOnly || !opensWithSummary(list)) return undefined;
    const answer = list.find(isAnswer);
    const isLater = answer === undefined || answer.timestamp >= only.target.at(-1)?.timestamp;
    if (isLater) this.forget(only);
    return isLater ? only : undefined;
  }

  /** Makes the conversation of a call with `list` the latest, given the result of `find`. */
  keep(conversation, list, { cuts = 0, isAside = false, isFork = false, shared }) {
    Object.assign(conversation, { cuts, isAside, isForgotten: false });
    // Side questions are frequent: only `#held` holds their conversations, for a while.
    for (const holder of isAside ? [] : holdersIn(list, isFork)) {
      const others = this.#heldWithout(conversation, holder);
      this.#heldBy.set(holder, [conversation, ...others].slice(0, MOST_HELD));
    }
    const others = this.#held.filter((of) => of !== conversation);
    // The host holds messages of this conversation itself.
    const isHostsOwn = shared?.own > 0;
    const held = isHostsOwn ? others : [conversation, ...others];
    this.#held = held.slice(0, MOST_COPIED);
    for (const one of held.slice(MOST_COPIED)) {
      if (!one.isAside) continue;
      this.forget(one);
      one.free();
    }
    if (this.#recent[0]?.deref() === conversation) return;
    const earlier = this.#recent.filter((of) => of.deref() !== undefined && of.deref() !== conversation);
    this.#recent = [new WeakRef(conversation), ...earlier].slice(0, MOST);
  }

  /** Forgets a conversation. */
  forget(conversation) {
    this.#held = this.#held.filter((of) => of !== conversation);
    this.#recent = this.#recent.filter((of) => of.deref() !== conversation);
    // A message of an earlier call may still hold it.
    conversation.isForgotten = true;
    for (const holder of holdersIn(conversation.target))
      this.#heldBy.set(holder, this.#heldWithout(conversation, holder));
  }

  /** The conversations other than this one that a message keeps alive, the latest first. */
  #heldWithout(conversation, holder) {
    return (this.#heldBy.get(holder) ?? []).filter((of) => of !== conversation);
  }

  /** The conversations that a list may continue, the latest first; its newest messages keep those in `held` alive. */
  #alive(held) {
    const recent = this.#recent.map((of) => of.deref()).filter((conversation) => conversation !== undefined);
    return [...new Set([...recent, ...held])];
  }

  /** The conversations that the newest messages of `list` keep alive. */
  #heldIn(list) {
    const held = list.slice(-NEW_MESSAGES).flatMap((message) => this.#heldBy.get(message) ?? []);
    return held.filter(({ isForgotten }) => !isForgotten);
  }
}

function opensWithSummary(list) {
  const opening = list.find((message) => message?.role !== "system");
  return opening?.role === "compactionSummary" || opening?.role === "branchSummary";
}

/** The messages that keep the conversation of a list alive. The newest answer of a new fork belongs to another one. */
function holdersIn(list, isFork = false) {
  const newest = list.findLast(isObject);
  const holders = isFork ? [newest] : [newest, list.findLast(isAnswer)];
  return holders.filter((holder) => holder !== undefined);
}

const NOTHING = { count: 0 };

/** The beginning that `list` shares with a conversation: `own` same objects, and copies if there are `least` messages in all. */
function sharedWith(conversation, list, own, least) {
  const { target } = conversation;
  return { conversation, target, own, ...sharedBeginning(target, list, own, least) };
}

/** Prefers the conversation that shares more, and of two equal ones the one that loses no answer. */
const betterFor = (list) => (best, next) => {
  const more = next.count - best.count;
  if (more !== 0 || next.count === 0) return more > 0 ? next : best;
  return !leavesAnswer(next, list) && leavesAnswer(best, list) ? next : best;
};

/** True if `list` lacks the newest answer of the conversation. */
function leavesAnswer({ target, knownEnd }, list) {
  const at = target.findLastIndex(isAnswer);
  if (at < knownEnd || list.includes(target[at])) return false;
  return !list.slice(-NEW_MESSAGES).some((message) => isSameMessage(target[at], message));
}

/** Tests if a message of a list is a known one: the same object, or a copy of an answer. Agents share system messages. */
const isOwn = (known, message) => known === message && isObject(message) && message.role !== "system";
const isCopy = (known, message) => isAnswer(known) && isSameMessage(known, message);
const isKnown = (known, message) => isOwn(known, message) || isCopy(known, message);

/** True if none of the newest known messages kept its position in `list`. */
function isShifted(known, list) {
  return !list.some((message, at) => at >= known.length - NEWEST && isKnown(known[at], message));
}

/** The conversation whose newest messages, matched by `is`, are nearest to the end of `list`: the host cut its beginning. */
function nearest(conversations, list, is) {
  const newer = conversations.map((one) => newerIn(list, one.target, is));
  const least = Math.min(...newer);
  return Number.isFinite(least) ? conversations[newer.indexOf(least)] : undefined;
}

/** The number of messages in `list` after the newest known one. */
function newerIn(list, known, is) {
  const recent = list.slice(-NEW_MESSAGES);
  for (const one of known.slice(-NEWEST).reverse()) {
    const at = recent.findLastIndex((message) => is(one, message));
    if (at >= 0) return recent.length - 1 - at;
  }
  return Number.POSITIVE_INFINITY;
}

module.exports = { Conversations };
