// The providers' reports in a transcript: where the newest stands that is of the messages before it, and how an answer goes
// along into a new conversation without one.
"use strict";

const { UNSENT_STOP_REASONS } = require("../contract.js");

/** The messages up to the newest answer whose report is of those before it, none without one; and the messages since. */
function partedByReport(messages) {
  let reported = 0;
  let newest = Number.NEGATIVE_INFINITY;
  for (const [index, { role, usage, stopReason, timestamp }] of messages.entries()) {
    // An answer older than something before it was given to other messages.
    const isOfThese = !(timestamp < newest);
    newest = Math.max(newest, timestamp ?? newest);
    const isAnswer = role === "assistant" && !UNSENT_STOP_REASONS.has(stopReason);
    if (isAnswer && isOfThese && usage?.totalTokens > 0) reported = index + 1;
  }
  return [messages.slice(0, reported), messages.slice(reported)];
}

/** An answer in a new conversation: the prompt it was reported with is not this one's, and would mislead whoever counts on it. */
function withoutReport(message) {
  const { usage } = message;
  if (typeof usage !== "object" || usage === null) return message;
  return { ...message, usage: { ...usage, input: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } };
}

module.exports = { partedByReport, withoutReport };
