// Converts messages of pi, sessions and pipelines to OpenAI's chat format and back, with tool calls and images. OpenAI's messages
// come back as they were; images of a result stay in the user message that shows them. Arguments are the model's own text, and
// parsed only if nothing is lost.
"use strict";

const { isDeepStrictEqual } = process.getBuiltinModule?.("node:util") ?? require("node:util");
const { attempt } = require("../helpers.js");
const { checkChat } = require("../hook/foreign.js");
const { isUnsent, joinedText, json } = require("../hook/snapshot.js");
const { checkMessages, checkValue, oneOf } = require("../options.js");
const { answeredId, callsIn, checkNoResults, isResult, plainText, readCall } = require("./text.js");

/** OpenAI's parts without a block of their own. They stay as they are. */
const FOREIGN_PARTS = new Set(["image_url", "input_audio", "file", "refusal"]);
/** Fields in which OpenAI-compatible servers send thinking. Some refuse a call that comes back without it. */
const THINKING_FIELDS = ["reasoning_content", "reasoning", "reasoning_text"];
const THINKING_API = "openai-completions";
const DATA_URL = /^data:([^;,]+);base64,([A-Za-z0-9+/=]*)$/;
/** Digits that a JavaScript number always keeps (IEEE 754; Number.MAX_SAFE_INTEGER has 16). */
const SAFE_DIGITS = 15;
const STRING = /"(?:[^"\\]|\\.?)*(?:"|$)/gs;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** OpenAI's roles: a session's, and `developer`, another name for `system`. */
const openaiRole = oneOf("system", "developer", "user", "assistant", "tool");

/** Text of a tool message without text. OpenAI accepts only text there; images follow in a user message. */
const IMAGES_ONLY = "(see attached image)";
const imagesLabel = (toolCallId) => `Images in the result of call ${toolCallId}:`;
const mediaIn = (content) => (Array.isArray(content) ? content.filter(isMedia) : []);

function toOpenAIMessages(messages) {
  checkMessages("toOpenAIMessages", messages);
  messages.forEach(checkNoResults);
  checkChat("toOpenAIMessages", messages);
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
    // The images of parallel calls wait for the last result: no message may come between results.
    if (!isResult(message)) flush();
    else if (made !== message.original) images.push(...attachments(message));
    converted.push(made);
  }
  flush();
  return converted;
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
  if (role === "system") return { role, content: systemText(message, isLeading) };
  const said = contentOf(message);
  const text = joinedText(said);
  if (isResult(message)) {
    const content = text === "" && mediaIn(said).length > 0 ? IMAGES_ONLY : text;
    return { role: "tool", tool_call_id: answeredId(message), content };
  }
  const content = mediaIn(said).length > 0 ? toParts(said) : text;
  if (role !== "assistant")
    return { role: "user", content: role === "user" ? content : (otherText(message) ?? content) };
  const calls = callsIn(message).map(toOpenAICall);
  if (calls.length === 0) return { role, content };
  return { role, content: content === "" ? null : content, tool_calls: calls };
}

/** Returns the kept OpenAI message, or its fields, with the changes made since; undefined if none was kept. */
function restored(message) {
  const { original, content, api } = message;
  if (typeof original !== "object" || original === null) return undefined;
  const made = { ...toOpenAI(message, true), ...thinkingFields(content) };
  const unedited = { ...toOpenAI(fromOpenAI(original), true), ...thinkingFields(thinkingIn(original, api)) };
  if (isSame(unedited, made)) return original;
  const isKept = ([name]) => !(name in unedited) || isSame(unedited[name], made[name]);
  return { ...made, ...Object.fromEntries(Object.entries(original).filter(isKept)) };
}

/** Returns the thinking of an OpenAI message as pi's block, if pi sends it back by this `api`. */
function thinkingIn(original, api) {
  const has = (name) => typeof original?.[name] === "string" && original[name] !== "";
  const field = api === THINKING_API && THINKING_FIELDS.find(has);
  return field ? [{ type: "thinking", thinking: original[field], thinkingSignature: field }] : [];
}

/** Returns thinking blocks as the fields of their OpenAI message. */
function thinkingFields(blocks) {
  const own = Array.isArray(blocks)
    ? blocks.filter((block) => THINKING_FIELDS.includes(block?.thinkingSignature))
    : [];
  return Object.fromEntries(own.map(({ thinking, thinkingSignature: field }) => [field, thinking]));
}

/** False also for values nested too deeply to compare. */
const isSame = (a, b) => attempt(() => isDeepStrictEqual(a, b), false);

function fromOpenAIMessages(messages) {
  if (!Array.isArray(messages)) checkMessages("fromOpenAIMessages", messages);
  checkChat("fromOpenAIMessages", messages);
  for (const [i, message] of messages.entries())
    checkValue(`fromOpenAIMessages: the role of message ${i}`, message?.role, openaiRole);
  return messages.map((message) => {
    const made = fromOpenAI(message);
    return isSame(toOpenAI(made, true), message) ? made : { ...made, original: message };
  });
}

