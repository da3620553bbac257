// `pi-strata/guard`: a cap on tool results and a budget, without the hook. Works on messages of any shape in lib/shapes.
"use strict";

const { cutMarker: CUT_MARKER, guardOptions } = require("../contract.js");
const { areSame, sumOf } = require("../helpers.js");
const { Reporter } = require("../hook/events.js");
const { getContextWindow, optionTable, reserveIn, windowNow } = require("../hook/options.js");
const { withText } = require("../hook/plan.js");
const { joinedText } = require("../hook/snapshot.js");
const rules = require("../options.js");
const { SOURCE } = require("../shapes/parts.js");
const { Shapes } = require("../shapes/index.js");
const { payloadOf } = require("../shapes/shapes.js");
const { groupStarts, wholeChars, withCalls } = require("../shapes/text.js");
const { countEach, countTokens } = require("../tools/count.js");

const { checkMessages, checkOptions, checkValue, oneOf, orFunction, positive } = rules;
const CAP_OPTIONS = optionTable(guardOptions);
const DEFAULT_TOOL_RESULT_MAX_CHARS = guardOptions.maxToolResultChars.default;
const TRUNCATE_HEAD_CHARS = guardOptions.truncateHeadChars.default;
const TRUNCATE_TAIL_CHARS = guardOptions.truncateTailChars.default;
/** UTF-16 units of a token in the estimate by length. */
const CHARS_PER_TOKEN = 3;
/** Longest note between the two ends: its words, and the digits of V8's longest string. */
const NOTE_CHARS = CUT_MARKER.join("536870888").length;

/** Longest tool name in a warning, in UTF-16 units. Providers accept no longer ones, so the model invented it. */
const MAX_NAME_UNITS = 128;

/** Roles that begin a round. */
const ROUND_OPENERS = new Set(["user", "branchSummary", "compactionSummary"]);

const counting = oneOf("exact", "chars");
const windowOrNull = {
  allowed: `${positive.allowed}, or null`,
  accepts: (value) => value === null || positive.accepts(value),
};
const GUARD_OPTIONS = {
  ...CAP_OPTIONS,
  contextWindow: [undefined, orFunction(positive)],
  contextWindowOverride: [null, windowOrNull],
  reserveTokens: [undefined, rules.amount],
  enabled: [true, rules.flag],
  counting: ["exact", counting],
  onEvent: [undefined, rules.handler],
};

function truncateToolResult(text, options) {
  checkValue("truncateToolResult: text", text, rules.text);
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
  return guard.fitted(read, countEach(read.capped, guard.counting));
}

