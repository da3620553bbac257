// Judges a call of the closed loop: an estimate that is off, a request over the window that was not reported,
// bytes of the last request that changed although the schedule waits, messages given up with room left.

import { isSent } from "./sizes.mjs";

/** Share of the window above which the layers drop messages. */
const CONTEXT_RATIO = 0.75;
/** Tokens below which nothing else does. */
const LEAST_CONTEXT = 25_000;

/** Most that an estimate may be off, as a share, once there were reports to learn from. */
export const MOST_ERROR = 0.005;
/** A report may be of so many times the tokens and be believed. */
const MOST_EXCESS = 3;
/** From the third call on the provider's own reports have taught enough; calls that fail or are refused report nothing. */
const CALLS_TO_TEACH = 2;

/** Judges the calls of one conversation, one after the other. */
export class Judge {
  #loop;
  #schedule;
  #window;
  /** The model that told last, and how much more than there was. */
  #told;
  #isChanged = true;
  /** Calls the provider was to report on since the list was changed other than by growing. */
  #calls = 0;
  /** What the schedule let go with reason: past the threshold, or past the least context where that pays. */
  #letGo = new Set();

  constructor(loop) {
    this.#loop = loop;
  }

  /** To be called when the host changed what was there; `isNew` where it made a new list, as a compaction does. */
  hostChanged({ isNew = true } = {}) {
    this.#isChanged = true;
    this.#calls = 0;
    if (isNew) this.#letGo.clear();
  }

  /**
   * What is to be said of a call: `error` of the estimate as a share, `isTaught` where it counts, and how many messages
   * are `changed` and `lost` that should not be. `whole` is what all messages count, `known` the same as a hook may know. `mostError` is how far the estimate may be off at this call, as a share.
   */
  look(record, mostError = MOST_ERROR) {
    const { provider } = this.#loop;
    const { prompt, estimate, model, given, schedule } = record;
    const window = provider.contextWindow;
    if (this.#window !== window) this.#isChanged = true;
    const whole = provider.promptOf(given, model);
    const known = Math.max(whole, this.#wholeAsKnown(given));
    const isOver = prompt > window;
    const verdict = {
      error: (estimate - prompt) / prompt,
      isTaught: this.#calls >= CALLS_TO_TEACH,
      whole,
      known,
      isOver,
      isUnreported: isOver && !record.saysOverflow,
      changed: this.#changed(record),
      lost: this.#lost(record, (1 + mostError) * known),
    };
    if (!record.isLost && !record.isRefused) this.#calls += 1;
    this.#schedule = schedule;
    this.#window = window;
    const excess = record.isRefused ? 1 : toldOf(record) / prompt;
    if (excess >= 1 && excess <= MOST_EXCESS) this.#told = { model, excess };
    this.#isChanged = false;
    return verdict;
  }

  /** The same as the last model counts it that told: of another one a hook knows nothing until then. */
  #wholeAsKnown(given) {
    if (this.#told === undefined) return 0;
    const { model, excess } = this.#told;
    return excess * this.#loop.provider.promptOf(given, model);
  }

  /** The tokens above which messages may go, and above which they may if that pays. */
  #marks(schedule) {
    const window = this.#loop.provider.contextWindow;
    const high = CONTEXT_RATIO * window;
    return { high, low: schedule === "everyCall" ? high : Math.min(LEAST_CONTEXT, window / 3) };
  }

  #changed({ before, unchanged, schedule, reason }) {
    const mayMove =
      this.#isChanged ||
      schedule !== this.#schedule ||
      schedule === "everyCall" ||
      reason?.startsWith("moved");
    return mayMove ? 0 : before.length - unchanged;
  }

  #lost({ given, sent, events, schedule, reason, model }, tokens) {
    if (!events.some(({ type }) => type === "messagesDropped" || type === "shrunk")) return 0;
    // After a change of the list all is decided anew, the moves of earlier calls among it.
    const hasMoved = this.#isChanged || /cold|carrying has/.test(reason);
    const { high, low } = this.#marks(schedule);
    const mayDrop = tokens > (hasMoved ? low : high);
    let lost = 0;
    for (const message of droppedOf(given, sent)) {
      if (this.#loop.provider.tokensOf(message, model) === 0) continue;
      if (mayDrop) this.#letGo.add(nameOf(message));
      else if (!this.#letGo.has(nameOf(message))) lost += 1;
    }
    return lost;
  }
}

/** True if the provider reported what it counted. */
export function isTold(record) {
  return toldOf(record) === record.prompt;
}

function toldOf({ usage }) {
  return usage === undefined ? 0 : usage.input + usage.cacheRead + usage.cacheWrite;
}

/** Messages of `given` that are not in `sent`, but for results whose call is not there: those no provider takes. */
export function droppedOf(given, sent) {
  const calls = new Set();
  const dropped = [];
  let at = 0;
  for (const message of given) {
    if (message.role === "assistant" && isSent(message)) addCalls(message, calls);
    if (at < sent.length && isFrom(sent[at], message)) at += 1;
    else if (message.role !== "toolResult" || calls.has(message.toolCallId)) dropped.push(message);
  }
  return dropped;
}

function addCalls({ content }, calls) {
  if (Array.isArray(content))
    for (const block of content) if (block?.type === "toolCall") calls.add(block.id);
}

/** True if `sent` is `message`, edited or not: what no edit changes tells. */
function isFrom(sent, message) {
  if (sent === message) return true;
  return (
    sent.role === message.role &&
    sent.timestamp === message.timestamp &&
    sent.toolCallId === message.toolCallId &&
    sent.usage === message.usage
  );
}

/** What tells a message, edited or not. */
export function nameOf({ role, timestamp, toolCallId }) {
  return `${role} ${timestamp} ${toolCallId}`;
}
