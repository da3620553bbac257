// Builds blocks that remember the part from which they were read, and turns edited blocks back into parts.
"use strict";

const { joinedText, json } = require("../hook/snapshot.js");

/** Key of a stand-in and its edited copies: the message that it stands for. */
const SOURCE = Symbol("source");
/** Key of a block and its edited copies: its part. On the stand-in of a tool result: the result's part. */
const PART = Symbol("part");

/** Returns a block that remembers its part. */
const blockOf = (part, block) => ({ ...block, [PART]: part });
const textBlock = (part, text) => blockOf(part, { type: "text", text });
/** Returns a block for a part that pi has not. The part stays as it is, and its JSON counts. */
const countedBlock = (part, counted = part) => blockOf(part, { type: "counted", text: json(counted) });
const callBlock = (part, id, name, args) => blockOf(part, { type: "toolCall", id, name, arguments: args });
/** `data` is the base64 text, if the part has it. */
const imageBlock = (part, data, mimeType) =>
  blockOf(part, { type: "image", data: typeof data === "string" ? data : "", mimeType });

const DATA_URL = /^data:([^;,]*);base64,/;

/** Returns an image block by its address, which can hold its bytes. */
function imageFromUrl(part, url) {
  const [head, mimeType] = DATA_URL.exec(url) ?? [""];
  return imageBlock(part, typeof url === "string" ? url.slice(head.length) : "", mimeType);
}

/** Returns a file without its bytes, for counting: no tokenizer knows their tokens. */
function describedFile(part) {
  try {
    return JSON.parse(JSON.stringify(part, (key, value) => (isBytes(key, value) ? undefined : value)));
  } catch {
    return part;
  }
}

/** Fields that can hold a file as base64, and the shortest such text in UTF-16 units. */
const BYTES = new Set(["data", "file_data"]);
const BYTES_UNITS = 100;
const BASE64 = /^(?:data:[^,]*,)?[\w+/=-]*$/;

function isBytes(key, value) {
  if (ArrayBuffer.isView(value)) return true;
  if (!BYTES.has(key) || typeof value !== "string" || value.length < BYTES_UNITS) return false;
  return BASE64.test(value.slice(0, BYTES_UNITS));
}

/** Returns the blocks of a content, which is a text or parts. */
function blocksOf(content, toBlock) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(toBlock) : [];
}

/** Turns edited blocks into parts: each block's own part, with edited text. A new block becomes a text part. */
function partsOf(blocks) {
  return blocks.map((block) => {
    const part = block[PART];
    if (part === undefined) return { type: "text", text: block.text };
    return block.type === "text" && block.text !== part.text ? { ...part, text: block.text } : part;
  });
}

/** Turns edited blocks into a text or parts, as `content` is. */
function contentOf(content, blocks) {
  return typeof content === "string" ? joinedText(blocks) : partsOf(blocks);
}

/** Slices a text without half a surrogate pair at either end. */
function wholeChars(text, from, to) {
  const splits = (at) => at > 0 && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
  return text.slice(splits(from) ? from + 1 : from, splits(to) ? to - 1 : to);
}

const isHigh = (unit) => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit) => unit >= 0xdc00 && unit < 0xe000;

/** Parses arguments; returns a text that is no JSON as it is. */
function parsed(given) {
  if (typeof given !== "string") return given;
  try {
    return JSON.parse(given);
  } catch {
    return given;
  }
}

module.exports = {
  SOURCE,
  PART,
  blockOf,
  blocksOf,
  callBlock,
  contentOf,
  countedBlock,
  describedFile,
  imageBlock,
  imageFromUrl,
  parsed,
  partsOf,
  textBlock,
  wholeChars,
};
