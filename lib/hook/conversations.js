// The conversations of one hook: of a host that interleaves several, each list goes on in its own.
"use strict";

const { isCopy } = require("./values.js");

/** Conversations that are looked through, the latest. */
const MOST = 256;
/** Newest messages of a list among which one of a conversation's is looked for: a host that cuts or copies leaves these. */
const NEW_MESSAGES = 64;
/** The newest of its own messages that tell a conversation where a host hands in copies and changed the last of them. */
const NEWEST = 8;

/**
 * They live as long as the host holds the newest message of their last call: nothing here keeps a message from being freed,
 * but for one conversation of a host that hands in copies, which nobody else holds.
 */
class Conversations {
  #make;
  /** The latest last. */
  #recent = [];
  #heldBy = new WeakMap();
  #cloned;
  #made = 0;

  /** `make(list)` makes a conversation for a list that is met for the first time. */
  constructor(make) {
    this.#make = make;
  }

  /**
   * The conversation that `list` goes on in, whether it goes on from it in a way of its own, and whether a model has answered
   * in what both have: then its encoding stays, whoever answers next.
   */
  of(list) {
    const alive = this.#alive();
    const whole = this.#thatGoesOn(list, alive);
    const found =
      this.#thatIsBegun(list, alive, whole?.conversation.target.length ?? 0) ??
      whole ??
      this.#thatIsLeft(list, alive) ??
      this.#thatIsCopied(list, alive);
    if (found !== undefined) {
      const { conversation, shared } = found;
      const { target, isAnswered } = conversation;
      if (shared === undefined) return { conversation, isFork: false, isAnswered };
      // Both go on if a branch leaves an answer behind: the other may be under way still.
      const [common, left] = [target.slice(0, shared), target.slice(shared)];
      return { conversation, isFork: left.some(isAnswer), isAnswered: common.some(followsAnswer) };
    }
    // A compaction that keeps nothing, where the hook has seen no other conversation.
    const latest = alive.at(-1);
    if (this.#made === 1 && latest !== undefined && list.find(isTurn)?.role === "compactionSummary") {
      return { conversation: latest, isFork: false, isAnswered: true };
    }
    this.#made += 1;
    const conversation = this.#make(list);
    conversation.isCloned = this.#cloned !== undefined;
    return { conversation, isFork: false, isAnswered: false };
  }

  /** Keeps a conversation that is at `list` as the latest one. */
  keep(conversation, list) {
    conversation.target = list;
    conversation.isAnswered ||= list.some(isAnswer);
    const newest = list.findLast((message) => typeof message === "object" && message !== null);
    if (newest !== undefined) this.#heldBy.set(newest, conversation);
    if (conversation.isCloned) this.#cloned = conversation;
    if (this.#recent.at(-1)?.deref() === conversation) return;
    const others = this.#recent.filter((of) => of.deref() !== undefined && of.deref() !== conversation);
    this.#recent = [...others.slice(1 - MOST), new WeakRef(conversation)];
  }

  /** Gives a conversation up: what went wrong there must not go on. */
  forget(conversation) {
    if (this.#cloned === conversation) this.#cloned = undefined;
    this.#recent = this.#recent.filter((of) => of.deref() !== conversation);
  }

  #alive() {
    return this.#recent.map((of) => of.deref()).filter((conversation) => conversation !== undefined);
  }

  /** The longest that `list` has all messages of. */
  #thatGoesOn(list, alive) {
    let best;
    for (const conversation of alive) {
      const { target } = conversation;
      const last = target.length - 1;
      if (last < 0 || last >= list.length || !conversation.isSame(target[last], list[last])) continue;
      if (best !== undefined && best.target.length > target.length) continue;
      if (conversation.sharedWith(list) === target.length) best = conversation;
    }
    return best && { conversation: best };
  }

