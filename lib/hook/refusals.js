// Tells from an error whether the provider refused the request for its length, and how long it says it was.
"use strict";

/** The words of providers, and of the proxies before them. A status without a body is all that some send. */
const TOO_LONG = new RegExp(
  [
    "(prompt|input)( is)? too long",
    "prompt exceeds max length",
    "request_too_large",
    "exceeds? (the )?(available )?context (window|size)",
    "exceeds? (the )?(model'?s )?(maximum )?(context|allowed input) length",
    "context window (exceeded|exceeds limit)",
    "token count.*exceeds",
    "maximum (prompt|context) length",
    "reduce the length of the messages",
    "longer than the model'?s context",
    "exceeds the limit of \\d",
    "greater than the context length",
    "exceeded model token limit",
    "context size is [\\d,]+ tokens",
    "context[_ ](length|window)[_ ]exceeded",
    "range of input length should be",
    "too many tokens",
    "token limit exceeded",
    "^(400|413)\\b.*\\(no body\\)",
    "^([\\w -]+ API error \\(413\\):|413(\\s|:|$))",
  ].join("|"),
  "i",
);
/** Words like these that mean too many requests in too short a time. */
const NOT_LENGTH = /rate limit|too many requests|^(throttling|service unavailable)/i;
/** Looked at of an error, in UTF-16 code units. */
const LOOKED_AT_CHARS = 2000;
/** Fewer tokens are no prompt that is too long. */
const LEAST_TOKENS = 1000;

/** Tokens of a request that was refused for its length, 0 where the error names none; NaN for any other error. */
function refusedTokens(errorMessage) {
  if (typeof errorMessage !== "string") return Number.NaN;
  const text = errorMessage.slice(0, LOOKED_AT_CHARS);
  if (!TOO_LONG.test(text) || NOT_LENGTH.test(text)) return Number.NaN;
  // It names its limit, too, which is less.
  const numbers = text.match(/\d[\d,]*/g)?.map((digits) => Number(digits.replaceAll(",", ""))) ?? [];
  const named = numbers.filter((number) => number >= LEAST_TOKENS);
  return named.length > 1 ? Math.max(...named) : 0;
}

module.exports = { refusedTokens };
