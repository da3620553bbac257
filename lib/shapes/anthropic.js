// Anthropic's messages. A user message can hold results and text behind them; each result becomes a toolResult of pi's.
"use strict";

const {
  PART,
  blockOf,
  blocksOf,
  callBlock,
  contentOf,
  countedBlock,
  imageBlock,
  partsOf,
  textBlock,
} = require("./parts.js");

const MARKS = new Set(["tool_use", "tool_result", "server_tool_use", "document"]);

function isMarked({ content }) {
  return (
    Array.isArray(content) && content.some((part) => MARKS.has(part?.type) || part?.source !== undefined)
  );
}

function read({ role, content }, names) {
  for (const part of content) if (part?.type === "tool_use") names.set(part.id, part.name);
  const results = content
    .filter((part) => part?.type === "tool_result")
    .map((part) => ({
      role: "toolResult",
      toolCallId: part.tool_use_id,
      toolName: names.get(part.tool_use_id),
      isError: part.is_error === true,
      content: blocksOf(part.content, toBlock),
      [PART]: part,
    }));
  const said = content.filter((part) => part?.type !== "tool_result").map(toBlock);
  return said.length === 0 ? results : [...results, { role, content: said }];
}

function toBlock(part) {
  switch (part?.type) {
    case "text":
      return textBlock(part, part.text);
    case "image":
      return imageBlock(part, part.source?.data, part.source?.media_type);
    case "thinking":
      return blockOf(part, { type: "thinking", thinking: part.thinking, thinkingSignature: part.signature });
    case "tool_use":
      return callBlock(part, part.id, part.name, part.input);
    case "document":
      return countedBlock(part, { ...part, source: { ...part.source, data: undefined } });
    default:
      return countedBlock(part);
  }
}

function write(message, standIns, isOwn) {
  const content = standIns.flatMap((standIn) => {
    const part = standIn[PART];
    if (part === undefined) return partsOf(standIn.content);
    return isOwn(standIn) ? [part] : [{ ...part, content: contentOf(part.content, standIn.content) }];
  });
  return { ...message, content };
}

module.exports = { isMarked, read, write };
