// The core's view of a conversation for a rolling memory: its rounds, where it can be cut, and the prompt for the
// summariser. This file reads the host's messages and hands over what is asked for.
"use strict";

const { withCode } = require("../native/database-error.js");
const { native } = require("../native/native.js");
const { UNSENT_STOP_REASONS } = require("../contract.js");
const { MAX_TOKENS } = require("./summarizer.js");
const { callsIn, plainText } = require("./text.js");

/** Units of a text that cross to the core: more of one would be clipped there. */
const TEXT_UNITS = 64 * 1024;

/** Summaries that pi itself puts into a transcript count as answers to this. */
const SUMMARY_QUESTION = "(earlier conversation)";
const ROLES = { toolResult: "tool", compactionSummary: "summary", branchSummary: "summary" };

/**
 * The newest `keep` messages with their calls, those of them that stand without tool traffic, and the rounds before them
 * as `{ q, a }`; an unanswered question has an empty `a`.
 */
function splitRounds(messages, keep) {
  const { start, rounds, spoken } = JSON.parse(
    native().splitRounds(JSON.stringify([messages.map(heard), keep])),
  );
  return {
    tail: messages.slice(start),
    plain: spoken.map((index) => messages[index]),
    rounds: rounds.map(({ question, answer }) => roundOf(messages[question], messages[answer])),
  };
}

/** A message of a session as far as rounds go by it: a word stands for its words. */
function heard(message) {
  const { role, content, stopReason, toolCallId = message.tool_call_id } = message;
  return {
    role: ROLES[role] ?? String(role),
    content: plainText(content).trim() === "" ? "" : "said",
    toolCalls: callsIn(message).map((call) => ({ id: String(call?.id ?? "") })),
    ...(toolCallId !== undefined && { toolCallId: String(toolCallId) }),
    isError: UNSENT_STOP_REASONS.has(stopReason),
  };
}

function roundOf(question, answer) {
  if (ROLES[question.role] === "summary") return { q: SUMMARY_QUESTION, a: String(question.summary ?? "") };
  return { q: plainText(question.content), a: plainText(answer?.content) };
}

/** Asks for at most `maxPairs` pairs in a prompt of at most `maxTokens` tokens. */
function pairsPrompt(rounds, maxPairs, maxTokens) {
  const crossing = rounds.map(({ q, a }) => ({ q: q.slice(0, TEXT_UNITS), a: a.slice(0, TEXT_UNITS) }));
  return withCode(native().pairsPrompt(JSON.stringify([crossing, maxPairs, maxTokens, MAX_TOKENS])));
}

module.exports = { pairsPrompt, splitRounds };
