// Tool calls and their results in a pipeline's history: where a history can be cut, and what of it a provider of models
// would refuse. A host's own messages hold nothing else to repair, and no more than that may go.
"use strict";

const { callsIn, isResult } = require("../shapes/text.js");

/** Start of the newest `count` messages, moved back so that no tool's answer is parted from its call. */
function tailStart(messages, count) {
  let start = Math.max(0, messages.length - count);
  while (start > 0 && start < messages.length && isResult(messages[start])) start -= 1;
  return start;
}

/**
 * `messages` without answers whose call is not directly before them and without calls that were never answered; the same
 * array where there are none.
 */
function withWholeCalls(messages) {
  const groups = [];
  for (const message of messages) {
    if (isResult(message) && groups.length > 0) groups.at(-1).push(message);
    else groups.push([message]);
  }
  const kept = groups.flatMap(wholeGroup);
  const isWhole = kept.length === messages.length && kept.every((message, i) => message === messages[i]);
  return isWhole ? messages : kept;
}

/** A message with those of the answers after it that are its own. */
function wholeGroup([first, ...results]) {
  if (isResult(first)) return [];
  const open = new Set(callsIn(first).map(({ id }) => id));
  const answers = results.filter(({ toolCallId }) => open.delete(toolCallId));
  const whole = open.size === 0 ? first : withoutCalls(first, open);
  return whole === undefined ? [] : [whole, ...answers];
}

/** A message without the calls of these ids; undefined if nothing of it is left. */
function withoutCalls({ original: _, toolCalls = [], ...message }, ids) {
  const { content } = message;
  const blocks = Array.isArray(content)
    ? content.filter((block) => block?.type !== "toolCall" || !ids.has(block.id))
    : content;
  const calls = toolCalls.filter(({ id }) => !ids.has(id));
  if (blocks.length === 0 && calls.length === 0) return undefined;
  return { ...message, content: blocks, ...(calls.length > 0 && { toolCalls: calls }) };
}

module.exports = { tailStart, withWholeCalls };
