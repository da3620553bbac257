// Small functions for texts and messages.
"use strict";

/** Stands for an image in plain text. */
const IMAGE_NOTE = "[image]";

/** Returns the text of a content, with a note for each image. Skips thinking and calls. */
function plainText(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap(wordsOf).join("\n");
}

function wordsOf(block) {
  if (block?.type === "text" && typeof block.text === "string") return [block.text];
  return block?.type === "image" ? [IMAGE_NOTE] : [];
}

/** Returns the tool calls of a message of pi, of a session or of OpenAI. */
function callsIn({ content, toolCalls, tool_calls: others }) {
  const blocks = Array.isArray(content) ? content.filter((block) => block?.type === "toolCall") : [];
  return [blocks, toolCalls, others].filter(Array.isArray).flat();
}

/** True for a tool's result, pi's or a session's. */
const isResult = ({ role }) => role === "tool" || role === "toolResult";

/** Replaces characters that some database cannot hold. */
function storable(text) {
  return isPlain(text) ? text : text.toWellFormed().replaceAll("\0", " ");
}

/** True for text that every database can hold. */
function isPlain(text) {
  return text.isWellFormed() && !text.includes("\0");
}

module.exports = { callsIn, isPlain, isResult, plainText, storable };
