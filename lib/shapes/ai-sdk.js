// The AI SDK's `ModelMessage` of majors 5, 6 and 7. A tool message holds several results; each becomes a toolResult of pi.
"use strict";

const { joinedText, json } = require("../hook/snapshot.js");
const { PART, blockOf, blocksOf, callBlock, countedBlock, partsOf } = require("./parts.js");
const { hasPart, inParts } = require("./shapes.js");

const ROLES = ["system", "user", "assistant", "tool"];
const MARK = /^(?:tool-(?:call|result|approval-re(?:quest|sponse))|reasoning|file)$/;

/** Item ids of OpenAI's calls whose results may be text. The SDK parses those of its other tools, such as `shell`, as JSON. */
const TEXT_CALL = /^(?:fc|ctc)_/;

/** Returns the id of a part as an item of OpenAI's Responses API. */
function itemIdOf(part) {
  const { openai, azure } = part?.providerOptions ?? {};
  return openai?.itemId ?? azure?.itemId;
}

/** True for a message that this shape can read. */
function isReadable(message) {
  const { role, content } = message ?? {};
  if (!ROLES.includes(role)) return false;
  if (typeof content === "string") return role !== "tool";
  return Array.isArray(content) && content.every((part) => typeof part?.type === "string");
}

const isMarked = (message) =>
  hasPart(message, ({ type, image }) => MARK.test(type) || (type === "image" && image !== undefined));

/** `asText` is true for a provider that sends every part of a result as text. */
function read({ role, content }, calls, asText) {
  if (role === "tool") return readResults(content, calls, asText);
  if (role !== "assistant")
    return [{ role, content: typeof content === "string" ? content : blocksOf(content) }];
  if (typeof content === "string") return [{ role, content: blocksOf(content) }];
  // A tool that the provider runs can answer in a later message.
  const isLate = ({ type, toolCallId: id }) => type === "tool-result" && !has(content, "tool-call", id);
  const said = content.filter((part) => !isLate(part)).map((part) => assistantBlock(part, content));
  const results = content
    .filter(isLate)
    .map((part) => ({ ...resultOf(part), content: [countedBlock(part)], [PART]: [part] }));
  // OpenAI refuses its items without their reasoning, by whatever name its model is called.
  const origin = content.some(itemIdOf) && { api: "openai-responses" };
  return said.length === 0 ? results : [...results, { role, content: said, ...origin }];
}

function has(content, wanted, id) {
  return content.some(({ type, toolCallId }) => type === wanted && toolCallId === id);
}

/** Other parts, such as answers to approval requests, go with the result before them, else with the first. */
function readResults(content, calls, asText) {
  const runs = [];
  let leading = [];
  for (const part of content) {
    if (part.type === "tool-result") {
      runs.push([...leading, part]);
      leading = [];
    } else (runs.at(-1) ?? leading).push(part);
  }
  return runs.map((parts) => {
    const result = parts.find(({ type }) => type === "tool-result");
    const itemId = itemIdOf(calls.get(result.toolCallId)?.[PART]);
    const isDenied = result.output?.type === "execution-denied";
    const isWhole = isDenied || (itemId !== undefined && !TEXT_CALL.test(itemId));
    const blocks = isWhole ? [countedBlock(result)] : outputBlocks(result.output, asText);
    return { ...resultOf(result), content: blocks, [PART]: parts };
  });
}

function resultOf({ toolCallId, toolName, output }) {
  return { role: "toolResult", toolCallId, toolName, isError: output?.type?.startsWith("error") ?? false };
}

/** Returns the blocks of a result. JSON becomes text; parts keep their types, unless they are sent as JSON. */
function outputBlocks(output, asText) {
  const { type, value } = output ?? {};
  const blockFor = (part) =>
    asText && part?.type !== "text" ? { type: "text", text: json(part) } : blockOf(part);
  if (type === "content" && Array.isArray(value)) return value.map(blockFor);
  return blocksOf(typeof value === "string" ? value : json(value ?? output));
}

function outputFrom(output, blocks) {
  if (output.type === "content") return { ...output, value: partsOf(blocks) };
  const { value: _, type, ...rest } = output;
  return { ...rest, type: type.startsWith("error") ? "error-text" : "text", value: joinedText(blocks) };
}

function assistantBlock(part, content) {
  const { type, text, toolCallId, toolName, input, providerExecuted } = part;
  const { anthropic, google, vertex } = part.providerOptions ?? {};
  switch (type) {
    case "text": {
      const textSignature = itemIdOf(part);
      return { ...blockOf(part), ...(textSignature && { textSignature }) };
    }
    case "reasoning": {
      // OpenAI-compatible providers send reasoning back in a field of that name.
      const thinkingSignature = anthropic?.signature ?? "reasoning_content";
      return { type: "thinking", thinking: text, thinkingSignature, [PART]: part };
    }
    case "tool-call": {
      // A provider's tool has call and result in one message: nothing to pair.
      if (providerExecuted && has(content, "tool-result", toolCallId)) return countedBlock(part);
      const thoughtSignature = google?.thoughtSignature ?? vertex?.thoughtSignature;
      return {
        ...callBlock(part, toolCallId, toolName, input),
        ...(thoughtSignature && { thoughtSignature }),
      };
    }
    default:
      return countedBlock(part);
  }
}

const writeParts = inParts("content", (part, { content }) =>
  part.type === "tool-result" ? { ...part, output: outputFrom(part.output, content) } : part,
);

function write(message, standIns, isOwn) {
  if (typeof message.content === "string") return { ...message, content: joinedText(standIns[0].content) };
  return writeParts(message, standIns, isOwn);
}

/** The shape for providers that send parts of results as JSON. */
const textResults = { isMarked, write, read: (message, calls) => read(message, calls, true) };

module.exports = { isMarked, isReadable, read, textResults, write };
