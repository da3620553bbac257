// Usage reports in a transcript: finds the newest valid one, and removes them from answers that go into a new conversation.
"use strict";

const { UNSENT_STOP_REASONS } = require("../contract.js");

/** Splits messages behind the newest answer whose report covers the messages before it. Without one the first part is empty. */
function partedByReport(messages) {
  let reported = 0;
  let newest = Number.NEGATIVE_INFINITY;
  for (const [index, { role, usage, stopReason, timestamp }] of messages.entries()) {
    // An answer that is older than a message before it answered another list.
    const isOfThese = !(timestamp < newest);
    newest = Math.max(newest, timestamp ?? newest);
    const isAnswer = role === "assistant" && !UNSENT_STOP_REASONS.has(stopReason);
    if (isAnswer && isOfThese && usage?.totalTokens > 0) reported = index + 1;
  }
  return [messages.slice(0, reported), messages.slice(reported)];
}

/** Sets the reported prompt of an answer to 0: in a new conversation it would mislead the count. */
function withoutReport(message) {
  const { usage } = message;
  if (typeof usage !== "object" || usage === null) return message;
  return { ...message, usage: { ...usage, input: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } };
}

module.exports = { partedByReport, withoutReport };
