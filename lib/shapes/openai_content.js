// Converts content between OpenAI's parts and a session's blocks: text, images, and parts that only OpenAI has.
"use strict";

const { joinedText } = require("../hook/snapshot.js");
const { plainText } = require("./text.js");

/** OpenAI's parts without a block of their own. They stay as they are. */
const FOREIGN_PARTS = new Set(["image_url", "input_audio", "file", "refusal"]);
const DATA_URL = /^data:([^;,]+);base64,([A-Za-z0-9+/=]*)$/;

/** True for a block that is more than text. */
function isMedia(block) {
  return block?.type === "image" || FOREIGN_PARTS.has(block?.type);
}

/** Converts blocks to OpenAI's parts. Skips thinking and calls. */
function partsOf(content) {
  return content.flatMap((block) => {
    if (FOREIGN_PARTS.has(block?.type)) return [block];
    if (block?.type === "image") return [imagePart(block)];
    return typeof block?.text === "string" ? [{ type: "text", text: block.text }] : [];
  });
}

function imagePart({ mimeType, data, detail }) {
  const url = `data:${mimeType};base64,${data}`;
  return { type: "image_url", image_url: { url, ...(detail !== undefined && { detail }) } };
}

/** Converts OpenAI's content to text, with blocks if there is more than text. */
function contentFrom(content) {
  const words = { content: joinedText(content) };
  if (!Array.isArray(content) || !content.some(isMedia)) return words;
  return { ...words, blocks: content.map(blockOf) };
}

function blockOf(part) {
  if (part?.type === "text") return { type: "text", text: part.text };
  const [, mimeType, data] = DATA_URL.exec(part?.image_url?.url) ?? [];
  if (part?.type !== "image_url" || mimeType === undefined) return part;
  const { detail } = part.image_url;
  return { type: "image", mimeType, data, ...(detail !== undefined && { detail }) };
}

/** Returns the content of a message, a string or blocks. If a host changed the text, the new text and the images. */
function contentOf({ content, blocks }) {
  if (!Array.isArray(blocks)) return content;
  const text = joinedText(content);
  if (text === joinedText(blocks) || text === plainText(blocks)) return blocks;
  return [...(text === "" ? [] : [{ type: "text", text }]), ...blocks.filter(isMedia)];
}

/** Returns the text of pi's system message. The first one declares named sections, later ones replace or remove them. */
function systemText({ content, sections }, isLeading) {
  const text = joinedText(content);
  if (typeof sections !== "object" || sections === null) return text;
  const named = Object.entries(sections).flatMap(([name, section]) => {
    if (isLeading) return section === null ? [] : [String(section)];
    if (section === null) return [`The section "${name}" of the system prompt no longer holds.`];
    return [`The section "${name}" of the system prompt is now:\n\n${section}`];
  });
  return [text, ...named].filter((part) => part !== "").join("\n\n");
}

module.exports = { isMedia, partsOf, contentFrom, contentOf, systemText };
