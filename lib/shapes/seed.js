// Messages with `toolCalls`. Results stand inside a message (`toolResults: [{ success, data | error }]`) or in their own
// (`role: "tool"`, `toolCallId`), as in sessions and pipelines. The JSON of calls and results counts.
"use strict";

const { json } = require("../hook/snapshot.js");
const openai = require("./openai.js");
const { PART, blockOf, blocksOf, contentOf, countedBlock } = require("./parts.js");

function isMarked({ role, toolCalls, toolResults, toolCallId, blocks }) {
  if ([toolCalls, toolResults, blocks].some(Array.isArray)) return true;
  return role === "tool" && toolCallId !== undefined;
}

function read(message, names) {
  const { role, content, blocks, toolCalls, toolResults, toolCallId } = message;
  const said = blocksOf(Array.isArray(blocks) ? blocks : content, toBlock);
  if (role === "tool" && !Array.isArray(toolResults)) {
    return [{ role: "toolResult", toolCallId, toolName: names.get(toolCallId), content: said }];
  }
  const calls = Array.isArray(toolCalls) ? toolCalls : [];
  for (const call of calls) names.set(call?.id, call?.name ?? call?.toolName);
  const results = Array.isArray(toolResults)
    ? toolResults.map((result, i) => readResult(result, calls[i], names))
    : [];
  if (calls.length > 0) said.push(countedBlock(toolCalls));
  const isAnswer = calls.length === 0 && results.length > 0 && !content;
  return isAnswer ? results : [{ role, content: said, toolCalls: calls }, ...results];
}

function readResult(result, call, names) {
  const { success, data, error, toolCallId = result?.id ?? call?.id, toolName = result?.name } = result ?? {};
  const isError = success === false || (data === undefined && error !== undefined);
  const payload = isError ? error : data;
  return {
    role: "toolResult",
    toolCallId,
    toolName: toolName ?? call?.name ?? names.get(toolCallId),
    isError,
    ...payloadOf(payload, isError),
    [PART]: result,
  };
}

/** Returns a result's text and the text that counts: for data, its JSON. */
function payloadOf(payload, isError) {
  const text = typeof payload === "string" ? payload : json(payload);
  return { payload: text, content: [{ type: "counted", text: isError ? text : json(payload) }] };
}

/** Reads pi's image, or a part of OpenAI's. */
function toBlock(part) {
  return part?.type === "image" && part.data !== undefined ? blockOf(part, part) : openai.toBlock(part);
}

function write(message, standIns, isOwn) {
  const { role, content, blocks, toolResults } = message;
  if (role === "tool" && !Array.isArray(toolResults)) {
    const cut = standIns[0].content;
    return {
      ...message,
      ...(typeof content === "string" && { content: contentOf(content, cut) }),
      ...(Array.isArray(blocks) && { blocks: contentOf(blocks, cut) }),
    };
  }
  const kept = standIns.filter((standIn) => standIn[PART] !== undefined);
  return {
    ...message,
    toolResults: kept.map((standIn) => (isOwn(standIn) ? standIn[PART] : writeResult(standIn))),
  };
}

function writeResult({ payload, isError, [PART]: result }) {
  return { ...result, [isError ? "error" : "data"]: payload };
}

module.exports = { isMarked, read, write, payloadOf };
