// The content of messages between OpenAI's parts and our blocks: text, images, and parts that only OpenAI has.
"use strict";

/** Parts of OpenAI's that have no block of ours, and go through as they are. */
const FOREIGN_PARTS = new Set(["image_url", "input_audio", "file", "refusal"]);
const DATA_URL = /^data:([^;,]+);base64,([A-Za-z0-9+/=]*)$/;

/** Whether text alone cannot say a block. */
function isMedia(block) {
  return block?.type === "image" || FOREIGN_PARTS.has(block?.type);
}

/** Blocks as OpenAI's parts; thinking and calls are none. */
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

/** OpenAI's content as ours: a string, or blocks where there is more than text. */
function blocksOf(content) {
  if (!Array.isArray(content) || !content.some(isMedia)) return textOf(content);
  return content.map((part) => {
    if (part?.type === "text") return { type: "text", text: part.text };
    const [, mimeType, data] = DATA_URL.exec(part?.image_url?.url) ?? [];
    if (part?.type !== "image_url" || mimeType === undefined) return part;
    const { detail } = part.image_url;
    return { type: "image", mimeType, data, ...(detail !== undefined && { detail }) };
  });
}

function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.filter((block) => typeof block?.text === "string").map(({ text }) => text);
  return texts.join("\n");
}

/** pi's system messages: the first declares named sections, later ones replace or remove them. */
function systemText({ content, sections }, isLeading) {
  const text = textOf(content);
  if (typeof sections !== "object" || sections === null) return text;
  const named = Object.entries(sections).flatMap(([name, section]) => {
    if (isLeading) return section === null ? [] : [String(section)];
    if (section === null) return [`The section "${name}" of the system prompt no longer holds.`];
    return [`The section "${name}" of the system prompt is now:\n\n${section}`];
  });
  return [text, ...named].filter((part) => part !== "").join("\n\n");
}

module.exports = { isMedia, partsOf, blocksOf, textOf, systemText };
