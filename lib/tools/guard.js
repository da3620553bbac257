// The context guard, for hosts that want a cap on tool results and a budget, no more: as a function and as a hook.
// It runs on the hook's own machinery; only the plan, the options and what the host is told are its own.
"use strict";

const { guardOptions, hookOptions } = require("../contract.js");
const { Reporter } = require("../hook/events.js");
const { Shapes } = require("./shapes.js");
const { Call, Hook } = require("../hook/hook.js");
const { native } = require("../native/native.js");
const { optionTable } = require("../hook/options.js");
const { amount, checkOptions, flag, handler, oneOf, orFunction, positive } = require("../options.js");
const { joinedText } = require("../hook/snapshot.js");

const CAP_OPTIONS = optionTable(guardOptions);
const GUARD_OPTIONS = {
  ...CAP_OPTIONS,
  contextWindow: [undefined, orFunction(positive)],
  contextWindowOverride: [null, { allowed: `${positive.allowed}, or null`, accepts: isWindowOrNull }],
  reserveTokens: [hookOptions.reserveTokens.default, amount],
  enabled: [true, flag],
  counting: ["exact", oneOf("exact", "chars")],
  onEvent: [undefined, handler],
};

function isWindowOrNull(value) {
  return value === null || positive.accepts(value);
}

function truncateToolResult(text, options) {
  if (typeof text !== "string") throw new TypeError("truncateToolResult: text must be a string");
  const given = typeof options === "number" ? { maxToolResultChars: options } : options;
  const cap = checkOptions("truncateToolResult", given, CAP_OPTIONS);
  if (text.length <= cap.maxToolResultChars) return text;
  const { maxToolResultChars, truncateHeadChars, truncateTailChars } = cap;
  return native().cutToEnds(text, maxToolResultChars, truncateHeadChars, truncateTailChars) ?? text;
}

async function guardContext(messages, options) {
  const checked = checkGuardOptions("guardContext", options);
  if (!checked.enabled) return { messages, dropped: 0, droppedTokens: 0, truncated: [] };
  const shapes = new Shapes();
  const list = shapes.read(messages);
  const { edited, ...outcome } = await new Hook(new Guard(checked)).run(list, new Call());
  return { messages: edited === list ? messages : shapes.write(edited), ...summaryOf(outcome) };
}

function createContextGuard(options) {
  const checked = checkGuardOptions("createContextGuard", options);
  if (!checked.enabled) return async (messages) => messages;
  const guard = new Guard(checked);
  const hook = new Hook(guard);
  const shapes = new Shapes();
  return async (messages, signal) => {
    try {
      const list = shapes.read(messages);
      const edited = await hook.transform(list, signal);
      return edited === list ? messages : shapes.write(edited);
    } catch (error) {
      guard.reporter.failed(error);
      return messages;
    }
  };
}

function checkGuardOptions(owner, given) {
  const options = checkOptions(owner, given, GUARD_OPTIONS);
  const contextWindow = options.contextWindowOverride ?? options.contextWindow;
  if (contextWindow === undefined) {
    throw new TypeError(
      `${owner}: option contextWindow is missing; it must be ${orFunction(positive).allowed}`,
    );
  }
  return { ...options, contextWindow };
}

/** The policy of the guard's hook. */
class Guard {
  constructor(options) {
    this.options = options;
    this.reporter = new Reporter(options.onEvent && ((event) => options.onEvent(asWarning(event))));
  }

  createConversation() {
    const { maxToolResultChars: maxLen, truncateHeadChars: head, truncateTailChars: tail } = this.options;
    const { reserveTokens, counting } = this.options;
    const shortening = { ends: { maxLen, head, tail } };
    const countsChars = counting === "chars";
    const { Conversation } = native();
    return new Conversation(JSON.stringify({ reserveTokens, overflow: "keep", shortening, countsChars }));
  }

  report(outcome) {
    if (!this.reporter.isListening) return;
    const { truncated, dropped, droppedTokens } = summaryOf(outcome);
    for (const cut of truncated) {
      const { toolName, charsBefore, charsAfter } = cut;
      const text = `truncated tool result for "${toolName}" (${charsBefore} → ${charsAfter} chars)`;
      this.reporter.emit({ type: "toolResultTruncated", message: text, ...cut });
    }
    if (dropped > 0) {
      const text = `dropped ${dropped} old messages (estimated ${droppedTokens} tokens)`;
      this.reporter.emit({ type: "messagesDropped", message: text, dropped, droppedTokens });
    }
  }
}

/** The guard logs lines: every event is one, ready to be written. */
function asWarning(event) {
  return { level: "warn", ...event, message: `Context guard: ${event.message}` };
}

function summaryOf({ list, plan, charsAfter }) {
  const drops = plan.edits.filter((edit) => edit.action === "drop");
  const cuts = plan.edits.filter((edit) => edit.action === "summarize");
  return {
    dropped: drops.reduce((sum, edit) => sum + edit.count, 0),
    droppedTokens: drops.reduce((sum, edit) => sum + edit.tokensSaved, 0),
    truncated: cuts.map((edit) => ({
      toolName: nameOf(list[edit.index]),
      charsBefore: joinedText(list[edit.index].content).length,
      charsAfter: charsAfter(edit),
    })),
  };
}

function nameOf({ toolName }) {
  return typeof toolName === "string" ? toolName : "unknown";
}

module.exports = { truncateToolResult, guardContext, createContextGuard };
