// Splits a transcript into rounds: what the user asked and what was answered in the end. Tool traffic is left out.
// Also finds where a transcript can be cut so that no tool result loses its call.
"use strict";

const { UNSENT_STOP_REASONS } = require("../wire.js");
const { plainText } = require("./text.js");

/** Summaries that pi itself puts into a transcript count as answers to this. */
const SUMMARY_QUESTION = "(earlier conversation)";
const SUMMARY_ROLES = new Set(["compactionSummary", "branchSummary"]);

/** Rounds in order, each with the index of its question: `{ index, q, a }`. An unanswered question has an empty `a`. */
function roundsOf(messages) {
  const rounds = [];
  let hasFinal = false;
  for (const [index, message] of messages.entries()) {
    if (message?.role === "user") {
      rounds.push({ index, q: plainText(message.content), a: "" });
      hasFinal = false;
    } else if (SUMMARY_ROLES.has(message?.role)) {
      rounds.push({ index, q: SUMMARY_QUESTION, a: String(message.summary ?? "") });
      hasFinal = true;
    } else if (
      message?.role === "assistant" &&
      rounds.length > 0 &&
      !UNSENT_STOP_REASONS.has(message.stopReason)
    ) {
      const text = plainText(message.content);
      const isFinal = !hasCalls(message);
      // A remark beside a tool call stands for the answer only as long as there is no real one.
      if (text.trim() !== "" && (isFinal || !hasFinal)) {
        rounds.at(-1).a = text;
        hasFinal = isFinal;
      }
    }
  }
  return rounds;
}

function hasCalls(message) {
  return Array.isArray(message?.content) && message.content.some((block) => block?.type === "toolCall");
}

/** Start of the newest `count` messages, moved back so that no tool result is parted from its call. */
function tailStart(messages, count) {
  let start = Math.max(0, messages.length - count);
  while (start > 0 && start < messages.length && isResult(messages[start])) start -= 1;
  return start;
}

/** pi's tool results, and the provider-neutral ones. */
function isResult(message) {
  return message?.role === "toolResult" || message?.role === "tool";
}

/** Questions and final answers alone: what can stand without any tool traffic. */
function withoutToolTraffic(messages) {
  return messages.filter(
    (message) => message?.role === "user" || (message?.role === "assistant" && !hasCalls(message)),
  );
}

module.exports = { roundsOf, tailStart, withoutToolTraffic };
