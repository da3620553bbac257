// The core's view of a conversation for a rolling memory: its rounds, where it can be cut, the prompt for the
// summariser, and the pairs in the answer. This file reads the host's messages and hands over what is asked for.
"use strict";

const { withCode } = require("../native/database-error.js");
const { native } = require("../native/native.js");
const { UNSENT_STOP_REASONS } = require("../contract.js");
const { MAX_TOKENS } = require("./summarizer.js");
const { plainText } = require("./text.js");

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
  const { start, rounds, spoken } = ask("splitRounds", [messages.map(heard), keep]);
  return {
    tail: messages.slice(start),
    plain: spoken.map((index) => messages[index]),
    rounds: rounds.map(({ question, answer }) => roundOf(messages[question], messages[answer])),
  };
}

/** A message as far as rounds go by it (src/sessions/rounds.rs). */
function heard(message) {
  const { role, content, stopReason, toolCallId = message.tool_call_id } = message;
  return {
    role: ROLES[role] ?? String(role),
    speaks: plainText(content).trim() !== "",
    calls: callIdsOf(message),
    ...(toolCallId !== undefined && { callId: String(toolCallId) }),
    hasFailed: UNSENT_STOP_REASONS.has(stopReason),
  };
}

/** Ids of the calls of pi's messages and of the provider-neutral ones. */
function callIdsOf({ content, toolCalls, tool_calls: others }) {
  const blocks = Array.isArray(content) ? content.filter((block) => block?.type === "toolCall") : [];
  const calls = [toolCalls, others].filter(Array.isArray).flat();
  return [...blocks, ...calls].map((call) => String(call?.id ?? ""));
}

function roundOf(question, answer) {
  if (ROLES[question.role] === "summary") return { q: SUMMARY_QUESTION, a: String(question.summary ?? "") };
  return { q: plainText(question.content), a: plainText(answer?.content) };
}

/** Asks for at most `maxPairs` pairs in a prompt of at most `maxTokens` tokens. */
function pairsPrompt(rounds, maxPairs, maxTokens) {
  const request = [rounds.map(crossing), maxPairs, maxTokens, MAX_TOKENS];
  return withCode(native().pairsPrompt(JSON.stringify(request)));
}

/** The pairs in a summariser's answer; `isCut` tells that it ended in the middle. */
function readPairs(answer) {
  return JSON.parse(native().readPairs(answer.slice(0, TEXT_UNITS)));
}

/** Rounds or pairs with their texts clipped, from the longest form to the shortest. */
function clippedPairs(pairs) {
  return ask("clippedPairs", pairs.map(crossing));
}

/** `history` followed by what is new in `pairs`; the newest `max` of them. */
function mergePairs(history, pairs, max) {
  return ask("mergePairs", [history, pairs, max]);
}

function crossing({ q, a }) {
  return { q: q.slice(0, TEXT_UNITS), a: a.slice(0, TEXT_UNITS) };
}

function ask(name, request) {
  return JSON.parse(native()[name](JSON.stringify(request)));
}

module.exports = { clippedPairs, mergePairs, pairsPrompt, readPairs, splitRounds };
