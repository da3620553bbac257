// Exact cl100k counts for JavaScript: of a string, a message or an array of messages.
"use strict";

const { native } = require("./native.js");
const { Batch } = require("./snapshot.js");

/** Tokens of one image where no option says otherwise. */
const { imageTokens: IMAGE_TOKENS } = require("./wire.js").DEFAULTS;

function countTokens(input) {
  return count(input, native().countText, native().countMessages);
}

async function countTokensAsync(input) {
  return count(input, native().countTextAsync, native().countMessagesAsync);
}

function count(input, ofText, ofMessages) {
  if (typeof input === "string") return ofText(input);
  const { numbers, strings } = describe(input);
  return ofMessages(numbers, strings, IMAGE_TOKENS);
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
  return native().estimateMessages(new Float64Array(numbers), strings, IMAGE_TOKENS);
}

function fitsTokens(input, limit) {
  if (typeof limit !== "number" || !(limit >= 0)) {
    throw new TypeError(`fitsTokens: limit is ${String(limit)}; it must be a number from 0 on`);
  }
  if (typeof input === "string") return native().textFits(input, limit);
  let left = limit;
  for (const message of Array.isArray(input) ? input : [input]) {
    left -= countTokens(message);
    if (left < 0) return false;
  }
  return true;
}

function describe(input) {
  const batch = new Batch();
  for (const message of Array.isArray(input) ? input : [input]) {
    if (typeof message !== "object" || message === null) {
      throw new TypeError("countTokens: input must be a string, a message or an array of messages");
    }
    batch.add(0, message);
  }
  return batch;
}

module.exports = { estimateTokens, countTokens, countTokensAsync, fitsTokens };
