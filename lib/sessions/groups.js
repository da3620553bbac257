// Decides which messages a session may let go: a tool call and its results stay together.
"use strict";

const { groupStarts, withCalls } = require("../shapes/groups.js");
const { callsIn, isResult } = require("../shapes/text.js");

/** Smallest number of messages worth a summary. One could be the last summary itself. */
const MIN_LET_GO = 2;

/**
 * Returns the indices of the messages that a compression replaces, oldest first. It keeps the first system message, the newest
 * `keep` messages with their calls, and a call whose results can still come.
 */
function lettable(messages, keep) {
  const starts = groupStarts(messages);
  const open = openCall(messages, starts, keep);
  const start = Math.min(withCalls(starts, Math.max(0, messages.length - keep)), open);
  const prompt = messages.findIndex(({ role }) => role === "system");
  const indices = Array.from({ length: start }, (_, index) => index).filter((index) => index !== prompt);
  return indices.length < MIN_LET_GO ? [] : indices;
}

/** Returns the index of the newest assistant message if it waits for results: no user message and few others came since. */
function openCall(messages, starts, patience) {
  const call = messages.findLastIndex(({ role }) => role === "assistant");
  if (call < 0) return messages.length;
  const later = messages.slice(call + 1);
  const answers = later.filter(
    (message, index) => isResult(message) && starts[call + 1 + index] === call,
  ).length;
  const hasEnded =
    later.some(({ role }) => role === "user") || later.length - answers > Math.max(patience, MIN_LET_GO);
  return answers < callsIn(messages[call]).length && !hasEnded ? call : messages.length;
}

/** Returns the indices of all messages in the groups of the messages at `indices`. */
function withGroups(messages, indices) {
  const starts = groupStarts(messages);
  const wanted = new Set(indices.map((index) => starts[index]));
  return [...starts.keys()].filter((index) => wanted.has(starts[index]));
}

module.exports = { lettable, withGroups };
