// Tool calls and their results in a pipeline's history: where a history can be cut, and what of it a provider of models
// would refuse.
"use strict";

const { callsOf } = require("../sessions/openai_calls.js");

const isResult = ({ role }) => role === "tool" || role === "toolResult";

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
  const kept = [];
  for (let i = 0; i < messages.length; ) {
    let end = i + 1;
    while (end < messages.length && isResult(messages[end])) end += 1;
    kept.push(...wholeGroup(messages.slice(i, end)));
    i = end;
  }
  return kept.length === messages.length && kept.every((message, i) => message === messages[i])
    ? messages
    : kept;
}

/** A message with the answers that follow it. */
function wholeGroup(group) {
  const [first, ...rest] = group;
  const results = isResult(first) ? [] : rest;
  const open = new Set(callsOf(first).map(({ id }) => id));
  const answers = results.filter(({ toolCallId }) => open.delete(toolCallId));
  if (isResult(first)) return [];
  if (open.size === 0) return [first, ...answers];
  const whole = withoutCalls(first, open);
  return whole === undefined ? answers : [whole, ...answers];
}

/** A message without the calls of these ids; undefined if nothing of it is left. */
function withoutCalls({ original: _, ...message }, ids) {
  const { content, toolCalls } = message;
  const blocks = Array.isArray(content)
    ? content.filter((block) => block?.type !== "toolCall" || !ids.has(block.id))
    : content;
  const calls = toolCalls?.filter(({ id }) => !ids.has(id)) ?? [];
  const { toolCalls: __, ...rest } = message;
  if (blocks.length === 0 && calls.length === 0) return undefined;
  return { ...rest, content: blocks, ...(calls.length > 0 && { toolCalls: calls }) };
}

module.exports = { tailStart, withWholeCalls };
