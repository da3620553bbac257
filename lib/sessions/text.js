// Small things about texts and messages that the session rooms share. Lengths are UTF-16 code units.
"use strict";

const ELLIPSIS = "…";

/** Marks an image where only text can go. */
const IMAGE_NOTE = "[image]";

/** The first `max` units of `text`, an ellipsis included where something was cut; never half a surrogate pair. */
function clip(text, max) {
  if (text.length <= max) return text;
  const end = Math.max(0, max - ELLIPSIS.length);
  return `${text.slice(0, isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end)}${ELLIPSIS}`;
}

function isHighSurrogate(unit) {
  return unit >= 0xd800 && unit <= 0xdbff;
}

/** What a message says in words: its string or its text blocks, images as a note. Thinking and calls are left out. */
function plainText(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.flatMap(wordsOf).join("\n");
}

function wordsOf(block) {
  if (block?.type === "text" && typeof block.text === "string") return [block.text];
  return block?.type === "image" ? [IMAGE_NOTE] : [];
}

/** JSON that cannot close a tag it stands in: every `<` is written as an escape. */
function taggable(value) {
  return JSON.stringify(value).replaceAll("<", "\\u003c");
}

module.exports = { clip, plainText, taggable };
