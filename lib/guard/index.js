// `pi-strata/guard`: a cap on tool results and a budget, for hosts that want no more. Works on messages of any shape in lib/shapes.
"use strict";

const { cutMarker: CUT_MARKER, guardOptions, hookOptions } = require("../contract.js");
const { Reporter } = require("../hook/events.js");
const { answerOf, getContextWindow, optionTable } = require("../hook/options.js");
const { withText } = require("../hook/plan.js");
const { joinedText } = require("../hook/snapshot.js");
const {
  amount,
  checkMessages,
  checkOptions,
  flag,
  handler,
  oneOf,
  orFunction,
  positive,
  show,
} = require("../options.js");
const { SOURCE, wholeChars } = require("../shapes/parts.js");
const { groupStarts } = require("../shapes/groups.js");
const { Shapes } = require("../shapes/index.js");
const { payloadOf } = require("../shapes/seed.js");
const { countEach, countTokens } = require("../tools/count.js");

const CAP_OPTIONS = optionTable(guardOptions);
const DEFAULT_TOOL_RESULT_MAX_CHARS = guardOptions.maxToolResultChars.default;
const TRUNCATE_HEAD_CHARS = guardOptions.truncateHeadChars.default;
const TRUNCATE_TAIL_CHARS = guardOptions.truncateTailChars.default;
/** UTF-16 units of a token in the estimate by length. */
const CHARS_PER_TOKEN = 3;
/** Longest note between the two ends: its words, and the digits of V8's longest string. */
const NOTE_CHARS = CUT_MARKER.join("536870888").length;
/** Largest default reserve, as a share of the window. */
const MOST_RESERVE = 1 / 4;

/** Roles that begin a round. The messages before them can go alone. */
const ROUND_OPENERS = new Set(["user", "branchSummary", "compactionSummary"]);

const counting = oneOf("exact", "chars");
const GUARD_OPTIONS = {
  ...CAP_OPTIONS,
  contextWindow: [undefined, orFunction(positive)],
  contextWindowOverride: [
    null,
    {
      allowed: `${positive.allowed}, or null`,
      accepts: (value) => value === null || positive.accepts(value),
    },
  ],
  reserveTokens: [undefined, amount],
  enabled: [true, flag],
  counting: ["exact", counting],
  onEvent: [undefined, handler],
};

function truncateToolResult(text, options) {
  if (typeof text !== "string")
    throw new TypeError(`truncateToolResult: text is ${show(text)}; it must be a text`);
  const given = typeof options === "number" ? { maxToolResultChars: options } : options;
  return cutToEnds(text, checkOptions("truncateToolResult", given, CAP_OPTIONS));
}

/** Cuts a text over the cap to head and tail around a note. Both shrink alike if they do not fit. */
function cutToEnds(text, { maxToolResultChars, truncateHeadChars, truncateTailChars }) {
  if (text.length <= maxToolResultChars) return text;
  const room = Math.max(0, maxToolResultChars - NOTE_CHARS);
  const share = Math.min(1, room / Math.max(1, truncateHeadChars + truncateTailChars));
  const ends = [truncateHeadChars, truncateTailChars].map((chars) => Math.floor(chars * share));
  const head = wholeChars(text, 0, ends[0]);
  const tail = wholeChars(text, text.length - ends[1], text.length);
  const omitted = text.length - head.length - tail.length;
  const cut = head + CUT_MARKER.join(omitted) + tail;
  return omitted > 0 && cut.length < text.length ? cut : text;
}

/** Guards at once. Throws for unreadable messages and options. */
function guardContext(messages, options) {
  const guard = new Guard("guardContext", options);
  checkMessages("guardContext", messages);
  if (!guard.isEnabled) return { messages, dropped: 0, droppedTokens: 0, truncated: [] };
  const read = guard.read(messages);
  return guard.fitted(read, countEach(read.counted, guard.counting));
}

/** Returns the guard as a hook, which counts off the main thread and resolves with its input on any failure. */
function createContextGuard(options) {
  const guard = new Guard("createContextGuard", options);
  return async (messages, signal) => {
    if (!guard.isEnabled || signal?.aborted) return messages;
    try {
      const read = guard.read(messages);
      const sizes = await countEach(read.counted, guard.counting, true);
      return signal?.aborted ? messages : guard.fitted(read, sizes).messages;
    } catch (error) {
      guard.reporter.failed(error);
      return messages;
    }
  };
}

class Guard {
  #options;
  #window;
  #shapes = new Shapes();

  constructor(owner, given) {
    const options = checkOptions(owner, given, GUARD_OPTIONS);
    this.#options = options;
    this.#window = options.contextWindowOverride ?? options.contextWindow;
    if (this.#window === undefined) {
      throw new TypeError(
        `${owner}: option contextWindow is missing; it must be ${orFunction(positive).allowed}`,
      );
    }
    this.isEnabled = options.enabled;
    this.counting = options.counting;
    const tell = (event) =>
      options.onEvent({ level: "warn", ...event, message: `Context guard: ${event.message}` });
    this.reporter = new Reporter(options.onEvent && tell);
  }

