// The shapes of other stacks. `isMarked(message)` recognises a message that only this shape can hold. `read(message, calls)`
// returns its stand-ins, messages of pi; `calls` are those before it, by id. `write(message, standIns, isOwn)` returns the
// message for edited stand-ins; `isOwn` is true for an unedited one. Unmarked messages (`{ role, content: string }`) are the
// same in every shape.
"use strict";

const { json } = require("../hook/snapshot.js");
const { PART, blockOf, blocksOf, callBlock, contentOf, countedBlock, partsOf } = require("./parts.js");

/** Types of parts that only one stack has. */
const OPENAI_PART = /^(?:image_url|input_audio|refusal)$/;
const RESPONSES_PART = /^(?:input_text|output_text|input_image|input_file)$/;
const ANTHROPIC_PART = /^(?:(?:server_)?tool_use|tool_result|document)$/;

const hasPart = ({ content }, isOwn) => Array.isArray(content) && content.some((part) => isOwn(part ?? {}));
const listOf = (value) => (Array.isArray(value) ? value : []);
const system = (role) => (role === "developer" ? "system" : role);

/** Writes a message whose `field` is the content of its only stand-in. */
const whole =
  (field) =>
  (message, [{ content }]) => ({ ...message, [field]: contentOf(message[field], content) });

/** Writes a message whose `field` lists parts. `cut(part, standIn)` returns the part for an edited stand-in. */
const inParts = (field, cut) => (message, standIns, isOwn) => {
  const parts = standIns.flatMap((standIn) => {
    const own = standIn[PART];
    if (own === undefined) return partsOf(standIn.content);
    return isOwn(standIn) ? own : own.map((part) => cut(part, standIn));
  });
  return { ...message, [field]: parts };
};

/** pi's messages with blocks of an unknown type. */
const pi = {
  isMarked: (message) => hasPart(message, ({ type }) => !PI_BLOCKS.has(type)),
  read: (message) => [
    withBlocks(message, (block) => (PI_BLOCKS.has(block?.type) ? block : countedBlock(block))),
  ],
  write: (message, [{ content }]) =>
    withBlocks({ ...message, content }, (block) => (PART in block ? block[PART] : block)),
};
const withBlocks = (message, change) => {
  const { content } = message;
  return { ...message, content: Array.isArray(content) ? content.map(change) : content };
};
const PI_BLOCKS = new Set(["text", "thinking", "redacted_thinking", "toolCall", "image"]);

/**
 * Messages with `toolCalls`. Results are inside a message (`toolResults: [{ success, data | error }]`) or in their own
 * (`role: "tool"`, `toolCallId`), as in sessions and pipelines. The JSON of calls and results counts.
 */
const seed = {
  isMarked: ({ role, toolCalls, toolResults, toolCallId, blocks }) =>
    [toolCalls, toolResults, blocks].some(Array.isArray) || (role === "tool" && toolCallId !== undefined),
  read({ role, content, blocks, toolCalls, toolResults, toolCallId }) {
    const said = blocksOf(Array.isArray(blocks) ? blocks : content);
    if (role === "tool" && !Array.isArray(toolResults))
      return [{ role: "toolResult", toolCallId, content: said }];
    const calls = listOf(toolCalls).map((call) => ({ id: call?.id, name: call?.name ?? call?.toolName }));
    const results = listOf(toolResults).map((result, i) => seedResult(result, calls[i]));
    if (calls.length > 0) said.push({ type: "counted", text: json(toolCalls, unsigned), [PART]: toolCalls });
    const isAnswer = calls.length === 0 && results.length > 0 && !content;
    return isAnswer ? results : [{ role, content: said, toolCalls: calls, [PART]: [] }, ...results];
  },
  write(message, standIns, isOwn) {
    if (Array.isArray(message.toolResults)) return writeSeedResults(message, standIns, isOwn);
    const isContent = (value) => typeof value === "string" || Array.isArray(value);
    const fields = ["content", "blocks"].filter((name) => isContent(message[name]));
    const cut = fields.map((name) => [name, contentOf(message[name], standIns[0].content)]);
    return { ...message, ...Object.fromEntries(cut) };
  },
};

/** Leaves out Gemini's signatures, which pi's calls do not count either. */
const unsigned = (key, value) => (key === "thoughtSignature" ? undefined : value);

const writeSeedResults = inParts("toolResults", (result, { isError, payload }) => ({
  ...result,
  [isError ? "error" : "data"]: payload,
}));

