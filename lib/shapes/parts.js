// The tools that shapes are written with: blocks that remember the part they were read from.
"use strict";

const { joinedText, json } = require("../hook/snapshot.js");

/** On a stand-in and its edited copies: the message that it stands for. */
const SOURCE = Symbol("source");
/** On a block and its edited copies: the part that it was read from. On the stand-in of a tool result: its part. */
const PART = Symbol("part");

/** A block that remembers its part. */
const blockOf = (part, block) => ({ ...block, [PART]: part });
const textBlock = (part, text) => blockOf(part, { type: "text", text });
/** A part that pi has no block for: it stays as it is, and its JSON is counted. */
const countedBlock = (part, counted = part) => blockOf(part, { type: "counted", text: json(counted) });
const callBlock = (part, id, name, args) => blockOf(part, { type: "toolCall", id, name, arguments: args });
/** `data` is the base64 text, if the part has it. */
const imageBlock = (part, data, mimeType) =>
  blockOf(part, { type: "image", data: typeof data === "string" ? data : "", mimeType });

const DATA_URL = /^data:([^;,]*);base64,/;

/** An image by its address, which may hold its bytes. */
function imageFromUrl(part, url) {
  const [head, mimeType] = DATA_URL.exec(url) ?? [""];
  return imageBlock(part, typeof url === "string" ? url.slice(head.length) : "", mimeType);
}

/** A file as it is counted: without its bytes, whose tokens no tokenizer tells. */
function describedFile(part) {
  try {
    return JSON.parse(JSON.stringify(part, (key, value) => (isBytes(key, value) ? undefined : value)));
  } catch {
    return part;
  }
}

/** Fields that hold a file as base64, from this length on. */
const BYTES = new Set(["data", "file_data"]);
const BYTES_UNITS = 100;
const BASE64 = /^(?:data:[^,]*,)?[\w+/=-]*$/;

function isBytes(key, value) {
  if (ArrayBuffer.isView(value)) return true;
  if (!BYTES.has(key) || typeof value !== "string" || value.length < BYTES_UNITS) return false;
  return BASE64.test(value.slice(0, BYTES_UNITS));
}

/** The blocks of a content that is a text or parts. */
function blocksOf(content, toBlock) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(toBlock) : [];
}

/** Edited blocks as parts: each its own part, with the text that an edit put in. A block that an edit made is a text part. */
function partsOf(blocks) {
  return blocks.map((block) => {
    const part = block[PART];
    if (part === undefined) return { type: "text", text: block.text };
    return block.type === "text" && block.text !== part.text ? { ...part, text: block.text } : part;
  });
}

/** Edited blocks as the content that `content` was: a text, or parts. */
function contentOf(content, blocks) {
  return typeof content === "string" ? joinedText(blocks) : partsOf(blocks);
}

/** The part of a text between two positions, without half a surrogate pair at either end. */
function wholeChars(text, from, to) {
  const splits = (at) => at > 0 && isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at));
  return text.slice(splits(from) ? from + 1 : from, splits(to) ? to - 1 : to);
}

const isHigh = (unit) => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit) => unit >= 0xdc00 && unit < 0xe000;

/** Arguments as a value; the text itself where it is no JSON. */
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
