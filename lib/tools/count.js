// Exact counts for JavaScript: of a string, a message or an array of messages, by any encoding.
"use strict";

const { native } = require("../native/native.js");
const { Batch } = require("../hook/snapshot.js");

function countTokens(input, options) {
  return count(input, options, false);
}

async function countTokensAsync(input, options) {
  return count(input, options, true);
}

function count(input, options, offThread) {
  const { countText, countTextAsync, countMessages } = native();
  const encoding = numberIn(options);
  if (typeof input === "string") return (offThread ? countTextAsync : countText)(input, encoding);
  const { numbers, strings } = describe(input);
  return countMessages(numbers, strings, offThread, encoding);
}

/** The native side's number of the encoding options ask for; undefined is cl100k_base. */
function numberIn(options) {
  if (options?.encoding === undefined && options?.model === undefined) return undefined;
  const { encodingIn, numberOf } = require("../tokens/models.js");
  return numberOf(encodingIn(options));
}

/** Tokens by a conservative three UTF-16 units each, or exact ones. */
function estimateTokens(input, { counting = "chars" } = {}) {
  if (counting === "exact") return countTokens(input);
  if (counting !== "chars") {
    throw new TypeError(
      `estimateTokens: option counting is ${String(counting)}; it must be "exact", "chars"`,
    );
  }
  const { numbers, strings } = describe(typeof input === "string" ? { role: "user", content: input } : input);
  return native().estimateMessages(numbers, strings);
}

/** As gpt-tokenizer has it: the count, or false where it is more than `limit`. */
function isWithinTokenLimit(input, limit, options) {
  if (Array.isArray(input) && input.every((message) => typeof message?.content === "string")) {
    const total = require("../tokens/chat.js").countChatTokens(input, options);
    checkLimit(limit);
    return total <= limit && total;
  }
  checkLimit(limit);
  if (typeof input === "string") return native().countWithin(input, limit, numberIn(options)) ?? false;
  let total = 0;
  for (const message of Array.isArray(input) ? input : [input]) {
    total += countTokens(message, options);
    if (total > limit) return false;
  }
  return total;
}

function checkLimit(limit) {
  if (typeof limit === "number" && limit >= 0) return;
  throw new TypeError(`isWithinTokenLimit: limit is ${String(limit)}; it must be a number from 0 on`);
}

function describe(input) {
  const batch = new Batch();
  for (const message of Array.isArray(input) ? input : [input]) {
    if (typeof message !== "object" || message === null) {
      throw new TypeError("countTokens: input must be a string, a message or an array of messages");
    }
    batch.add(message);
  }
  return batch;
}

module.exports = { estimateTokens, countTokens, countTokensAsync, isWithinTokenLimit };
