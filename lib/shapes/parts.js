// Turns the parts of a message into pi's blocks, which remember their parts, and edited blocks back into parts. One table
// serves all stacks: the names of their parts do not collide.
"use strict";

const { types } = process.getBuiltinModule?.("node:util") ?? require("node:util");
const { attempt } = require("../helpers.js");
const { joinedText, json, string } = require("../hook/snapshot.js");

/** Key of a stand-in and its edited copies: the message that it represents. */
const SOURCE = Symbol("source");
/** Key of a block and its edited copies: its part. On a stand-in for a part of a message: its parts there. */
const PART = Symbol("part");

const TEXT = /^(?:text|(?:input|output|summary|reasoning)_text)$/;
const IMAGE = /^(?:input_)?image/;
const IMAGE_MIME = /^image(?:\/|$)/;
const DATA_URL = /^data:([^;,]*);base64,/;
/** UTF-16 units at the beginning and end of a text that show whether it is a base64 file. A shorter text never is. */
const BYTES_UNITS = 1000;
const BASE64 = /^(?:data:[^,]*,)?[\w+/=-]*$/;
/** The beginning of a PDF as base64, and its bytes: `%PDF-1`. */
const PDF = /^(?:data:[^,]*,)?JVBERi/;
const PDF_HEAD_BYTES = 6;
/** Bytes of a PDF per token, and most tokens of a PDF: a page's, since a scan has megabytes. Usage reports raise the count. */
const PDF_TOKEN_BYTES = 20;
const MOST_PDF_TOKENS = 3000;
/** Fields of text that only the provider can read. It counts. */
const ENCRYPTED = /^encrypted/;

/** Returns the block of a part. A part unknown to pi stays unchanged, and its JSON counts. */
function blockOf(part) {
  const { type = "", text, thinking, signature, image_url: url, source, mediaType } = part ?? {};
  if (TEXT.test(type) && typeof text === "string") return { type: "text", text, [PART]: part };
  const mimeType = source?.media_type ?? mediaType;
  if (url !== undefined || IMAGE.test(type) || IMAGE_MIME.test(mimeType)) return imageBlock(part, mimeType);
  switch (type) {
    case "thinking":
      return { type, thinking, thinkingSignature: signature, [PART]: part };
    case "tool_use":
      return callBlock(part, part.id, part.name, part.input);
    default:
      return countedBlock(part);
  }
}

function imageBlock(part, mimeType = part.mimeType) {
  const { image_url: shown, source, image, data, url } = part;
  const file =
    shown?.url ?? shown ?? source?.data ?? source?.url ?? image ?? data?.data ?? data?.url ?? data ?? url;
  const address = string(file?.href ?? file);
  const [head, written = mimeType] = DATA_URL.exec(address) ?? [""];
  const block = { type: "image", data: address.slice(head.length), mimeType: written, [PART]: part };
  return file?.byteLength > 0 ? { ...block, base64Units: Math.ceil(file.byteLength / 3) * 4 } : block;
}

/** Returns a call. Arguments that are JSON are parsed; of others the text itself counts. */
function callBlock(part, id, name, given) {
  const args = typeof given === "string" ? attempt(() => JSON.parse(given), given) : given;
  return { type: "toolCall", id, name, arguments: args, [PART]: part };
}

/** Returns a block that counts as JSON, without the bytes of files: no tokenizer knows their tokens. A PDF counts by its size. */
const countedBlock = (part) => ({ type: "counted", text: json(part, withoutBytes), [PART]: part });

/** A replacer for JSON.stringify. `this` holds the value as it was before `toJSON`, which writes a Buffer's bytes as a list. */
function withoutBytes(key, value) {
  const bytes = types.isAnyArrayBuffer(this[key]) ? new Uint8Array(this[key]) : this[key];
  if (ArrayBuffer.isView(bytes)) {
    const { buffer, byteOffset, byteLength } = bytes;
    const head = Buffer.from(buffer, byteOffset, Math.min(byteLength, PDF_HEAD_BYTES));
    return fileText(head.toString("base64"), byteLength);
  }
  if (typeof value !== "string" || value.length < BYTES_UNITS || ENCRYPTED.test(key)) return value;
  const ends = [value.slice(0, BYTES_UNITS), value.slice(-BYTES_UNITS)];
  return ends.every((end) => BASE64.test(end)) ? fileText(value, value.length * 0.75) : value;
}

/** Returns the text that counts in place of a file: for a PDF as many tokens as it may have, each " a". */
const fileText = (base64, bytes) =>
  PDF.test(base64) ? " a".repeat(Math.min(MOST_PDF_TOKENS, bytes / PDF_TOKEN_BYTES)) : undefined;

/** Returns the blocks of a content, which is a text or parts. */
function blocksOf(content) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.map(blockOf) : [];
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
const contentOf = (content, blocks) => (typeof content === "string" ? joinedText(blocks) : partsOf(blocks));

module.exports = { SOURCE, PART, blockOf, blocksOf, callBlock, contentOf, countedBlock, partsOf };
