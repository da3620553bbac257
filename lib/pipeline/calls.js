// Removes calls without results and results without calls from a pipeline's history: providers reject them.
"use strict";

const { callsIn, isResult } = require("../shapes/text.js");

/** Returns the start of the newest `count` messages, moved back so that no result loses its call. */
function tailStart(messages, count) {
  let start = Math.max(0, messages.length - count);
  while (start > 0 && start < messages.length && isResult(messages[start])) start -= 1;
  return start;
}

/** Drops results whose call is not directly before them, and calls without a result. */
function withWholeCalls(messages) {
  const groups = [];
  for (const message of messages) {
    if (isResult(message) && groups.length > 0) groups.at(-1).push(message);
    else groups.push([message]);
  }
  return groups.flatMap(wholeGroup);
}

/** Returns a message with its own results among those behind it. */
function wholeGroup([first, ...results]) {
  if (isResult(first)) return [];
  const open = new Set(callsIn(first).map(({ id }) => id));
  const answers = results.filter(({ toolCallId }) => open.delete(toolCallId));
  if (open.size === 0) return [first, ...answers];
  const { original: _, toolCalls = [], ...message } = first;
  const calls = toolCalls.filter(({ id }) => !open.has(id));
  if (calls.length > 0) return [{ ...message, toolCalls: calls }, ...answers];
  return message.content ? [message] : [];
}

module.exports = { tailStart, withWholeCalls };