function seedResult(result, call) {
  const { success, data, error, toolCallId = result?.id ?? call?.id, toolName = result?.name } = result ?? {};
  const isError = success === false || (data === undefined && error !== undefined);
  return {
    role: "toolResult",
    toolCallId,
    toolName: toolName ?? call?.name,
    isError,
    ...payloadOf(isError ? error : data, isError),
    [PART]: [result],
  };
}

/** Returns a result's text and the counted text: for data, its JSON. */
function payloadOf(payload, isError) {
  const text = typeof payload === "string" ? payload : json(payload);
  return { payload: text, content: [{ type: "counted", text: isError ? text : json(payload) }] };
}

/** OpenAI's chat messages, and Ollama's, which have no ids. A tool message is one result; the calls are beside the content. */
const openai = {
  isMarked: (message) =>
    ["developer", "function"].includes(message.role) ||
    (message.role === "tool" && typeof message.content === "string") ||
    Array.isArray(message.tool_calls) ||
    message.tool_call_id !== undefined ||
    message.function_call?.name !== undefined ||
    hasPart(message, ({ type, file }) => OPENAI_PART.test(type) || file !== undefined),
  read({ role, tool_name: tool, name = tool, content, tool_calls: calls, function_call: old, ...message }) {
    const said = blocksOf(content);
    if (role === "tool" || role === "function") {
      const toolCallId = message.tool_call_id ?? (role === "function" ? name : undefined);
      return [{ role: "toolResult", toolCallId, toolName: name, content: said }];
    }
    const called = old === undefined ? listOf(calls) : [...listOf(calls), { id: old.name, function: old }];
    return [{ role: system(role), content: [...said, ...called.map(openaiCall)] }];
  },
  write: whole("content"),
};

function openaiCall(call) {
  const { name, arguments: given, input } = call?.function ?? call?.custom ?? {};
  return callBlock(call, call?.id, name, given ?? input);
}

/** Items of OpenAI's Responses API: messages, and calls, results and reasoning as items of their own. */
const responses = {
  isMarked: (item) =>
    (typeof item.type === "string" && (item.role === undefined || item.type === "message")) ||
    hasPart(item, ({ type }) => RESPONSES_PART.test(type)),
  read(item) {
    const { type, role, content, call_id: id, name = type, arguments: given, input, output, summary } = item;
    if (role === "assistant") return answer(...blocksOf(content));
    if (role !== undefined) return [{ role: system(role), content: blocksOf(content) }];
    if (/_output$/.test(type)) {
      const said = blocksOf(typeof output === "string" ? output : [output].flat());
      return [{ role: "toolResult", toolCallId: id, content: said }];
    }
    if (/_call$/.test(type) && id !== undefined) {
      const args = given ?? input ?? { ...item, type: undefined, call_id: undefined };
      return answer(callBlock(item, id, name, args));
    }
    // OpenAI rejects an answer to an approval request without the request.
    if (type === "mcp_approval_request") return answer(callBlock(item, item.id, name, given));
    if (type === "mcp_approval_response")
      return [{ role: "toolResult", toolCallId: item.approval_request_id, content: [countedBlock(item)] }];
    if (type !== "reasoning") return answer(countedBlock(item));
    const texts = [summary, content].flatMap(blocksOf);
    const thinking = texts.map(({ text }) => text).join("\n");
    return answer({ type: "thinking", thinking, [PART]: item });
  },
  write: whole("output"),
};

/** Returns the stand-in of an item of an answer. OpenAI rejects some of them without the others. */
const answer = (...content) => [{ role: "assistant", content, leadsNext: true }];

/** Anthropic's messages. A user message can hold results, and text after them. */
const anthropic = {
  isMarked: (message) =>
    hasPart(message, ({ type, source }) => ANTHROPIC_PART.test(type) || source !== undefined),
  read({ role, content }) {
    const isResult = (part) => part?.type === "tool_result";
    const results = content.filter(isResult).map((part) => ({
      role: "toolResult",
      toolCallId: part.tool_use_id,
      isError: part.is_error === true,
      content: blocksOf(part.content),
      [PART]: [part],
    }));
    const said = content.filter((part) => !isResult(part)).map(blockOf);
    return said.length === 0 ? results : [...results, { role, content: said }];
  },
  write: inParts("content", (part, { content }) => ({ ...part, content: contentOf(part.content, content) })),
};

module.exports = { anthropic, hasPart, inParts, openai, payloadOf, pi, responses, seed };
