// The room for the answer. pi from 0.87 on caps an answer at what its own estimate of the request leaves of the window. That
// estimate begins with the usage of the newest answer, which a batch makes stale: pi would ask for an answer of one token.
"use strict";

const { sumOf } = require("../helpers.js");
const { isUnsent, json, string } = require("./snapshot.js");
const { isAnswer } = require("./values.js");

/** Tokens that pi keeps free beside the answer (`CONTEXT_SAFETY_TOKENS` in pi-ai's simple-options.js). */
const PI_MARGIN = 4096;
/** Tokens of an answer with the shortest thinking that Anthropic takes, 1,024, and as many of text. */
const LEAST_ANSWER = 2048;
/** Share of what a request leaves of a server's limit for an answer above the reserve: estimates are rough just after a refusal. */
const SAFE_SHARE = 0.5;
/** UTF-16 code units per token, and those that an image counts as, in pi-ai's estimate.js. */
const UNITS_PER_TOKEN = 3.5;
const IMAGE_UNITS = 4800;

/**
 * Returns the messages to send. If a batch leaves a usage by which pi would allow next to no answer, a copy of the newest answer has
 * one by which pi allows `reserve` tokens. A smaller reserve than pi's margin leaves no room for one.
 */
function withCurrentUsage(sent, { edits, tokensAfter, contextWindow }, reserve) {
  if (edits.length === 0 || reserve < PI_MARGIN || !sent.some(isCounted)) return sent;
  const assumed = estimateOf(sent).tokens;
  const isStale = assumed > tokensAfter && contextWindow - PI_MARGIN - assumed < LEAST_ANSWER;
  return isStale ? withAnswerRoom(sent, { contextWindow, tokens: tokensAfter, reserve }) : sent;
}

/**
 * Returns the messages of a request of `tokens` with which pi, for a model of this window, allows an answer of `reserve` tokens or
 * what the request leaves. `limit` is the window of a server that takes less: request and answer then stay within it.
 */
function withAnswerRoom(sent, { contextWindow, tokens, reserve, limit }) {
  const estimate = estimateOf(sent);
  if (estimate === undefined) return sent;
  const left = (limit ?? contextWindow) - tokens;
  const answer = Math.min(reserve, left);
  const sizeFor = (answerTokens) => contextWindow - PI_MARGIN - answerTokens;
  if (limit !== undefined)
    return withUsage(sent, estimate, sizeFor(Math.max(answer, SAFE_SHARE * left, LEAST_ANSWER)));
  const most = sizeFor(answer);
  return estimate.tokens > most ? withUsage(sent, estimate, Math.min(tokens, most)) : sent;
}

/**
 * pi's estimate of a request, in tokens: the usage of the newest answer that has one, and the messages behind it. `at` is the newest
 * answer, whose usage can change that, and `behind` the tokens of the messages behind it. Undefined without any answer.
 */
function estimateOf(sent) {
  const at = sent.findLastIndex(isSentAnswer);
  if (at < 0) return undefined;
  const counted = sent.findLastIndex(isCounted);
  const since = (index) => sumOf(sent.slice(index + 1).map(estimated));
  return { at, behind: since(at), tokens: (counted < 0 ? 0 : totalOf(sent[counted].usage)) + since(counted) };
}

/** Messages that pi estimates at `tokens`. */
function withUsage(sent, { at, behind }, tokens) {
  const totalTokens = Math.max(1, Math.round(tokens - behind));
  const usage = {
    ...sent[at].usage,
    input: totalTokens,
    output: 0,
    cacheRead: 0,
    cacheWrite: 0,
    totalTokens,
  };
  return sent.with(at, { ...sent[at], usage });
}

const isSentAnswer = (message) => isAnswer(message) && !isUnsent(message);

/** True for an answer whose usage pi reads. */
const isCounted = (message) => isSentAnswer(message) && totalOf(message.usage) > 0;

const totalOf = (usage) =>
  usage?.totalTokens || sumOf([usage?.input, usage?.output, usage?.cacheRead, usage?.cacheWrite].map(Number));

/** Tokens of a message by its length. */
function estimated({ content }) {
  const blocks = Array.isArray(content) ? content : [{ text: content }];
  return Math.ceil(sumOf(blocks.map(unitsOf)) / UNITS_PER_TOKEN);
}

function unitsOf(block) {
  if (block?.type === "image") return IMAGE_UNITS;
  if (block?.type === "toolCall") return string(block.name).length + json(block.arguments).length;
  return string(block?.text ?? block?.thinking).length;
}

module.exports = { withAnswerRoom, withCurrentUsage };
