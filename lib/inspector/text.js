// The text of one message, which the page shows on a click. It is not kept.
"use strict";

const { json } = require("../hook/snapshot.js");

/** Most of one message that is sent to the page, in UTF-16 code units. */
const MAX_CHARS = 200_000;

/** `{ role, name, text, sent }` of a message and of the copy that was sent instead; undefined if it is gone. */
function textOf(message, sent) {
  if (message === undefined) return undefined;
  const { role, toolName } = message;
  const name = typeof toolName === "string" ? toolName : "";
  return { role: String(role), name, text: clipped(message), sent: sent && clipped(sent) };
}

/** Each kind of block as text. */
const BLOCKS = new Map([
  ["text", ({ text }) => String(text)],
  ["thinking", ({ thinking }) => `(thinking) ${thinking}`],
  ["toolCall", ({ name, arguments: given }) => `(call) ${name} ${json(given, undefined, 2) || "…"}`],
]);

/** The whole text of a message, with its calls and thinking. */
function readable({ content, summary, command, output }) {
  const textIn = (block) => BLOCKS.get(block?.type)?.(block) ?? `(${block?.type})`;
  const blocks = Array.isArray(content) ? content.map(textIn) : [content];
  return [summary, command, output, ...blocks].filter((part) => typeof part === "string").join("\n\n");
}

function clipped(message) {
  const text = readable(message);
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}\n… (${text.length} characters)`;
}

module.exports = { readable, textOf };
