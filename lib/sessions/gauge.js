// The share of its window that a conversation takes: its messages as cl100k counts them, what is sent beside them, or what the
// provider itself reported, whichever is more. What stands beside the messages (system prompt, tools) is learned from the
// reports and kept from one conversation to the next.
"use strict";

const { countTokens, countTokensAsync } = require("../tools/count.js");
const { UNSENT_STOP_REASONS } = require("../contract.js");

class Gauge {
  #overhead;
  #learned = 0;

  /** `overhead` is tokens, or a function that tells them. */
  constructor(overhead) {
    this.#overhead = overhead;
  }

  /** Tokens beside the messages. */
  overhead() {
    const given = typeof this.#overhead === "function" ? this.#overhead() : this.#overhead;
    if (!(typeof given === "number" && Number.isFinite(given) && given >= 0))
      throw new TypeError("overheadTokens() must return a finite number from 0 on");
    return Math.max(given, this.#learned);
  }

  reset() {
    this.#learned = 0;
  }

  /** Tokens of the request that `messages` make. */
  async tokens(messages) {
    const counted = [];
    for (const part of partsOf(messages)) counted.push(await countTokensAsync(part));
    const { tokens, beside } = this.#judge(messages, counted);
    this.#learned = beside;
    return tokens;
  }

  /** The same, counted on this thread; nothing is learned from it. */
  tokensNow(messages) {
    const counted = partsOf(messages).map((part) => countTokens(part));
    return this.#judge(messages, counted).tokens;
  }

  #judge(messages, counted) {
    const { first, last } = reportsOf(messages);
    const [beforeFirst, between, answer, rest] = counted;
    const all = beforeFirst + between + answer + rest;
    if (last === undefined) return { tokens: all + this.overhead(), beside: this.#learned };
    // The smaller of the two fits both: other counting than cl100k looks like overhead where there is much to count.
    const beside = Math.min(first.promptTokens - beforeFirst, last.promptTokens - beforeFirst - between);
    const reported = last.promptTokens + Math.max(last.answerTokens, answer) + rest;
    return { tokens: Math.max(all + this.overhead(), reported), beside: Math.max(0, beside) };
  }
}

/** The messages before the first report, from it to the last, the last itself, and what came after. */
function partsOf(messages) {
  const { first, last } = reportsOf(messages);
  const [start, end] = [first?.index ?? 0, last?.index ?? 0];
  const ranges = [
    [0, start],
    [start, end],
    [end, end + 1],
    [end + 1, messages.length],
  ];
  return ranges.map(([from, to]) => messages.slice(from, to));
}

/** The first and the last request of a conversation that were reported and were made of the messages before them. */
function reportsOf(messages) {
  let [first, last] = [];
  let newest = Number.NEGATIVE_INFINITY;
  for (const [index, { role, usage, stopReason, timestamp }] of messages.entries()) {
    // An answer older than something before it was given to other messages.
    const isOfThis = !(timestamp < newest);
    newest = Math.max(newest, timestamp ?? newest);
    if (role !== "assistant" || !(usage?.totalTokens > 0) || UNSENT_STOP_REASONS.has(stopReason) || !isOfThis)
      continue;
    const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0 } = usage;
    last = { index, promptTokens: input + cacheRead + cacheWrite, answerTokens: output };
    first ??= last;
  }
  return { first, last };
}

/** An answer in a new conversation: the prompt it was reported with is not this one's, and would mislead any gauge. */
function withoutReport(message) {
  const { usage } = message;
  if (typeof usage !== "object" || usage === null) return message;
  return { ...message, usage: { ...usage, input: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } };
}

module.exports = { Gauge, withoutReport };
