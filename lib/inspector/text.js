// The text of one message, which the page shows on a click. It is not kept.
"use strict";

/** Most of one message that is sent to the page, in UTF-16 code units. */
const MAX_CHARS = 200_000;

/** `{ role, name, text, sent }` of a message and of the copy that was sent instead; undefined if it is gone. */
function textOf(message, sent) {
  if (message === undefined) return undefined;
  const { role, toolName } = message;
  const name = typeof toolName === "string" ? toolName : "";
  return { role: String(role), name, text: clipped(message), sent: sent && clipped(sent) };
}

/** The whole text of a message, with its calls and thinking. */
function readable(message) {
  const { content, summary, command, output } = message;
  const parts = [summary, command, output].filter((part) => typeof part === "string");
  if (typeof content === "string") parts.push(content);
  if (Array.isArray(content)) parts.push(...content.map(blockText));
  return parts.join("\n\n");
}

function blockText(block) {
  switch (block?.type) {
    case "text":
      return String(block.text);
    case "thinking":
      return `(thinking) ${block.thinking}`;
    case "toolCall":
      return `(call) ${block.name} ${asJson(block.arguments)}`;
    default:
      return `(${block?.type})`;
  }
}

function asJson(value) {
  try {
    return JSON.stringify(value, undefined, 2) ?? "";
  } catch {
    return "…";
  }
}

function clipped(message) {
  const text = readable(message);
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}\n… (${text.length} characters)`;
}

module.exports = { readable, textOf };
