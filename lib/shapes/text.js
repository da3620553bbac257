// Reads the texts, calls and groups of messages of pi, of sessions and of OpenAI, and cuts texts.
"use strict";

const { json } = require("../hook/snapshot.js");

/** Name of an unknown tool. */
const UNKNOWN = "unknown";
/** Placeholder for -0: JSON can hold -0, but JSON.stringify writes 0. No text holds the random digits. */
const MINUS_ZERO = `-0 ${Math.random()}`;
/** Replaces an image in plain text. */
const IMAGE_NOTE = "[image]";

/** Returns the text of a content, with a note for each image. Skips thinking and calls. */
function plainText(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap(wordsOf).join("\n");
}

function wordsOf(block) {
  if (block?.type === "text" && typeof block.text === "string") return [block.text];
  return block?.type === "image" ? [IMAGE_NOTE] : [];
}

/** Returns the tool calls of a message. */
function callsIn({ content, toolCalls, tool_calls: others }) {
  const blocks = Array.isArray(content) ? content.filter((block) => block?.type === "toolCall") : [];
  return [blocks, toolCalls, others].filter(Array.isArray).flat();
}

/** True for a tool's result, pi's or a session's. */
const isResult = ({ role }) => role === "tool" || role === "toolResult";

/** Throws a TypeError for results inside a message, as the guard takes them. */
function checkNoResults(message) {
  if (!message?.toolResults?.length) return;
  throw new TypeError(
    'message.toolResults is not taken here; make each result a message of its own, { role: "tool", content, toolCallId }',
  );
}

/** Returns the id of the call that a result answers. */
const answeredId = ({ toolCallId, tool_call_id: id = toolCallId }) => id;

const marked = (_, value) => (Object.is(value, -0) ? MINUS_ZERO : value);
const unmarked = (text) => text?.replaceAll(`"${MINUS_ZERO}"`, "-0");

/** Writes JSON that keeps -0. */
const written = (value) => unmarked(JSON.stringify(value, marked));

/** Returns the id, the name and the arguments (as JSON) of a call. */
function readCall(call) {
  const custom = call?.custom && { name: call.custom.name, arguments: call.custom.input };
  const named = call?.function ?? custom ?? call;
  const given = named?.argumentsText ?? named?.arguments;
  const text = typeof given === "string" ? given : unmarked(json(given === undefined ? {} : given, marked));
  return { id: String(call?.id ?? ""), name: String(named?.name ?? UNKNOWN), arguments: text };
}

/** Returns for each message the index of the first one in its group: for a result, its call. */
function groupStarts(messages) {
  const callers = new Map();
  return messages.map((message, index) => {
    for (const call of callsIn(message)) callers.set(String(call?.id ?? ""), index);
    const caller = isResult(message) ? callers.get(String(answeredId(message) ?? "")) : undefined;
    return caller ?? index;
  });
}

/** Moves `start` back until no group begins before it and ends between it and `end`. */
function withCalls(starts, start, end = starts.length) {
  let from = start;
  for (let index = end - 1; index >= from; index -= 1) from = Math.min(from, starts[index]);
  return from;
}

/** True if a cut at `at` splits a surrogate pair. */
const splitsPair = (text, at) =>
  /^[\ud800-\udbff][\udc00-\udfff]/.test(text.slice(Math.max(0, at - 1), at + 1));

/** Slices a text without half a surrogate pair at either end. */
function wholeChars(text, from, to) {
  return text.slice(splitsPair(text, from) ? from + 1 : from, splitsPair(text, to) ? to - 1 : to);
}

/** Cuts a text to `max` UTF-16 units, the last of which is an ellipsis. */
const clip = (text, max) => (text.length > max ? `${wholeChars(text, 0, max - 1)}…` : text);

/** Replaces characters that some databases cannot hold. */
const storable = (text) => (isPlain(text) ? text : text.toWellFormed().replaceAll("\0", " "));

/** True for text that every database can hold. */
const isPlain = (text) => text.isWellFormed() && !text.includes("\0");

module.exports = {
  UNKNOWN,
  answeredId,
  callsIn,
  checkNoResults,
  clip,
  groupStarts,
  isPlain,
  isResult,
  plainText,
  readCall,
  splitsPair,
  storable,
  wholeChars,
  withCalls,
  written,
};
