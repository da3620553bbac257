// True if two messages are the same bytes to a provider. What pi keeps for itself (times, usage, details) is not looked at.

import { isDeepStrictEqual } from "node:util";

const FIELDS = ["role", "toolCallId", "toolName", "isError", "command", "output", "summary"];

/** The number of messages at the beginning of two requests that are the same. */
export function commonRun(some, others) {
  const end = Math.min(some.length, others.length);
  let at = 0;
  while (at < end && (some[at] === others[at] || isSame(some[at], others[at]))) at += 1;
  return at;
}

function isSame(one, other) {
  if (FIELDS.some((field) => one[field] !== other[field])) return false;
  return isSameContent(one.content, other.content) && isDeepStrictEqual(one.sections, other.sections);
}

function isSameContent(one, other) {
  if (one === other) return true;
  if (!Array.isArray(one) || !Array.isArray(other)) return false;
  return one.length === other.length && one.every((block, at) => isSameBlock(block, other[at]));
}

function isSameBlock(one, other) {
  if (one === other) return true;
  if (one?.type === "text" && other?.type === "text") {
    return one.text === other.text && one.textSignature === other.textSignature;
  }
  return isDeepStrictEqual(one, other);
}
