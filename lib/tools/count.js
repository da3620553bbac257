// Exact counts for JavaScript: of a string, a message or an array of messages, by any encoding.
"use strict";

const { attempt, isObject, sumOf } = require("../helpers.js");
const { native } = require("../native/native.js");
const { Batch } = require("../hook/snapshot.js");
const { anything, checkOptions } = require("../options.js");
const { Shapes } = require("../shapes/index.js");

function countTokens(input, options) {
  return count(input, options, false);
}

async function countTokensAsync(input, options) {
  return count(input, options, true);
}

/** True for an object that may be a message. A promise, a Buffer or a whole request is none. */
const isMessage = (value) => isObject(value) && ["role", "content", "type"].some((name) => name in value);

function count(input, options, offThread) {
  const encoding = numberIn("countTokens", options);
  const isText = typeof input === "string";
  if (isText && !offThread) return native().countText(input, encoding);
  const message = isText ? { role: "user", content: input } : input;
  const list = Array.isArray(message) ? message : [message];
  if (!Array.from(list).every(isMessage)) {
    throw new TypeError("countTokens: input must be a string, a message or an array of messages");
  }
  const sizes = sizesOf(new Shapes().read(list), offThread, encoding);
  return offThread ? sizes.then(sumOf) : sumOf(sizes);
}

const COUNT_OPTIONS = { encoding: [undefined, anything], model: [undefined, anything] };

/** The native number of the encoding in the options; undefined for cl100k_base. */
function numberIn(owner, options) {
  if (options === undefined) return undefined;
  const { encoding, model } = checkOptions(owner, options, COUNT_OPTIONS);
  if (encoding === undefined && model === undefined) return undefined;
  const { encodingIn, numberOf } = require("../tokens/models.js");
  return numberOf(encodingIn(options));
}

/** Tokens of each message of a list in pi's shape: exact, or with "chars" by the length of the texts. */
function countEach(list, counting, offThread = false) {
  return sizesOf(list, offThread, undefined, counting === "chars");
}

function sizesOf(list, offThread, encoding, byLength) {
  const { countMessages, countMessagesAsync } = native();
  const batch = new Batch();
  for (const message of list) batch.add(message);
  return (offThread ? countMessagesAsync : countMessages)(batch, encoding, byLength);
}

/** True for a chat: every message is text, without calls or images beside it. */
function isChat(input) {
  if (!Array.isArray(input) || !Array.from(input).every((one) => typeof one?.content === "string"))
    return false;
  const isText = ({ content }) => typeof content === "string" || content.every(({ type }) => type === "text");
  // countTokens reads only the contents of a message of another shape.
  return attempt(() => new Shapes().read(input).every(isText), true);
}

/** As in gpt-tokenizer: the count, or false if it is more than `limit`. */
function isWithinTokenLimit(input, limit, options) {
  if (isChat(input)) {
    const total = require("../tokens/chat.js").countChatTokens(input, options);
    checkLimit(limit);
    return total <= limit && total;
  }
  checkLimit(limit);
  if (typeof input === "string")
    return native().countWithin(input, limit, numberIn("isWithinTokenLimit", options)) ?? false;
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

module.exports = { countEach, countTokens, countTokensAsync, isMessage, isWithinTokenLimit };
