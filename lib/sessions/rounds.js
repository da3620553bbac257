// Splits a conversation into rounds, a question with its final answer, and the newest messages with their calls.
"use strict";

const { UNSENT_STOP_REASONS } = require("../contract.js");
const { groupStarts, withCalls } = require("../shapes/groups.js");
const { callsIn, isResult, plainText } = require("../shapes/text.js");

/** The question of a round that holds one of pi's summaries. */
const SUMMARY_QUESTION = "(earlier conversation)";
const isSummary = ({ role }) => role === "compactionSummary" || role === "branchSummary";

/**
 * Returns the newest `keep` messages with their calls (`tail`), those of them without tool traffic (`plain`), and the rounds
 * before them as `{ q, a }`. An unanswered question has an empty `a`.
 */
function splitRounds(messages, keep) {
  const starts = groupStarts(messages);
  let start = withCalls(starts, Math.max(0, messages.length - keep));
  // A tail cannot begin with a result.
  while (start < messages.length && isResult(messages[start]) && starts[start] === start) start += 1;
  const tail = messages.slice(start);
  const standsAlone = (message) =>
    message.role === "user" || (message.role === "assistant" && callsIn(message).length === 0);
  const rounds = roundsIn(messages).filter(({ at }) => at < start);
  return { tail, plain: tail.filter(standsAlone), rounds: rounds.map(({ q, a }) => ({ q, a })) };
}

/** A remark beside a tool call is the answer until a final one follows. */
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