function fromOpenAI({ role, content, refusal, tool_calls: calls, tool_call_id: toolCallId }) {
  return {
    role: role === "developer" ? "system" : role,
    ...fromParts(content, refusal),
    ...(Array.isArray(calls) && calls.length > 0 && { toolCalls: calls.map(fromOpenAICall) }),
    ...(toolCallId != null && { toolCallId }),
  };
}

/** True for a block that is more than text. */
const isMedia = (block) => block?.type === "image" || FOREIGN_PARTS.has(block?.type);

/** Converts blocks to OpenAI's parts. Skips thinking and calls. */
function toParts(blocks) {
  return blocks.flatMap((block) => {
    const { type, text, mimeType, data, detail } = block ?? {};
    if (FOREIGN_PARTS.has(type)) return [block];
    if (type !== "image") return typeof text === "string" ? [{ type: "text", text }] : [];
    const url = `data:${mimeType};base64,${data}`;
    return [{ type: "image_url", image_url: { url, ...(detail !== undefined && { detail }) } }];
  });
}

/** Converts OpenAI's content to text, with blocks if there is more than text. A refusal stands for a missing content. */
function fromParts(content, refusal) {
  const words = { content: joinedText(content ?? refusal) };
  if (!Array.isArray(content) || !content.some(isMedia)) return words;
  return { ...words, blocks: content.map(fromPart) };
}

function fromPart(part) {
  if (part?.type === "text") return { type: "text", text: part.text };
  const { url, detail } = (part?.type === "image_url" && part.image_url) || {};
  const [, mimeType, data] = DATA_URL.exec(url) ?? [];
  if (mimeType === undefined) return part;
  return { type: "image", mimeType, data, ...(detail !== undefined && { detail }) };
}

/** Returns the content of a message, a string or blocks. If a host changed the text, the new text and the images. */
function contentOf({ content, blocks }) {
  if (!Array.isArray(blocks)) return Array.isArray(content) ? content.map(partOf) : content;
  const text = joinedText(content);
  if (text === joinedText(blocks) || text === plainText(blocks)) return blocks;
  return [...(text === "" ? [] : [{ type: "text", text }]), ...blocks.filter(isMedia)];
}

/** Returns the text that stands for a part in pi: its refusal, address or file name, or its type. */
function wordsOf(part) {
  const { type, refusal, image_url: image, file } = part ?? {};
  const words = [refusal, image?.url, file?.filename, file?.file_id];
  const isShown = (text) => typeof text === "string" && text !== "" && !text.startsWith("data:");
  return words.find(isShown) ?? `[${type}]`;
}

/** Returns the part for which an unedited text stands, else the block. */
const partOf = (block) =>
  block?.part !== undefined && block.text === wordsOf(block.part) ? block.part : block;

function toOpenAICall(call) {
  if (call?.type === "toolCall" && call.part !== undefined) return { ...call.part, id: call.id };
  if (isOtherCall(call)) return call;
  const { id, name, arguments: text } = readCall(call);
  // Gemini insists on fields of its own beside the function.
  return { ...(call?.function && call), id, type: "function", function: { name, arguments: text } };
}

/** True for a call that is no function call, such as one of OpenAI's custom tools: its input is free text. */
const isOtherCall = (call) => typeof call?.type === "string" && !["function", "toolCall"].includes(call.type);

/** Returns a call in a session's form. A call of another kind stays as it is. */
function fromOpenAICall(call) {
  if (call?.function === undefined) return call;
  const { name, arguments: text } = call.function;
  return { id: call.id, name, arguments: parsed(text) };
}

/** Parses arguments. Returns broken JSON, a bare string and numbers longer than JavaScript's as they are. */
function parsed(text) {
  return attempt(() => {
    const value = JSON.parse(text);
    const isExact = typeof value !== "string" && json(value) !== "" && keepsNumbers(text);
    return isExact ? value : text;
  }, text);
}

function keepsNumbers(text) {
  return (text.replace(STRING, "").match(NUMBER) ?? []).every((literal) => {
    const value = Number(literal);
    const isShort = literal.replace(/\D/g, "").length <= SAFE_DIGITS;
    const isZero = value === 0 && /^[^eE]*[1-9]/.test(literal);
    return String(value) === literal || (isShort && Number.isFinite(value) && !isZero);
  });
}

/** Returns the text of pi's system message. The first one declares named sections, later ones replace or remove them. */
function systemText({ content, sections }, isLeading) {
  const text = joinedText(content);
  if (typeof sections !== "object" || sections === null) return text;
  const named = Object.entries(sections).map(([name, section]) => {
    if (isLeading) return String(section ?? "");
    if (section === null) return `The section "${name}" of the system prompt no longer holds.`;
    return `The section "${name}" of the system prompt is now:\n\n${section}`;
  });
  return [text, ...named].filter((part) => part !== "").join("\n\n");
}

/** Returns the text of pi's summaries and commands; undefined for a host's own roles. */
function otherText({ summary, command, output }) {
  if (summary !== undefined) return String(summary);
  return command === undefined ? undefined : `$ ${command}\n${output ?? ""}`;
}

module.exports = {
  fromOpenAIMessages,
  isMedia,
  isOtherCall,
  otherText,
  systemText,
  thinkingIn,
  toOpenAIMessages,
  wordsOf,
};
