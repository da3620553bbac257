// OpenAI's chat messages. A tool message is one result; the calls stand beside the content.
"use strict";

const {
  blocksOf,
  callBlock,
  contentOf,
  countedBlock,
  describedFile,
  imageFromUrl,
  parsed,
  textBlock,
} = require("./parts.js");

const ROLES = new Set(["developer", "function"]);
const PARTS = new Set(["image_url", "input_audio", "refusal"]);

function isMarked({ role, content, tool_calls: calls, tool_call_id: id, function_call: call }) {
  if (ROLES.has(role) || Array.isArray(calls) || id !== undefined || call?.name !== undefined) return true;
  return Array.isArray(content) && content.some((part) => PARTS.has(part?.type) || part?.file !== undefined);
}

function read(message, names) {
  const { role, content, tool_calls: calls, function_call: old } = message;
  const blocks = blocksOf(content, toBlock);
  if (role === "tool" || role === "function") {
    const toolCallId = message.tool_call_id ?? message.name;
    return [
      { role: "toolResult", toolCallId, toolName: message.name ?? names.get(toolCallId), content: blocks },
    ];
  }
  if (role === "developer") return [{ role: "system", content: blocks }];
  const called = [
    ...(Array.isArray(calls) ? calls : []),
    ...(old === undefined ? [] : [{ id: old.name, function: old }]),
  ];
  return [{ role, content: [...blocks, ...called.map((call) => readCall(call, names))] }];
}

function readCall(call, names) {
  const { name, arguments: given } = call?.function ?? call?.custom ?? {};
  names.set(call?.id, name);
  return callBlock(call, call?.id, name, parsed(given ?? call?.custom?.input));
}

function toBlock(part) {
  if (part?.type === "text") return textBlock(part, part.text);
  if (part?.type === "image_url") return imageFromUrl(part, part.image_url?.url);
  return countedBlock(part, describedFile(part));
}

function write(message, [{ content }]) {
  const blocks = content.filter(({ type }) => type !== "toolCall");
  return { ...message, content: contentOf(message.content, blocks) };
}

module.exports = { isMarked, read, toBlock, write };
