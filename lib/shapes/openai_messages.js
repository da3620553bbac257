// Converts messages of pi, sessions and pipelines to OpenAI's chat format and back, with tool calls and images. Both ways back
// are exact.
"use strict";

const { isDeepStrictEqual } = process.getBuiltinModule?.("node:util") ?? require("node:util");
const { joinedText } = require("../hook/snapshot.js");
const { checkMessages, show } = require("../options.js");
const { UNSENT_STOP_REASONS } = require("../contract.js");
const { fromOpenAICall, toOpenAICall } = require("./openai_calls.js");
const { contentFrom, contentOf, isMedia, partsOf, systemText } = require("./openai_content.js");
const { callsIn, isResult } = require("./text.js");

/** OpenAI's roles: a session's, and another name of the first. */
const ROLES = ["system", "developer", "user", "assistant", "tool"];

/** Text of a tool message without text. OpenAI takes text alone there; images follow in a user message. */
const IMAGES_ONLY = "(see attached image)";
const imagesLabel = (toolCallId) => `Images in the result of call ${toolCallId}:`;

function toOpenAIMessages(messages) {
  checkMessages("toOpenAIMessages", messages);
  const unsentCalls = new Set();
  const converted = [];
  let images = [];
  const flush = () => {
    if (images.length > 0) converted.push({ role: "user", content: images });
    images = [];
  };
  for (const message of messages) {
    if (isUnsent(message)) {
      for (const call of callsIn(message)) unsentCalls.add(call.id);
      continue;
    }
    if (isResult(message) && unsentCalls.has(message.toolCallId)) continue;
    const isLeading = converted.every(({ role }) => role === "system");
    const made = restored(message) ?? toOpenAI(message, isLeading);
    // The images of parallel calls wait for the last result: nothing may stand between results.
    if (!isResult(message)) flush();
    else if (made !== message.original) images.push(...attachments(message));
    converted.push(made);
  }
  flush();
  return converted;
}

function isUnsent({ role, stopReason, excludeFromContext }) {
  return excludeFromContext === true || (role === "assistant" && UNSENT_STOP_REASONS.has(stopReason));
}

/** Returns the parts that show a tool result's images in a user message. */
function attachments(message) {
  const content = contentOf(message);
  if (!Array.isArray(content) || !content.some(isMedia)) return [];
  return [{ type: "text", text: imagesLabel(message.toolCallId) }, ...partsOf(content.filter(isMedia))];
}

function toOpenAI(message, isLeading) {
  switch (message.role) {
    case "system":
      return { role: "system", content: systemText(message, isLeading) };
    case "assistant":
      return assistant(message);
    case "tool":
    case "toolResult":
      return { role: "tool", tool_call_id: message.toolCallId, content: resultText(contentOf(message)) };
    case "user":
      return { role: "user", content: sentContent(message) };
    default:
      return { role: "user", content: otherContent(message) };
  }
}

function assistant(message) {
  const calls = callsIn(message);
  const content = sentContent(message);
  if (calls.length === 0) return { role: "assistant", content };
  return {
    role: "assistant",
    content: content === "" ? null : content,
    tool_calls: calls.map(toOpenAICall),
  };
}

function sentContent(message) {
  const content = contentOf(message);
  return Array.isArray(content) && content.some(isMedia) ? partsOf(content) : joinedText(content);
}

function resultText(content) {
  const text = joinedText(content);
  return text === "" && Array.isArray(content) && content.some(isMedia) ? IMAGES_ONLY : text;
}

/** Returns the content of pi's other messages: summaries, commands, a host's own roles. */
function otherContent(message) {
  const { summary, command, output } = message;
  if (summary !== undefined) return String(summary);
  if (command !== undefined) return `$ ${command}\n${output ?? ""}`;
  return sentContent(message);
}

/** Returns the kept OpenAI message, with the changes made since; undefined if none was kept. */
function restored(message) {
  const { original } = message;
  if (typeof original !== "object" || original === null) return undefined;
  return isSame(fields(fromOpenAI(original)), fields(message))
    ? original
    : { ...original, ...toOpenAI(message, true) };
}

function fields({ role, content, blocks, toolCalls, toolCallId }) {
  return { role, content, blocks, toolCalls, toolCallId };
}

/** False also for values nested too deeply to compare. */
function isSame(a, b) {
  try {
    return isDeepStrictEqual(a, b);
  } catch {
    return false;
  }
}

function fromOpenAIMessages(messages) {
  if (!Array.isArray(messages)) checkMessages("fromOpenAIMessages", messages);
  for (const [index, message] of messages.entries()) {
    const role = message?.role;
    if (ROLES.includes(role)) continue;
    throw new TypeError(
      `fromOpenAIMessages: the role of message ${index} is ${show(role)}; it must be ${ROLES.map(show).join(", ")}`,
    );
  }
  const neutral = messages.map((message) => withOriginal(fromOpenAI(message), message));
  return withImagesInResults(neutral, messages);
}

function fromOpenAI({ role, content, tool_calls: calls, tool_call_id: toolCallId }) {
  return {
    role: role === "developer" ? "system" : role,
    ...contentFrom(content),
    ...(Array.isArray(calls) && calls.length > 0 && { toolCalls: calls.map(fromOpenAICall) }),
    ...(toolCallId != null && { toolCallId }),
  };
}

/** Keeps OpenAI's message as `original` if the conversion loses something. */
function withOriginal(neutral, message) {
  return isSame(toOpenAI(neutral, true), message) ? neutral : { ...neutral, original: message };
}

/** Puts the images of tool results back from user messages, where that is exactly reversible. */
function withImagesInResults(neutral, messages) {
  const merged = [];
  let run = 0;
  for (const [index, message] of neutral.entries()) {
    const start = merged.length - run;
    const folded = message.role === "user" && run > 0 && folding(merged.slice(start), message.blocks);
    if (folded && isSame(toOpenAIMessages(folded), messages.slice(index - run, index + 1))) {
      merged.splice(start, run, ...folded);
      run = 0;
      continue;
    }
    merged.push(message);
    run = message.role === "tool" ? run + 1 : 0;
  }
  return merged;
}

/** Returns the results with the images behind their labels; undefined if there is anything else. */
function folding(results, blocks) {
  if (blocks === undefined) return undefined;
  const images = new Map();
  let current;
  for (const block of blocks) {
    if (block.type === "text") {
      const found = results.find(({ toolCallId }) => imagesLabel(toolCallId) === block.text);
      if (found === undefined || images.has(found)) return undefined;
      current = [];
      images.set(found, current);
    } else if (current === undefined) return undefined;
    else current.push(block);
  }
  return results.map((result) => {
    const own = images.get(result);
    if (own === undefined) return result;
    const content = result.content === IMAGES_ONLY ? "" : result.content;
    const text = content === "" ? [] : [{ type: "text", text: content }];
    return { ...result, content, blocks: [...text, ...own] };
  });
}

module.exports = { toOpenAIMessages, fromOpenAIMessages };
