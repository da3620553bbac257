// A conversation as rounds: what the user asked and what was answered in the end; and where it can be cut, so that the newest
// messages stay with their calls.
"use strict";

const { UNSENT_STOP_REASONS } = require("../contract.js");
const { groupStarts, withCalls } = require("../shapes/groups.js");
const { callsIn, isResult, plainText } = require("../shapes/text.js");

/** Summaries that pi puts into a transcript count as answers to this. */
const SUMMARY_QUESTION = "(earlier conversation)";
const isSummary = ({ role }) => role === "compactionSummary" || role === "branchSummary";

/**
 * The newest `keep` messages with their calls, those of them that stand without tool traffic, and the rounds before them
 * as `{ q, a }`; an unanswered question has an empty `a`.
 */
function splitRounds(messages, keep) {
  const starts = groupStarts(messages);
  let start = withCalls(starts, Math.max(0, messages.length - keep));
  // A result without its call is no beginning.
  while (start < messages.length && isResult(messages[start]) && starts[start] === start) start += 1;
  const tail = messages.slice(start);
  const standsAlone = (message) =>
    message.role === "user" || (message.role === "assistant" && callsIn(message).length === 0);
  const rounds = roundsIn(messages).filter(({ at }) => at < start);
  return { tail, plain: tail.filter(standsAlone), rounds: rounds.map(({ q, a }) => ({ q, a })) };
}

/** A remark beside a tool call stands for the answer only as long as there is no real one. */
function roundsIn(messages) {
  const rounds = [];
  let hasFinal = false;
  for (const [at, message] of messages.entries()) {
    if (isSummary(message)) {
      rounds.push({ at, q: SUMMARY_QUESTION, a: String(message.summary ?? "") });
      hasFinal = true;
    } else if (message.role === "user") {
      rounds.push({ at, q: plainText(message.content), a: "" });
      hasFinal = false;
    } else if (message.role === "assistant" && !UNSENT_STOP_REASONS.has(message.stopReason)) {
      const words = plainText(message.content);
      const isFinal = callsIn(message).length === 0;
      if (words.trim() === "" || rounds.length === 0 || (hasFinal && !isFinal)) continue;
      rounds.at(-1).a = words;
      hasFinal = isFinal;
    }
  }
  return rounds;
}

module.exports = { splitRounds };
