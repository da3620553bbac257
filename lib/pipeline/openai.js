// Between messages of any of this package's shapes and OpenAI's chat format, tool calls and images included.
"use strict";

const { show } = require("../options.js");
const { json } = require("../snapshot.js");

/** Stop reasons after which pi does not send an assistant message again. */
const UNSENT_STOP_REASONS = new Set(["error", "aborted"]);
/** OpenAI's roles, and ours for them. */
const ROLES = new Map([
  ["system", "system"],
  ["developer", "system"],
  ["user", "user"],
  ["assistant", "assistant"],
  ["tool", "tool"],
]);
const ROLE_NAMES = Array.from(ROLES.keys(), (role) => JSON.stringify(role)).join(", ");

function toOpenAIMessages(messages) {
  const unsentCalls = new Set();
  const converted = [];
  for (const message of messages) {
    if (isUnsent(message)) {
      for (const call of callsOf(message)) unsentCalls.add(call.id);
      continue;
    }
    if (unsentCalls.has(message.toolCallId)) continue;
    converted.push(toOpenAI(message));
  }
  return converted;
}

function isUnsent({ role, stopReason, excludeFromContext }) {
  return excludeFromContext === true || (role === "assistant" && UNSENT_STOP_REASONS.has(stopReason));
}

function toOpenAI(message) {
  switch (message.role) {
    case "system":
      return { role: "system", content: textOf(message.content) };
    case "assistant":
      return assistant(message);
    case "tool":
    case "toolResult":
      return { role: "tool", tool_call_id: message.toolCallId, content: textOf(message.content) };
    case "user":
      return { role: "user", content: userContent(message.content) };
    default:
      return { role: "user", content: otherText(message) };
  }
}

function assistant(message) {
  const calls = callsOf(message);
  const text = textOf(message.content);
  if (calls.length === 0) return { role: "assistant", content: text };
  return { role: "assistant", content: text === "" ? null : text, tool_calls: calls.map(toOpenAICall) };
}

/** The calls of a pi message (blocks) or of a neutral one (`toolCalls`), each with id, name and arguments. */
function callsOf({ content, toolCalls }) {
  const blocks = Array.isArray(content) ? content.filter((block) => block?.type === "toolCall") : [];
  return [...blocks, ...(toolCalls ?? []).map(fromOpenAICall)];
}

function toOpenAICall({ id, name, arguments: args }) {
  return {
    id,
    type: "function",
    function: { name, arguments: typeof args === "string" ? args : json(args ?? {}) },
  };
}

/** A call in our shape; one that has it already is left as it is. */
function fromOpenAICall(call) {
  if (call?.function === undefined) return call;
  const { name, arguments: args } = call.function;
  return { id: call.id, name, arguments: parsed(args) };
}

/** Arguments as an object; the text itself where a model wrote no JSON. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function userContent(content) {
  if (!Array.isArray(content) || !content.some((block) => block?.type === "image")) return textOf(content);
  return content.map((block) => {
    if (block?.type !== "image") return { type: "text", text: block?.text ?? "" };
    return { type: "image_url", image_url: { url: `data:${block.mimeType};base64,${block.data}` } };
  });
}

/** The messages of pi that only a host can have: summaries, commands it ran, its own kinds. */
function otherText({ content, summary, command, output }) {
  if (summary !== undefined) return String(summary);
  if (command !== undefined) return `$ ${command}\n${output ?? ""}`;
  return textOf(content);
}

function textOf(content) {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  const texts = content.filter((block) => typeof block?.text === "string").map(({ text }) => text);
  return texts.join("\n");
}

function fromOpenAIMessages(messages) {
  return messages.map((message, index) => {
    const { role, content, tool_calls: calls, tool_call_id: toolCallId } = message ?? {};
    if (!ROLES.has(role)) {
      throw new TypeError(
        `fromOpenAIMessages: the role of message ${index} is ${show(role)}; it must be ${ROLE_NAMES}`,
      );
    }
    return {
      role: ROLES.get(role),
      content: textOf(content),
      ...(calls?.length > 0 && { toolCalls: calls.map(fromOpenAICall) }),
      ...(toolCallId != null && { toolCallId }),
    };
  });
}

module.exports = { toOpenAIMessages, fromOpenAIMessages };