/** Returns the guard as a hook, which counts off the main thread and resolves with its input on any failure. */
function createContextGuard(options) {
  const guard = new Guard("createContextGuard", options);
  return async (messages, signal) => {
    if (!guard.isEnabled || signal?.aborted) return messages;
    try {
      checkMessages("createContextGuard", messages);
      const read = guard.read(messages);
      const sizes = await countEach(read.capped, guard.counting, true);
      return signal?.aborted ? messages : guard.fitted(read, sizes).messages;
    } catch (error) {
      // This sentence names the shape, and holds no text of the conversation.
      if (error?.shape === undefined) guard.reporter.failed(error);
      else guard.reporter.emit({ type: "failed", code: error.code, message: error.message });
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
      const { allowed } = orFunction(positive);
      throw new TypeError(`${owner}: option contextWindow is missing; it must be ${allowed}`);
    }
    this.isEnabled = options.enabled;
    this.counting = options.counting;
    const tell = (event) =>
      options.onEvent({ level: "warn", ...event, message: `Context guard: ${event.message}` });
    this.reporter = new Reporter(options.onEvent && tell);
  }

  /** Returns the messages, the same list in pi's shape, and that list with capped results. */
  read(messages) {
    const list = this.#shapes.read(messages);
    return { messages, list, capped: list.map((message) => this.#capped(message)) };
  }

  #capped(message) {
    if (message?.role !== "toolResult") return message;
    const text = textOf(message);
    const cut = cutToEnds(text, this.#options);
    if (cut === text) return message;
    if (message.payload !== undefined) return { ...message, ...payloadOf(cut, message.isError) };
    return { ...message, content: withText(message.content, cut) };
  }

  /** Returns the outcome, given the sizes of the capped messages. */
  fitted({ messages, list, capped }, sizes) {
    const { dropped, droppedTokens } = this.#choose(capped, sizes);
    const kept = capped.filter((_, i) => !dropped.has(i));
    const written = areSame(kept, list) ? messages : this.#shapes.write(kept, messages);
    const isCut = (message, i) => !dropped.has(i) && message !== capped[i];
    const truncated = list.flatMap((message, i) => (isCut(message, i) ? [cutOf(message, capped[i])] : []));
    const outcome = {
      messages: written,
      dropped: messages.length - written.length,
      droppedTokens,
      truncated,
    };
    this.#report(outcome);
    return outcome;
  }

  /** Decides which messages go: the oldest rounds until the rest fits, then the oldest groups of the newest round. */
  #choose(list, sizes) {
    const dropped = new Set();
    const total = sumOf(sizes);
    const budget = this.#budget();
    let left = total;
    if (total <= budget) return { dropped, droppedTokens: 0 };
    const groups = groupsOf(list);
    const opensRound = ([first]) => ROUND_OPENERS.has(list[first]?.role);
    const newestRound = Math.max(0, groups.findLastIndex(opensRound));
    const canGo = (i) => list[i]?.role !== "system";
    // The newest sent message and all after it stay.
    const newest = groups.findLastIndex((group) => group.some((i) => canGo(i) && sizes[i] > 0));
    for (const [at, group] of groups.slice(0, Math.max(0, newest)).entries()) {
      if (left <= budget && (at > newestRound || opensRound(group))) break;
      if (at === newestRound) continue;
      for (const i of group.filter(canGo)) {
        dropped.add(i);
        left -= sizes[i];
      }
    }
    return { dropped, droppedTokens: total - left };
  }

  #budget() {
    const window = windowNow(this.#window, this.reporter.failureOf("contextWindow"));
    return window - reserveIn(window, this.#options.reserveTokens);
  }

  #report({ truncated, dropped, droppedTokens }) {
    for (const cut of truncated) {
      const { toolName, charsBefore, charsAfter } = cut;
      const message = `truncated tool result for ${rules.showUpTo(MAX_NAME_UNITS, toolName)} (${charsBefore} → ${charsAfter} chars)`;
      this.reporter.emit({ type: "toolResultTruncated", message, ...cut });
    }
    if (dropped === 0) return;
    const message = `dropped ${dropped} old messages (estimated ${droppedTokens} tokens)`;
    this.reporter.emit({ type: "messagesDropped", message, dropped, droppedTokens });
  }
}

/** Groups positions that belong together: calls with results, items of one answer, stand-ins of one message. */
function groupsOf(list) {
  const starts = groupStarts(list).map((start, i) =>
    isJoined(list[i - 1], list[i]) ? Math.min(start, i - 1) : start,
  );
  const groups = [];
  for (let end = list.length; end > 0; end = groups.at(-1)[0]) {
    const start = withCalls(starts, end - 1, end);
    groups.push(Array.from({ length: end - start }, (_, i) => start + i));
  }
  return groups.reverse();
}

/** True if a message needs the one before it. */
function isJoined(before, { role, [SOURCE]: source }) {
  if (before === undefined) return false;
  const isOfAnswer = role === "assistant" && before.leadsNext === true;
  return role === "toolResult" || isOfAnswer || (source !== undefined && source === before[SOURCE]);
}

const textOf = ({ payload, content }) => payload ?? joinedText(content);

function cutOf(before, after) {
  const toolName = typeof before.toolName === "string" ? before.toolName : "unknown";
  return { toolName, charsBefore: textOf(before).length, charsAfter: textOf(after).length };
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
  return sumOf(countEach(new Shapes().read(messages), by));
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
