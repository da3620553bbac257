// The AI SDK's `ModelMessage` of majors 5, 6 and 7. A tool message holds several results; each becomes a toolResult of pi's.
"use strict";

const { joinedText, json } = require("../hook/snapshot.js");
const {
  PART,
  blockOf,
  blocksOf,
  callBlock,
  countedBlock,
  describedFile,
  imageBlock,
  partsOf,
  textBlock,
} = require("./parts.js");

const ROLES = new Set(["system", "user", "assistant", "tool"]);
const MARKS = new Set([
  "tool-call",
  "tool-result",
  "tool-approval-request",
  "tool-approval-response",
  "reasoning",
  "file",
]);

const isPart = (part) => typeof part?.type === "string";

/** True for a message that this shape can read. */
function isReadable(message) {
  const { role, content } = message ?? {};
  if (!ROLES.has(role)) return false;
  return typeof content === "string" ? role !== "tool" : Array.isArray(content) && content.every(isPart);
}

/** True for a message that no other shape can hold. */
function isMarked({ content }) {
  return Array.isArray(content) && content.some((part) => MARKS.has(part?.type) || isOwnImage(part));
}

function isOwnImage(part) {
  return part?.type === "image" && part.image !== undefined;
}

function read(message, names) {
  const { role, content } = message;
  if (role === "tool") return readResults(content, names);
  if (role !== "assistant")
    return [{ role, content: typeof content === "string" ? content : content.map(userBlock) }];
  if (typeof content === "string") return [{ role, content: blocksOf(content) }];
  for (const { type, toolCallId, toolName } of content)
    if (type === "tool-call") names.set(toolCallId, toolName);
  // A tool that the provider runs can answer in a later message.
  const late = content.filter((part) => part.type === "tool-result" && !hasCall(content, part.toolCallId));
  const said = content.filter((part) => !late.includes(part)).map((part) => assistantBlock(part, content));
  const results = late.map((part) => ({
    ...resultOf(part, names),
    content: [countedBlock(part)],
    [PART]: [part],
  }));
  return said.length === 0 ? results : [...results, { role, content: said }];
}

function hasCall(content, id) {
  return content.some(({ type, toolCallId }) => type === "tool-call" && toolCallId === id);
}

/** Other parts, such as answers to approval requests, go with the result before them, else with the first. */
function readResults(content, names) {
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
    return { ...resultOf(result, names), content: outputBlocks(result.output), [PART]: parts };
  });
}

function resultOf({ toolCallId, toolName, output }, names) {
  const isError = output?.type?.startsWith("error") ?? false;
  return { role: "toolResult", toolCallId, toolName: toolName ?? names.get(toolCallId), isError };
}

/** Returns the blocks of a result. JSON becomes text; parts keep their types. */
function outputBlocks(output) {
  const { type, value, reason } = output ?? {};
  if (type === "content" && Array.isArray(value)) return value.map(userBlock);
  const text = type === "execution-denied" ? (reason ?? "") : value;
  return [{ type: "text", text: typeof text === "string" ? text : json(text ?? output) }];
}

function outputFrom(output, blocks) {
  if (output.type === "content") return { ...output, value: partsOf(blocks) };
  const { reason: _, value: __, type, ...rest } = output;
  return { ...rest, type: type.startsWith("error") ? "error-text" : "text", value: joinedText(blocks) };
}

function userBlock(part) {
  if (part.type === "text") return textBlock(part, part.text);
  const { type, image, data, url, mediaType = "" } = part;
  const isImage = type.startsWith("image") || mediaType.startsWith("image/");
  if (isImage) return imageBlock(part, image ?? data?.data ?? data ?? url, mediaType);
  return countedBlock(part, type === "media" || type.startsWith("file") ? describedFile(part) : part);
}

function assistantBlock(part, content) {
  const { type, text, providerOptions, toolCallId, toolName, input, providerExecuted } = part;
  switch (type) {
    case "text": {
      const textSignature = providerOptions?.openai?.itemId ?? providerOptions?.azure?.itemId;
      return { ...textBlock(part, text), ...(textSignature && { textSignature }) };
    }
    case "reasoning":
      return blockOf(part, {
        type: "thinking",
        thinking: text,
        thinkingSignature: signatureOf(providerOptions),
      });
    case "tool-call": {
      // A provider's tool has call and result in one message: nothing to pair.
      if (providerExecuted && isAnswered(content, toolCallId)) return countedBlock(part);
      const thoughtSignature =
        providerOptions?.google?.thoughtSignature ?? providerOptions?.vertex?.thoughtSignature;
      return {
        ...callBlock(part, toolCallId, toolName, input),
        ...(thoughtSignature && { thoughtSignature }),
      };
    }
    case "file":
    case "reasoning-file":
      return countedBlock(part, describedFile(part));
    default:
      return countedBlock(part);
  }
}

/** OpenAI-compatible providers send reasoning back in a field of that name. */
function signatureOf(providerOptions) {
  return providerOptions?.anthropic?.signature ?? "reasoning_content";
}

function isAnswered(content, id) {
  return content.some(({ type, toolCallId }) => type === "tool-result" && toolCallId === id);
}

function write(message, standIns, isOwn) {
  if (typeof message.content === "string") return { ...message, content: joinedText(standIns[0].content) };
  const content = standIns.flatMap((standIn) => {
    const parts = standIn[PART];
    if (parts === undefined) return partsOf(standIn.content);
    return isOwn(standIn) ? parts : parts.map((part) => cutPart(part, standIn.content));
  });
  return { ...message, content };
}

function cutPart(part, blocks) {
  return part.type === "tool-result" ? { ...part, output: outputFrom(part.output, blocks) } : part;
}

module.exports = { isMarked, isReadable, read, write };