  /** The one that `list` begins as for the longest, if for more than `most` messages: one that is known whole may be older. */
  #thatIsBegun(list, alive, most) {
    let best;
    for (const conversation of alive) {
      const { target } = conversation;
      const least = best?.shared ?? most + 1;
      if (least > target.length || !conversation.isSame(target[least - 1], list[least - 1])) continue;
      const shared = conversation.sharedWith(list);
      if (shared >= least && isRecognised(target, list, shared)) best = { conversation, shared };
    }
    if (best === undefined) return undefined;
    const { conversation } = best;
    return list.includes(conversation.target.at(-1), best.shared) ? { conversation } : best;
  }

  /** The latest of whose newest messages some are left that are no system's. */
  #thatIsLeft(list, alive) {
    const members = new Set(list.filter(isTurn));
    const isLeft = ({ target }) => target.slice(-NEW_MESSAGES).some((message) => members.has(message));
    const conversation = alive.findLast(isLeft);
    return conversation && { conversation };
  }

  /** The latest of which `list` holds copies: of its newest, of its beginning as far as an answer, or of what a model or tool said. */
  #thatIsCopied(list, alive) {
    const isBegunBy = ({ target }) => {
      const at = target.findIndex(isAnswer);
      return at >= 0 && target.slice(0, at + 1).every((message, i) => isCopied(message, list[i]));
    };
    const newest = new Newest(list);
    const isLeftOf = ({ target }) => isTelling(target.at(-1)) && newest.hold(target, target.length - 1);
    // The host may have changed the newest ones: then others tell, if nobody else can have written them.
    const isHeldBy = ({ target }) => {
      for (let i = Math.max(0, target.length - NEWEST); i < target.length; i += 1)
        if (isSaid(target[i]) && newest.hold(target, i)) return true;
      return false;
    };
    const left = alive.findLast(isLeftOf);
    const begun = left === undefined ? alive.findLast(isBegunBy) : undefined;
    const conversation = left ?? begun ?? alive.findLast(isHeldBy);
    if (conversation === undefined) return undefined;
    const { target } = conversation;
    conversation.isCloned = true;
    const shared = conversation.sharedWith(list);
    return begun === undefined || shared === target.length ? { conversation } : { conversation, shared };
  }
}

/** The newest messages of a list, among which copies are found by what they have in common at a glance. */
class Newest {
  #list;
  #places = new Map();

  constructor(list) {
    this.#list = list;
    for (let at = Math.max(0, list.length - NEW_MESSAGES); at < list.length; at += 1) {
      const key = glanceAt(list[at]);
      const places = this.#places.get(key);
      if (places === undefined) this.#places.set(key, [at]);
      else places.push(at);
    }
  }

  /** True if they have a copy of the message at `index` of `target`, behind one of that before or a compaction's summary. */
  hold(target, index) {
    const [before, known] = [target[index - 1], target[index]];
    const isBehind = (message) =>
      before === undefined || message?.role === "compactionSummary" || isCopied(before, message);
    const places = this.#places.get(glanceAt(known)) ?? [];
    return places.some((at) => isCopied(known, this.#list[at]) && isBehind(this.#list[at - 1]));
  }
}

/** A value that copies share, and others seldom. */
function glanceAt(message) {
  const timestamp = message?.timestamp;
  return typeof timestamp === "number" ? timestamp : (message?.toolCallId ?? message?.role);
}

/** True if `list` shares a message itself, or a copy of an answer: two users may begin with the same words. */
function isRecognised(target, list, shared) {
  return target
    .slice(0, shared)
    .some((message, at) => isTurn(message) && (message === list[at] || isAnswer(message)));
}

/** True if it says whose conversation a list is: agents may share a system message. */
function isTurn(message) {
  return typeof message === "object" && message !== null && message.role !== "system";
}

/** True if no other conversation has an equal one. */
function isTelling(message) {
  return message?.timestamp !== undefined || message?.toolCallId !== undefined;
}

/** True if a model or a tool said it. */
function isSaid(message) {
  return isAnswer(message) || message?.toolCallId !== undefined;
}

function isAnswer(message) {
  return message?.role === "assistant";
}

/** True if a message is a copy of another but for what was reported of it: that may come late. */
function isCopied(known, message) {
  if (isCopy(known, message)) return true;
  const unreported = (answer) => ({ ...answer, usage: undefined });
  return isAnswer(known) && isAnswer(message) && isCopy(unreported(known), unreported(message));
}

/** True if a model has answered by then, though a compaction may have taken the answer away. */
function followsAnswer(message) {
  return isAnswer(message) || message?.role === "compactionSummary";
}

module.exports = { Conversations };
