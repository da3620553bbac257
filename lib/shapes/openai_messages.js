// Converts messages of pi, sessions and pipelines to OpenAI's chat format and back, with tool calls and images. Both ways back
// are exact.
"use strict";

const { isDeepStrictEqual } = process.getBuiltinModule?.("node:util") ?? require("node:util");
const { joinedText } = require("../hook/snapshot.js");
const { checkMessages, show } = require("../options.js");
const { UNSENT_STOP_REASONS } = require("../contract.js");
const openai = require("./openai_parts.js");
const { answeredId, callsIn, isResult } = require("./text.js");

const { contentOf, isMedia, toParts } = openai;
/** OpenAI's roles: a session's, and another name of the first. */
const ROLES = ["system", "developer", "user", "assistant", "tool"];

/** Text of a tool message without text. OpenAI takes text alone there; images follow in a user message. */
const IMAGES_ONLY = "(see attached image)";
const imagesLabel = (toolCallId) => `Images in the result of call ${toolCallId}:`;
const mediaIn = (content) => (Array.isArray(content) ? content.filter(isMedia) : []);

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
    if (isResult(message) && unsentCalls.has(answeredId(message))) continue;
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
  const media = mediaIn(contentOf(message));
  return media.length === 0
    ? []
    : [{ type: "text", text: imagesLabel(answeredId(message)) }, ...toParts(media)];
}

function toOpenAI(message, isLeading) {
  const { role } = message;
  if (role === "system") return { role, content: openai.systemText(message, isLeading) };
  const said = contentOf(message);
  const text = joinedText(said);
  if (isResult(message)) {
    const content = text === "" && mediaIn(said).length > 0 ? IMAGES_ONLY : text;
    return { role: "tool", tool_call_id: answeredId(message), content };
  }
  const content = mediaIn(said).length > 0 ? toParts(said) : text;
  if (role !== "assistant")
    return { role: "user", content: role === "user" ? content : (openai.otherText(message) ?? content) };
  const calls = callsIn(message).map(openai.toOpenAICall);
  if (calls.length === 0) return { role, content };
  return { role, content: content === "" ? null : content, tool_calls: calls };
}

/** Returns the kept OpenAI message, with the changes made since; undefined if none was kept. */
function restored(message) {
  const { original } = message;
  if (typeof original !== "object" || original === null) return undefined;
  const fields = ({ role, content, blocks, toolCalls, toolCallId }) => [
    role,
    content,
    blocks,
    toolCalls,
    toolCallId,
  ];
  const isUnchanged = isSame(fields(fromOpenAI(original)), fields(message));
  return isUnchanged ? original : { ...original, ...toOpenAI(message, true) };
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
  const odd = messages.findIndex((message) => !ROLES.includes(message?.role));
  if (odd >= 0) {
    const role = show(messages[odd]?.role);
    const allowed = ROLES.map(show).join(", ");
    throw new TypeError(`fromOpenAIMessages: the role of message ${odd} is ${role}; it must be ${allowed}`);
  }
  const neutral = messages.map((message) => {
    const made = fromOpenAI(message);
    return isSame(toOpenAI(made, true), message) ? made : { ...made, original: message };
  });
  return withImagesInResults(neutral, messages);
}

function fromOpenAI({ role, content, tool_calls: calls, tool_call_id: toolCallId }) {
  return {
    role: role === "developer" ? "system" : role,
    ...openai.fromParts(content),
    ...(Array.isArray(calls) && calls.length > 0 && { toolCalls: calls.map(openai.fromOpenAICall) }),
    ...(toolCallId != null && { toolCallId }),
  };
}

/** Puts the images of tool results back from user messages, where that is exactly reversible. */
function withImagesInResults(neutral, messages) {
  const merged = [];
  let run = 0;
  for (const [index, message] of neutral.entries()) {
    const results = merged.slice(merged.length - run);
    const folded =
      message.role === "user" && message.blocks !== undefined ? withImages(results, message) : [];
    if (isSame(toOpenAIMessages(folded), messages.slice(index - run, index + 1))) {
      merged.splice(-run, run, ...folded);
      run = 0;
      continue;
    }
    merged.push(message);
    run = message.role === "tool" ? run + 1 : 0;
  }
  return merged;
}

/** Returns results with the images that stand behind their labels. */
function withImages(results, { blocks }) {
  const images = new Map();
  let own = [];
  for (const block of blocks) {
    const found = results.find(({ toolCallId }) => imagesLabel(toolCallId) === block?.text);
    if (found === undefined) own.push(block);
    else {
      own = [];
      images.set(found, own);
    }
  }
  return results.map((result) => {
    if (!images.has(result)) return result;
    const content = result.content === IMAGES_ONLY ? "" : result.content;
    const text = content === "" ? [] : [{ type: "text", text: content }];
    return { ...result, content, blocks: [...text, ...images.get(result)] };
  });
}

module.exports = { toOpenAIMessages, fromOpenAIMessages };
