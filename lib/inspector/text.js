// The text of one message, as the page shows it on a click. Nothing of it is kept.
"use strict";

/** More of one message is not sent to the page. UTF-16 code units. */
const MAX_CHARS = 200_000;

/** `{ role, name, text, sent }` of a message and of what was sent in its place; undefined where it is gone. */
function textOf(message, sent) {
  if (message === undefined) return undefined;
  const named = typeof message.toolName === "string" ? message.toolName : "";
  return {
    role: String(message.role),
    name: named,
    text: clipped(readable(message)),
    ...(sent !== undefined && { sent: clipped(readable(sent)) }),
  };
}

/** All that a message says, calls and thinking included. */
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

function clipped(text) {
  return text.length <= MAX_CHARS ? text : `${text.slice(0, MAX_CHARS)}\n… (${text.length} characters)`;
}

module.exports = { readable, textOf };
