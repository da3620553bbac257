// Converts content and tool calls between OpenAI's form and a session's: text, images, parts that only OpenAI has, and arguments,
// which are the model's own text. They are parsed only if nothing is lost.
"use strict";

const { joinedText, json } = require("../hook/snapshot.js");
const { plainText, readCall } = require("./text.js");

/** OpenAI's parts without a block of their own. They stay as they are. */
const FOREIGN_PARTS = new Set(["image_url", "input_audio", "file", "refusal"]);
const DATA_URL = /^data:([^;,]+);base64,([A-Za-z0-9+/=]*)$/;
/** Digits that a JavaScript number always keeps (IEEE 754; Number.MAX_SAFE_INTEGER has 16). */
const SAFE_DIGITS = 15;
const STRING = /"(?:[^"\\]|\\.)*"/gs;
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

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

/** Converts OpenAI's content to text, with blocks if there is more than text. */
function fromParts(content) {
  const words = { content: joinedText(content) };
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
  if (!Array.isArray(blocks)) return content;
  const text = joinedText(content);
  if (text === joinedText(blocks) || text === plainText(blocks)) return blocks;
  return [...(text === "" ? [] : [{ type: "text", text }]), ...blocks.filter(isMedia)];
}

function toOpenAICall(call) {
  // A call of another kind, such as those of OpenAI's custom tools, has free text as input.
  if (typeof call?.type === "string" && !["function", "toolCall"].includes(call.type)) return call;
  const { id, name, arguments: text } = readCall(call);
  return { id, type: "function", function: { name, arguments: text } };
}

/** Returns a call in a session's form. A call of another kind stays as it is. */
function fromOpenAICall(call) {
  if (call?.function === undefined) return call;
  const { name, arguments: text } = call.function;
  return { id: call.id, name, arguments: parsed(text) };
}

/** Parses arguments. Returns broken JSON, a bare string and numbers longer than JavaScript's as they are. */
function parsed(text) {
  try {
    const value = JSON.parse(text);
    const isExact = typeof value !== "string" && json(value) !== "" && keepsNumbers(text);
    return isExact ? value : text;
  } catch {
    return text;
  }
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
  contentOf,
  otherText,
  fromOpenAICall,
  fromParts,
  isMedia,
  systemText,
  toOpenAICall,
  toParts,
};