  /** Returns the list in pi's shape, uncut and with capped results, and the messages to count. */
  read(messages) {
    if (!Array.isArray(messages)) throw new InputError("messages must be an array");
    const list = this.#shapes.read(messages);
    const capped = list.map((message) => this.#capped(message));
    const cuts = list.filter((message, i) => message !== capped[i]);
    return { messages, list, capped, counted: [...capped, ...cuts] };
  }

  #capped(message) {
    if (message?.role !== "toolResult") return message;
    const text = message.payload ?? joinedText(message.content);
    const cut = cutToEnds(text, this.#options);
    if (cut === text) return message;
    if (message.payload !== undefined) return { ...message, ...payloadOf(cut, message.isError) };
    return { ...message, content: withText(message.content, cut) };
  }

  /** Returns the outcome, given the sizes of `read.counted`. */
  fitted({ messages, list, capped }, sizes) {
    const cutSizes = Array.from(sizes.slice(list.length));
    const sizeOf = (i) => (capped[i] === list[i] ? sizes[i] : cutSizes.shift());
    const before = list.map((_, i) => sizeOf(i));
    const isKept = this.#choose(capped, sizes);
    const isSame = (i) => isKept[i] && capped[i] === list[i];
    const kept = capped.filter((_, i) => isKept[i]);
    const written = list.every((_, i) => isSame(i)) ? messages : this.#shapes.write(kept, messages);
    const outcome = {
      messages: written,
      dropped: messages.length - written.length,
      droppedTokens: before.reduce((sum, size, i) => (isKept[i] ? sum : sum + size), 0),
      truncated: list.flatMap((message, i) => (isKept[i] && !isSame(i) ? [cutOf(message, capped[i])] : [])),
    };
    this.#report(outcome);
    return outcome;
  }

  /** Decides which messages stay. The oldest rounds go until the rest fits, then the oldest groups of the newest round. */
  #choose(list, sizes) {
    const groups = groupsOf(list);
    const opensRound = (group) => ROUND_OPENERS.has(list[group[0]]?.role);
    const newestRound = Math.max(0, groups.findLastIndex(opensRound));
    const isKept = list.map(() => true);
    const budget = this.#budget();
    let left = sizes.slice(0, list.length).reduce((sum, size) => sum + size, 0);
    if (left <= budget) return isKept;
    // Nothing behind the newest sent message goes.
    const newest = groups.findLastIndex((group) =>
      group.some((i) => list[i]?.role !== "system" && sizes[i] > 0),
    );
    for (const [at, group] of groups.slice(0, Math.max(0, newest)).entries()) {
      if (left <= budget && (at > newestRound || opensRound(group))) break;
      if (at === newestRound) continue;
      for (const i of group) {
        if (list[i]?.role === "system") continue;
        isKept[i] = false;
        left -= sizes[i];
      }
    }
    return isKept;
  }

  #budget() {
    const standsIn = getContextWindow();
    const failed = (cause) => this.reporter.windowUnknown(standsIn, cause);
    const asked =
      typeof this.#window === "function" ? answerOf(this.#window, [], positive, failed) : this.#window;
    const window = asked ?? standsIn;
    return (
      window -
      (this.#options.reserveTokens ?? Math.min(hookOptions.reserveTokens.default, window * MOST_RESERVE))
    );
  }

  #report({ truncated, dropped, droppedTokens }) {
    for (const cut of truncated) {
      const { toolName, charsBefore, charsAfter } = cut;
      const message = `truncated tool result for "${toolName}" (${charsBefore} → ${charsAfter} chars)`;
      this.reporter.emit({ type: "toolResultTruncated", message, ...cut });
    }
    if (dropped === 0) return;
    const message = `dropped ${dropped} old messages (estimated ${droppedTokens} tokens)`;
    this.reporter.emit({ type: "messagesDropped", message, dropped, droppedTokens });
  }
}

class InputError extends Error {
  code = "ERR_INVALID_INPUT";
}

/** Groups the positions of messages that go together: calls with results, reasoning with its item, stand-ins of one message. */
function groupsOf(list) {
  const starts = groupStarts(list);
  const groups = [];
  let group = [];
  let first = list.length;
  for (let i = list.length - 1; i >= 0; i -= 1) {
    group.push(i);
    first = Math.min(first, starts[i], isJoined(list, i) ? i - 1 : i);
    if (first < i) continue;
    groups.push(group.reverse());
    group = [];
  }
  return groups.reverse();
}

/** True if a message needs the one before it. */
function isJoined(list, i) {
  const [before, { role, [SOURCE]: source }] = [list[i - 1], list[i]];
  if (before === undefined) return false;
  return (
    role === "toolResult" || before.leadsNext === true || (source !== undefined && source === before[SOURCE])
  );
}

function cutOf(before, after) {
  const length = ({ payload, content }) => (payload ?? joinedText(content)).length;
  const toolName = typeof before.toolName === "string" ? before.toolName : "unknown";
  return { toolName, charsBefore: length(before), charsAfter: length(after) };
}

/** Counts the tokens of a text: by its length, three UTF-16 units each, or exactly. */
function estimateTokens(text, options) {
  if (typeof text !== "string") return estimateContextTokens([text].flat(), options);
  const by = checkOptions("estimateTokens", options, { counting: ["chars", counting] }).counting;
  return by === "exact" ? countTokens(text) : Math.ceil(text.length / CHARS_PER_TOKEN);
}

/** Counts the tokens of messages of any shape. */
function estimateContextTokens(messages, options) {
  const { counting: by } = checkOptions("estimateContextTokens", options, { counting: ["chars", counting] });
  checkMessages("estimateContextTokens", messages);
  return countEach(new Shapes().read(messages), by).reduce((sum, size) => sum + size, 0);
}

module.exports = {
  createContextGuard,
  estimateContextTokens,
  estimateTokens,
  getContextWindow,
  guardContext,
  truncateToolResult,
  DEFAULT_TOOL_RESULT_MAX_CHARS,
  TRUNCATE_HEAD_CHARS,
  TRUNCATE_TAIL_CHARS,
};
