// Small things about texts and messages that the session rooms share. Lengths are UTF-16 code units.
"use strict";

/** Marks an image where only text can go. */
const IMAGE_NOTE = "[image]";

/** The words of a message: its string or its text blocks, images as a note. Thinking and calls are left out. */
function plainText(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap(wordsOf).join("\n");
}

function wordsOf(block) {
  if (block?.type === "text" && typeof block.text === "string") return [block.text];
  return block?.type === "image" ? [IMAGE_NOTE] : [];
}

/** The tool calls of a message in any shape, each as it stands there. */
function callsIn({ content, toolCalls, tool_calls: others }) {
  const blocks = Array.isArray(content) ? content.filter((block) => block?.type === "toolCall") : [];
  return [blocks, toolCalls, others].filter(Array.isArray).flat();
}

/** True of a tool's answer, in our form or pi's. */
const isResult = ({ role }) => role === "tool" || role === "toolResult";

/** The text as every database can hold it. */
function storable(text) {
  return isPlain(text) ? text : text.toWellFormed().replaceAll("\0", " ");
}

/** True of text that every database can hold. */
function isPlain(text) {
  return text.isWellFormed() && !text.includes("\0");
}

module.exports = { callsIn, isPlain, isResult, plainText, storable };
