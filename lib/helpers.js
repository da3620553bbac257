// Small functions that every room may use.
"use strict";

/** Returns the result of `work()`, or `fallback` if it throws. */
function attempt(work, fallback) {
  try {
    return work();
  } catch {
    return fallback;
  }
}

/** True for an object or an array. */
const isObject = (value) => typeof value === "object" && value !== null;

/** True if two lists hold the same values, by `===`. */
const areSame = (some, others) => some.length === others.length && some.every((one, i) => one === others[i]);

const sumOf = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

module.exports = { areSame, attempt, isObject, sumOf };
