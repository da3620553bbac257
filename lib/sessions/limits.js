// The options of a ContextManager: what each may be, and limits that leave room for one another.
"use strict";

const { atLeastOne, checkOptions, count, handler, oneOf, positive } = require("../options.js");
const { storeOption } = require("./store/index.js");
const { isPlain } = require("./text.js");

const MAX_MESSAGES = 50;
const MAX_COMPRESSED_MESSAGES = 20;
/** Of `maxMessages`, where that is less and nothing else was asked for. */
const COMPRESSED_SHARE = 0.4;
/** Messages beside the newest that a compression leaves, the prompt and the summary, and the one that comes next. */
const ROOM = 3;

const name = {
  allowed: "a string of at most 200 characters without NUL",
  accepts: (value) => typeof value === "string" && value.length <= 200 && isPlain(value),
};
/** Below this a prompt cannot even say what is asked for. */
const promptTokens = {
  allowed: "a whole number from 400 on",
  accepts: (value) => count.accepts(value) && value >= 400,
};

const OPTIONS = {
  store: [undefined, storeOption],
  namespace: ["", name],
  maxMessages: [MAX_MESSAGES, atLeastOne],
  maxCompressedMessages: [undefined, count],
  maxTokens: [undefined, positive],
  maxCompressedTokens: [undefined, positive],
  language: ["auto", oneOf("zh", "en", "auto")],
  summarize: [undefined, handler],
  summarizeTimeoutMs: [30_000, positive],
  summarizeTokens: [16_000, promptTokens],
  onEvent: [undefined, handler],
};

/** `given`, checked and completed. */
function checkManagerOptions(given) {
  // A connection string that is not set must not become sessions in memory.
  if (given != null && Object.hasOwn(given, "store") && given.store === undefined) {
    throw new TypeError(
      `ContextManager: option store is undefined; it must be ${storeOption.allowed}, or left out for memory`,
    );
  }
  const options = checkOptions("ContextManager", given, OPTIONS);
  const { maxMessages, maxTokens } = options;
  const share = Math.min(
    MAX_COMPRESSED_MESSAGES,
    Math.floor(maxMessages * COMPRESSED_SHARE),
    maxMessages - ROOM,
  );
  options.maxCompressedMessages ??= Math.max(0, share);
  options.maxCompressedTokens ??= maxTokens === undefined ? undefined : Math.floor(maxTokens / 2);
  checkLimits(options);
  return options;
}

/** Limits under which a compression would leave no room are none: every message would set off the next. */
function checkLimits({ maxMessages, maxCompressedMessages, maxTokens, maxCompressedTokens }) {
  if (maxMessages < maxCompressedMessages + ROOM) {
    throw new TypeError(
      `ContextManager: maxMessages is ${maxMessages} and maxCompressedMessages ${maxCompressedMessages}: nearly every message ` +
        `would set off a compression; maxMessages must be at least ${maxCompressedMessages + ROOM} (set the other first)`,
    );
  }
  if (maxTokens !== undefined && maxCompressedTokens >= maxTokens) {
    throw new TypeError(
      `ContextManager: maxCompressedTokens is ${maxCompressedTokens}; it must be below maxTokens, ${maxTokens}`,
    );
  }
}

module.exports = { checkLimits, checkManagerOptions, name };
