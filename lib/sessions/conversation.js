// Provider-neutral messages, `{ role: system | user | assistant | tool, content }`, to and from pi's AgentMessages.
// Words, tool calls and their results go both ways; thinking and images do not.
"use strict";

const { json } = require("../snapshot.js");
const { plainText } = require("./text.js");

/** What opens a summary in a session. */
const SUMMARY_LABEL = "[上下文总结]";

/** Stands for the name of a tool whose call is not in the list. */
const UNKNOWN = "unknown";
const ROLES = new Set(["system", "user", "assistant", "tool"]);
/** Stop reasons of answers whose tool calls are never carried out. */
const FAILED = new Set(["error", "aborted"]);

/** A checked copy of a host's message, dated; throws a TypeError that says what is wrong. */
function checkMessage(message) {
  const { role, content, timestamp, toolCalls, toolCallId, isError } = message ?? {};
  if (!ROLES.has(role))
    throw new TypeError(`message.role must be system, user, assistant or tool, not ${show(role)}`);
  if (typeof content !== "string")
    throw new TypeError(`message.content must be a string, not ${typeof content}`);
  if (toolCalls !== undefined && !Array.isArray(toolCalls))
    throw new TypeError("message.toolCalls must be an array");
  // Property by property: spreading optional ones takes longer than all the rest.
  const copy = {
    role,
    content,
    timestamp: typeof timestamp === "string" ? timestamp : new Date().toISOString(),
  };
  if (toolCalls !== undefined) copy.toolCalls = [...toolCalls];
  if (toolCallId !== undefined) copy.toolCallId = String(toolCallId);
  if (typeof isError === "boolean") copy.isError = isError;
  return Object.freeze(copy);
}

function show(value) {
  return typeof value === "string" ? JSON.stringify(value.slice(0, 40)) : typeof value;
}

/** A tool call in pi's form or OpenAI's: its id, its name and its arguments as JSON. */
function readCall(call) {
  const named = call?.function ?? call;
  const given = named?.arguments;
  const text = typeof given === "string" ? given : json(given ?? {});
  return { id: String(call?.id ?? ""), name: String(named?.name ?? UNKNOWN), arguments: text };
}

/** An AgentMessage in provider-neutral form; undefined for one that says nothing to a model. */
function fromAgentMessage(message) {
  const neutral = neutralForm(message);
  if (neutral === undefined) return undefined;
  const { timestamp } = message;
  const isDate = typeof timestamp === "number" && Math.abs(timestamp) <= MAX_TIME_MS;
  return isDate ? { ...neutral, timestamp: new Date(timestamp).toISOString() } : neutral;
}

/** Farthest moment a Date can be of, ms from 1970 (ECMAScript). */
const MAX_TIME_MS = 8.64e15;

function neutralForm(message) {
  const content = plainText(message?.content);
  switch (message?.role) {
    case "system":
    case "user":
      return { role: message.role, content };
    case "assistant": {
      const toolCalls = FAILED.has(message.stopReason) ? [] : callsOf(message.content);
      if (content === "" && toolCalls.length === 0) return undefined;
      return { role: "assistant", content, ...(toolCalls.length > 0 && { toolCalls }) };
    }
    case "toolResult":
      return { role: "tool", content, toolCallId: message.toolCallId, isError: message.isError === true };
    case "compactionSummary":
    case "branchSummary":
      return { role: "user", content: String(message.summary ?? "") };
    default:
      return undefined;
  }
}

function callsOf(content) {
  if (!Array.isArray(content)) return [];
  const calls = content.filter((block) => block?.type === "toolCall");
  return calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
}

/**
 * Provider-neutral messages as AgentMessages. A result without its call is left out, because a provider would refuse
 * it; a summary becomes a user message, because a conversation cannot begin with the assistant. `model` names what
 * assistant messages are said to come from.
 */
function toAgentMessages(messages, model = {}) {
  const toolNames = new Map();
  return messages.flatMap((message) => {
    const timestamp = Date.parse(message.timestamp) || Date.now();
    const text = message.content === "" ? [] : [{ type: "text", text: message.content }];
    const isSummary = message.role === "assistant" && message.content.startsWith(SUMMARY_LABEL);
    if (message.role === "tool") return resultMessage(message, text, timestamp, toolNames);
    if (message.role === "system") return [{ role: "system", content: message.content, timestamp }];
    if (message.role === "user" || isSummary) return [{ role: "user", content: text, timestamp }];
    const calls = (message.toolCalls ?? []).map(readCall);
    for (const call of calls) toolNames.set(call.id, call.name);
    return [assistantMessage([...text, ...calls.map(callBlock)], calls.length > 0, timestamp, model)];
  });
}

/** No message or one. */
function resultMessage({ toolCallId, isError = false }, content, timestamp, toolNames) {
  const toolName = toolNames.get(toolCallId);
  if (toolName === undefined) return [];
  return [{ role: "toolResult", toolCallId, toolName, content, isError, timestamp }];
}

function callBlock({ id, name, arguments: text }) {
  return { type: "toolCall", id, name, arguments: parsed(text) };
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : { value };
  } catch {
    return { value: text };
  }
}

function assistantMessage(content, hasCalls, timestamp, { api = UNKNOWN, provider = UNKNOWN, id = UNKNOWN }) {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
  const stopReason = hasCalls ? "toolUse" : "stop";
  return { role: "assistant", content, api, provider, model: id, usage, stopReason, timestamp };
}

module.exports = { SUMMARY_LABEL, checkMessage, readCall, fromAgentMessage, toAgentMessages };
