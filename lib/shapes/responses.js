// Items of OpenAI's Responses API: messages, and calls, results and reasoning as items of their own.
"use strict";

const {
  blockOf,
  blocksOf,
  callBlock,
  contentOf,
  countedBlock,
  describedFile,
  imageFromUrl,
  parsed,
  textBlock,
} = require("./parts.js");

const PARTS = new Set(["input_text", "output_text", "input_image", "input_file"]);
/** Types of items that hold a tool's result, such as `function_call_output`. */
const RESULT = /_output$/;
const CALL = /_call$/;

function isMarked({ role, type, content }) {
  if (typeof type === "string" && (role === undefined || type === "message")) return true;
  return Array.isArray(content) && content.some((part) => PARTS.has(part?.type));
}

function read(item, names) {
  const { type, role, content, call_id: id, name = type, arguments: given, input, output, summary } = item;
  if (role !== undefined)
    return [{ role: role === "developer" ? "system" : role, content: blocksOf(content, toBlock) }];
  if (RESULT.test(type)) {
    const parts = typeof output === "string" ? output : [output].flat();
    return [
      { role: "toolResult", toolCallId: id, toolName: names.get(id), content: blocksOf(parts, toBlock) },
    ];
  }
  if (CALL.test(type) && id !== undefined) {
    names.set(id, name);
    const args = parsed(given ?? input) ?? { ...item, type: undefined, call_id: undefined };
    return [{ role: "assistant", content: [callBlock(item, id, name, args)] }];
  }
  if (type !== "reasoning") return [{ role: "assistant", content: [countedBlock(item)] }];
  const texts = [summary, content].flatMap((parts) => blocksOf(parts, toBlock));
  const thinking = texts.map(({ text }) => text).join("\n");
  // OpenAI rejects reasoning without the item that follows it.
  return [{ role: "assistant", content: [blockOf(item, { type: "thinking", thinking })], leadsNext: true }];
}

function toBlock(part) {
  if (typeof part?.text === "string") return textBlock(part, part.text);
  if (typeof part?.image_url === "string") return imageFromUrl(part, part.image_url);
  return countedBlock(part, describedFile(part));
}

function write(item, [{ content }]) {
  const field = item.role === undefined ? "output" : "content";
  return { ...item, [field]: contentOf(item[field], content) };
}

module.exports = { isMarked, read, write };
