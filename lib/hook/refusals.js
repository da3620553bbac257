// Reads an error message: whether a request was refused for its length, and the token numbers that the refusal names.
// The words of each endpoint are rows of contract.json.
"use strict";

const contract = require("../contract.js");

/** Parts of an error to read, in UTF-16 code units: some gateways include a whole request. */
const HEAD_CHARS = 3000;
const TAIL_CHARS = 1000;
/** Range of tokens for a plausible limit of a model. */
const LEAST_TOKENS = 1000;
const MOST_TOKENS = 100_000_000;
/** The least value of a number, by its name, if it is not 1. */
const LEAST = { limit: LEAST_TOKENS, images: 0 };

/** A number that stands alone, as errors write it: `65536`, `65,536`, `128k`. Parts of a date or of a model's name are none. */
const NUMBER = String.raw`(?<![\w.-])(\d[\d,]{0,14}k?)(?![\w-]|\.\d)`;
/** Numbers that are not tokens. */
const OTHER_NUMBERS =
  /(?:https?:)?\/\/[\w.-]+:\d{2,5}|\b(?:\w*code|status|type|http|(?:ai)?error|timestamp)\W{1,6}\d+|(?:^|["'])\d{4,5}:|[ :]\d{4,5}: ?(?:\(|ai)|\b(?:bytes|characters|chars|body size)\b(?: is| of)?\W{1,3}\d[\d,.]*|\d[\d,.]{0,20}\s?(?:bytes|[kmg]b\b|characters|chars|个?字|ms\b|s\b|seconds|images|messages|requests)/gi;
/** Words before a number that make it the limit. */
const LIMIT_WORDS =
  /(?:max|limit|window|only|up to|at most|allowed|permitted|supports?|than|exceeds?|exceed(?:ed|s)? the|available|context (?:length|size)|n_ctx|上限|最大|限制|超过|超出)[^\d]{0,40}$/i;
/** Words that say a number near them is of the prompt. */
const PROMPT_WORDS =
  /(?:requested|resulted|contains?|given|received|got|actual|your|has|have|count|current|prompt|input)[^\d]{0,30}$/i;
/** Words before a number that make it the answer's. */
const OUTPUT_WORDS =
  /(?:max_(?!input|prompt)\w{0,20}tokens|(?:output|completion|new|generated)[ _]tokens?)\W{0,8}$/i;
/** Words about the bytes of a request. */
const BODY_WORDS =
  /(?:(?:^|status(?: code)?|failed|http|error)\W{0,4}|["'])413\b|413 (?:content|failed to parse)|(?:entity|payload|body|upload):? (?:too large|size|(?:length )?limit)|request_too_large|request exceeds the maximum size|\bbytes\b|\d ?[kmg]i?b\b/i;
/** Words of a refusal for length, even with the status of a body that is too large. */
const LENGTH_WORDS = /prompt is too long|context (?:window|length)/i;

/** JSON keys of other values than numbers. They are no words of the error: `{"message":"top_k exceeds 40"}` is not about a message. */
const KEYS = /(["'])\w+\1 ?: ?(?=["'](?!\d+["'])|[{[])|\bmessage: /gi;

/** The error of a host that knows of an overflow, but not its size. */
const OVERFLOW = "the request was too long";

/** The rows of the table, compiled at the first error: importing compiles nothing. `#` stands for a number. */
let rows;

function compiled({ pattern, ...row }) {
  return { ...row, pattern: new RegExp(pattern.replaceAll("#", NUMBER), "i") };
}

/**
 * The numbers that a refusal names; undefined for any other error. The first matching row decides. A refusal for length has
 * `{ prompt, limit, output, excess }`, each undefined if it is not named. One for images has `{ images }`, the most that the model
 * takes, or `{ imageChars }`, the most characters of one. Some have a `subject` of contract.json: the bytes of the body, the length,
 * unreadable images (with `images: 0` the model takes none), or thinking with an invalid signature.
 */
function readRefusal(errorMessage) {
  if (typeof errorMessage !== "string") return undefined;
  if (errorMessage === OVERFLOW) return { subject: "length" };
  const text = wordsOf(errorMessage);
  rows ??= contract.refusals.map(compiled);
  const { pattern, names, says } = rows.find((row) => row.pattern.test(text)) ?? { names: null };
  if (says !== undefined) return says;
  if (names === null) return undefined;
  if (names[0] !== "sizes") return named(names, pattern.exec(text).slice(1));
  const sizes = sizesIn(text);
  if (!BODY_WORDS.test(text) || Object.keys(sizes).length > 0) return sizes;
  return { subject: LENGTH_WORDS.test(text) ? "length" : "body" };
}

/** The beginning and the end of a message, with single spaces and without the keys and escapes of nested JSON. */
function wordsOf(message) {
  const isLong = message.length > HEAD_CHARS + TAIL_CHARS;
  const read = isLong ? `${message.slice(0, HEAD_CHARS)} ${message.slice(-TAIL_CHARS)}` : message;
  return read
    .replace(/\\+/g, "\\")
    .replace(/\\u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(/\\[nrt]/g, " ")
    .replace(/\\/g, "")
    .replace(/\s+/g, " ")
    .replace(KEYS, "");
}

function named(names, digits) {
  const numberOf = (name, i) => tokensOf(digits[i], LEAST[name] ?? 1);
  const { total, ...told } = Object.fromEntries(names.map((name, i) => [name, numberOf(name, i)]));
  if (total !== undefined) told.prompt = total - (told.output ?? 0);
  return told;
}

/**
 * Classifies numbers of a message without a specific row, by the words before them. The largest of several is the prompt:
 * one of the answer does not count.
 */
function sizesIn(text) {
  const bare = text.replace(OTHER_NUMBERS, " ");
  const found = Array.from(bare.matchAll(new RegExp(NUMBER, "gi")), ({ 1: digits, index }) => {
    const before = bare.slice(Math.max(0, index - 60), index);
    return { tokens: tokensOf(digits), before };
  }).filter(({ tokens }) => tokens !== undefined);
  if (found.length === 0) return {};
  if (found.every(({ tokens }) => tokens === found[0].tokens)) {
    const [{ tokens, before }] = found;
    const isLimit = LIMIT_WORDS.test(before) || !PROMPT_WORDS.test(before);
    return isLimit ? { limit: tokens } : { prompt: tokens };
  }
  const ofOthers = found.filter(({ before }) => !OUTPUT_WORDS.test(before));
  const sizes = ofOthers.length > 1 ? ofOthers : found;
  const prompt = Math.max(...sizes.map(({ tokens }) => tokens));
  const smaller = sizes.filter(({ tokens }) => tokens < prompt);
  const limit = smaller.find(({ before }) => LIMIT_WORDS.test(before)) ?? smaller[0];
  return { prompt, limit: limit?.tokens };
}

function tokensOf(digits, least = LEAST_TOKENS) {
  if (digits === undefined) return undefined;
  const tokens = Number(digits.replaceAll(",", "").replace(/k$/i, "000"));
  return tokens >= least && tokens <= MOST_TOKENS ? tokens : undefined;
}

module.exports = { OVERFLOW, readRefusal };
