// Checks options and arguments by rules. A TypeError names the option, the value and what is allowed.
"use strict";

const { isObject } = require("./helpers.js");

/** Largest whole-number option: the core stores them as unsigned 32-bit integers. */
const MAX_COUNT = 0xffff_ffff;

const isText = (value) => typeof value === "string";
/** `accepts(value)` checks an option; `allowed` says in an error what it accepts. */
const rule = (allowed, accepts) => ({ allowed, accepts });
const whole = (least) => (value) => Number.isInteger(value) && value >= least && value <= MAX_COUNT;

const count = rule(`a whole number from 0 to ${MAX_COUNT}`, whole(0));
const atLeastOne = rule(`a whole number from 1 to ${MAX_COUNT}`, whole(1));
const positive = rule("a finite number above 0", (value) => Number.isFinite(value) && value > 0);
const amount = rule("a finite number from 0 on", (value) => Number.isFinite(value) && value >= 0);
const ratio = rule("a number above 0 and at most 1", (value) => positive.accepts(value) && value <= 1);
const text = rule("a text", isText);
const flag = rule("true or false", (value) => typeof value === "boolean");
const handler = rule("a function", (value) => typeof value === "function");
const names = rule("an array of strings", (value) => Array.isArray(value) && value.every(isText));
const times = rule(
  "an array of finite numbers, ms since 1970",
  (value) => Array.isArray(value) && value.every(Number.isFinite),
);
const record = rule("an object", (value) => isObject(value) && !Array.isArray(value));
/** A value that its reader checks. */
const anything = rule("any value", () => true);
const oneOf = (...words) =>
  rule(words.map((word) => JSON.stringify(word)).join(", "), (value) => words.includes(value));
const orFunction = ({ allowed, accepts }) =>
  rule(`${allowed}, or a function`, (value) => typeof value === "function" || accepts(value));

/**
 * Returns `given` with the missing options filled in from `table`, which has a default and a rule per option. Throws a TypeError
 * for the first unknown or wrong option.
 */
function checkOptions(owner, given, table) {
  if (given !== undefined && !record.accepts(given)) {
    throw new TypeError(`${owner}: options must be an object, not ${show(given)}`);
  }
  for (const name of Object.keys(given ?? {})) {
    if (!Object.hasOwn(table, name)) {
      throw new TypeError(`${owner}: there is no option ${name}; there are ${Object.keys(table).join(", ")}`);
    }
  }
  const checked = {};
  for (const [name, [fallback, rule]] of Object.entries(table)) {
    const value = given?.[name];
    if (value !== undefined) checkValue(`${owner}: option ${name}`, value, rule);
    checked[name] = value === undefined ? fallback : value;
  }
  return checked;
}

/** Throws a TypeError for a value that the rule refuses; `what` names it. */
function checkValue(what, value, { allowed, accepts }) {
  if (!accepts(value)) throw new TypeError(`${what} is ${show(value)}; it must be ${allowed}`);
}

/** Characters that JSON does not escape and that act on a terminal or a log. */
const UNSHOWN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A value as errors show it. */
const show = (value) => showUpTo(40, value);

/** As `show`, with texts cut after `longest` UTF-16 units. */
function showUpTo(longest, value) {
  if (typeof value === "string")
    return JSON.stringify(value.length > longest ? `${value.slice(0, longest)}…` : value).replace(
      UNSHOWN,
      "",
    );
  if (value === null || typeof value !== "object") return String(value);
  return Array.isArray(value) ? "an array" : "an object";
}

/** UTF-16 units of a name to compare: the time grows with the length. */
const COMPARED_UNITS = 60;

/** Returns the name in `known` with the smallest edit distance to `name`. */
function nearest(name, known) {
  const start = name.slice(0, COMPARED_UNITS);
  const distances = known.map((candidate) => [distance(start, candidate), candidate]);
  return distances.reduce((best, next) => (next[0] < best[0] ? next : best))[1];
}

/** Levenshtein distance. */
function distance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let at = 0; at < from.length; at += 1) {
    const next = [at + 1];
    for (let other = 0; other < to.length; other += 1) {
      const swap = row[other] + (from[at] === to[other] ? 0 : 1);
      next.push(Math.min(swap, row[other + 1] + 1, next[other] + 1));
    }
    row = next;
  }
  return row[to.length];
}

/** Throws a TypeError that names the argument, unless it is an array of objects that `accepts` takes. */
function checkMessages(method, messages, name = "messages", accepts = isObject) {
  if (Array.isArray(messages) && messages.every(accepts)) return;
  const shown = Array.isArray(messages) ? "an array with something else in it" : show(messages);
  const message = `${method}: ${name} is ${shown}; it must be an array of messages`;
  throw Object.assign(new TypeError(message), { code: "ERR_INVALID_INPUT" });
}

module.exports = {
  anything,
  count,
  atLeastOne,
  amount,
  text,
  names,
  times,
  flag,
  handler,
  oneOf,
  orFunction,
  checkOptions,
  checkMessages,
  checkValue,
  nearest,
  positive,
  ratio,
  record,
  rule,
  show,
  showUpTo,
};
