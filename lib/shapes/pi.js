// pi's messages with blocks of an unknown type. The blocks stay as they are, and their JSON counts.
"use strict";

const { PART, countedBlock, describedFile } = require("./parts.js");

const KNOWN = new Set(["text", "thinking", "redacted_thinking", "toolCall", "image"]);

function isMarked({ content }) {
  return Array.isArray(content) && content.some((block) => !KNOWN.has(block?.type));
}

function read({ content, ...message }) {
  const known = (block) => (KNOWN.has(block?.type) ? block : countedBlock(block, describedFile(block)));
  return [{ ...message, content: content.map(known) }];
}

function write(message, [{ content }]) {
  return { ...message, content: content.map((block) => (block[PART] === undefined ? block : block[PART])) };
}

module.exports = { isMarked, read, write };
