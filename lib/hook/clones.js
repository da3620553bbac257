// Hosts that copy the whole conversation for every call, as the pi coding agent does: each call brings new objects that
// hold what the last one held.
"use strict";

/** Deeper than this nothing is compared: the message is read. */
const DEEPEST = 32;
/**
 * Whether two messages hold the same plain data: all of it, for the host may ask `protect` about any of it. Node's
 * `isDeepStrictEqual`, which takes more than plain data, takes more than twice as long: 1.8 against 0.8 ms for 1 000 messages.
 */
function isCopy(message, other) {
  return isSame(message, other, 0);
}

function isSame(one, other, depth) {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (depth > DEEPEST) return false;
  return Array.isArray(one) ? isSameList(one, other, depth + 1) : isSameRecord(one, other, depth + 1);
}

function isSameList(one, other, depth) {
  if (!Array.isArray(other) || one.length !== other.length) return false;
  for (let i = 0; i < one.length; i += 1) if (!isSame(one[i], other[i], depth)) return false;
  return true;
}

function isSameRecord(one, other, depth) {
  if (!isPlain(one) || !isPlain(other)) return false;
  let keys = 0;
  for (const key in one) {
    if (!isSame(one[key], other[key], depth)) return false;
    keys += 1;
  }
  for (const _ in other) keys -= 1;
  return keys === 0;
}

/** What else there is, such as a Date, says by no key what it holds. */
function isPlain(value) {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

module.exports = { isCopy };
