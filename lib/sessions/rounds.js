// Reads a transcript: its rounds (a question with its final answer), its newest messages with their calls, and the newest usage
// report that is valid.
"use strict";

const { UNSENT_STOP_REASONS } = require("../contract.js");
const { callsIn, groupStarts, isResult, plainText, withCalls } = require("../shapes/text.js");
const { withoutThinking } = require("./summarizer.js");

/** The question of a round that holds one of pi's summaries. */
const SUMMARY_QUESTION = "(earlier conversation)";
const OPENS_THINKING = /^\s*<(?:think|thinking|thought)>/i;
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
      const words = answerOf(message);
      const isFinal = callsIn(message).length === 0;
      if (words.trim() === "" || rounds.length === 0 || (hasFinal && !isFinal)) continue;
      rounds.at(-1).a = words;
      hasFinal = isFinal;
    }
  }
  return rounds;
}

/** Returns the text of an answer without thinking. A closing tag alone may be a quoted one. */
function answerOf({ content }) {
  const text = plainText(content);
  return OPENS_THINKING.test(text) ? withoutThinking(text) : text;
}

/**
 * Splits messages before the newest answer whose `report` covers the messages before it. Without one the first part is empty. The
 * answer itself counts by its text: reasoning that the provider hides is billed, but not sent again.
 */
function partedByReport(messages) {
  let reported = 0;
  let report;
  let [newest, inserted] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const [index, { role, usage, stopReason, timestamp }] of messages.entries()) {
    if (role === "user") {
      // Questions may have a clock of their own, but each is newer than the one before.
      if (timestamp < newest) inserted = newest;
      newest = Math.max(newest, timestamp ?? newest);
    }
    if (isSummary({ role })) inserted = Math.max(inserted, timestamp ?? inserted);
    // An answer older than a question or summary before it belongs to another list.
    const isAnswer = role === "assistant" && !UNSENT_STOP_REASONS.has(stopReason);
    if (isAnswer && !(timestamp < inserted) && usage?.totalTokens > 0) [reported, report] = [index, usage];
  }
  return { report, parts: [messages.slice(0, reported), messages.slice(reported)] };
}

/**
 * Returns a list of one message for a new conversation. The reported prompt of an answer becomes 0: it would mislead the count.
 * Claude's thinking is dropped: the newest models refuse it behind another prefix. The list is empty if there was nothing else.
 */
function withoutPast(message) {
  const { role, content, model, usage } = message;
  if (role !== "assistant") return [message];
  const isThinker = Array.isArray(content) && /claude/i.test(model);
  const said = isThinker ? content.filter((block) => block?.type !== "thinking") : content;
  if (said?.length === 0 && content.length > 0) return [];
  const report = { ...usage, input: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
  return [{ ...message, ...(isThinker && { content: said }), ...(usage && { usage: report }) }];
}

module.exports = { partedByReport, splitRounds, withoutPast };
