// Provider-neutral messages, `{ role: system | user | assistant | tool, content }`, to and from pi's AgentMessages.
// Words, tool calls and their results go both ways; thinking and images do not.
"use strict";

const { randomBytes } = require("node:crypto");
const { checkMessages, show } = require("../options.js");
const { json } = require("../hook/snapshot.js");
const { UNSENT_STOP_REASONS } = require("../contract.js");
const { systemText } = require("./openai_content.js");
const { callsIn, isPlain, plainText } = require("./text.js");

/** The opening of a summary in a session. */
const SUMMARY_LABEL = "[上下文总结]";

/** Stands for the name of a tool whose call is not in the list. */
const UNKNOWN = "unknown";
const ROLES = new Set(["system", "user", "assistant", "tool"]);

/** The beginning of the ids of messages added here: unlike any other process's. */
let ownPrefix;
let idsMade = 0;
/** Longest id a host may give, UTF-16 units: a store keeps an index of them. */
const ID_UNITS = 128;

function newId() {
  ownPrefix ??= randomBytes(9).toString("base64url");
  idsMade += 1;
  return `${ownPrefix}.${idsMade.toString(36)}`;
}

/** A checked copy of a host's message, dated and frozen throughout; throws a TypeError that says what is wrong. */
function checkMessage(message) {
  const { id, role, content, blocks, timestamp } = message ?? {};
  if (!ROLES.has(role))
    throw new TypeError(`message.role must be system, user, assistant or tool, not ${show(role)}`);
  if (id !== undefined) checkId(id);
  if (timestamp !== undefined && !(typeof timestamp === "string" && Date.parse(timestamp) > 0 - MAX_TIME_MS))
    throw new TypeError(`message.timestamp must be a date as ISO 8601 writes it, not ${show(timestamp)}`);
  const isText = typeof content === "string";
  if (!isText && !(Array.isArray(content) && content.length > 0))
    throw new TypeError(`message.content must be a string or an array of blocks, not ${typeof content}`);
  // Property by property: spreading optional ones takes longer than all the rest.
  const copy = {
    id: id ?? newId(),
    role,
    content: isText ? content : plainText(content),
    timestamp: timestamp ?? new Date().toISOString(),
  };
  const given = isText ? blocks : content;
  if (given !== undefined) addBlocks(copy, given);
  addRest(copy, message);
  return Object.freeze(copy);
}

function checkId(id) {
  if (typeof id !== "string" || id === "" || id.length > ID_UNITS || !isPlain(id))
    throw new TypeError(`message.id must be a string of 1 to ${ID_UNITS} characters, not ${show(id)}`);
}

/** Fields that only some messages have. */
function addRest(copy, { toolCalls, toolCallId, isError, original, agentFields }) {
  if (toolCalls !== undefined) {
    if (!Array.isArray(toolCalls)) throw new TypeError("message.toolCalls must be an array");
    copy.toolCalls = jsonCopy("toolCalls", toolCalls);
  }
  if (toolCallId !== undefined) copy.toolCallId = String(toolCallId);
  if (typeof isError === "boolean") copy.isError = isError;
  if (isObject(original)) copy.original = jsonCopy("original", original);
  if (isObject(agentFields)) copy.agentFields = jsonCopy("agentFields", agentFields);
}

function isObject(value) {
  return typeof value === "object" && value !== null;
}

/** Blocks say more than the text beside them where there is an image among them; else they are that text. */
function addBlocks(copy, blocks) {
  if (!Array.isArray(blocks) || !blocks.every(isBlock))
    throw new TypeError(
      'message.content must hold blocks { type: "text", text } and { type: "image", data, mimeType } alone',
    );
  if (blocks.some(({ type }) => type === "image")) copy.blocks = jsonCopy("content", blocks);
}

function isBlock(block) {
  const { type, text, data, mimeType } = block ?? {};
  if (type === "text") return typeof text === "string";
  return type === "image" && typeof data === "string" && typeof mimeType === "string";
}

/** A copy through JSON, so that a message from a store is the same as the one that was added. */
function jsonCopy(name, value) {
  try {
    return frozen(JSON.parse(written(value)));
  } catch {
    throw new TypeError(`message.${name} must be what JSON can say, without cycles or BigInts`);
  }
}

/** Stands for -0 until the text is written, which JSON can say and JSON.stringify does not. */
const MINUS_ZERO = `-0 ${randomBytes(9).toString("base64url")}`;

/** JSON that says -0, too. */
function written(value) {
  let hasMinusZero = false;
  const text = JSON.stringify(value, (_, inner) => {
    if (!Object.is(inner, -0)) return inner;
    hasMinusZero = true;
    return MINUS_ZERO;
  });
  return hasMinusZero ? text.replaceAll(JSON.stringify(MINUS_ZERO), "-0") : text;
}

/** The value, frozen throughout. What comes from JSON has no cycles and a bounded depth. */
function frozen(value) {
  const open = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next !== "object" || next === null) continue;
    Object.freeze(next);
    open.push(...Object.values(next).filter((inner) => typeof inner === "object" && inner !== null));
  }
  return value;
}

/** The message that a model's answer makes: a text, an assistant message of ours, or pi's. */
function answerOf(answer) {
  if (typeof answer === "string") return checkMessage({ role: "assistant", content: answer });
  const message = Array.isArray(answer?.content) ? fromAgentMessage(answer) : answer;
  if (message?.role !== "assistant")
    throw new TypeError("ask: complete must return a text or an assistant message");
  return checkMessage(message);
}

/** A tool call in pi's form, ours or OpenAI's: its id, its name and its arguments as JSON. */
function readCall(call) {
  const named = call?.function ?? call;
  const given = named?.argumentsText ?? named?.arguments;
  const text = typeof given === "string" ? given : argumentsText(given === undefined ? {} : given);
  return { id: String(call?.id ?? ""), name: String(named?.name ?? UNKNOWN), arguments: text };
}

function argumentsText(given) {
  try {
    return written(given);
  } catch {
    return json(given);
  }
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
  const said = saidOf(message?.content);
  switch (message?.role) {
    case "system":
      return { role: "system", content: systemText(message, true), ...agentFieldsOf(message) };
    case "user":
      return { role: "user", ...said };
    case "assistant": {
      // The calls of an answer that failed are never carried out.
      const toolCalls = UNSENT_STOP_REASONS.has(message.stopReason) ? [] : agentCalls(message.content);
      if (said.content === "" && toolCalls.length === 0) return undefined;
      return { role: "assistant", content: said.content, ...(toolCalls.length > 0 && { toolCalls }) };
    }
    case "toolResult":
      return { role: "tool", ...said, toolCallId: message.toolCallId, isError: message.isError === true };
    case "compactionSummary":
    case "branchSummary":
      return { role: "user", content: String(message.summary ?? "") };
    default:
      return undefined;
  }
}

/** The words, and the blocks where there are images among them. */
function saidOf(content) {
  const hasImages = Array.isArray(content) && content.some((block) => block?.type === "image");
  return { content: plainText(content), ...(hasImages && { blocks: content.filter(isBlock) }) };
}

/** The fields that pi needs to get its own system message back. */
function agentFieldsOf({ content, sections, toolsAdded, toolsRemoved }) {
  if ([sections, toolsAdded, toolsRemoved].every((field) => field === undefined)) return {};
  return { agentFields: { content, sections, toolsAdded, toolsRemoved } };
}

function agentCalls(content) {
  return callsIn({ content }).map(({ id, name, arguments: given, argumentsText }) => ({
    id,
    name,
    arguments: argumentsText ?? given,
  }));
}

/**
 * Provider-neutral messages as AgentMessages. A result without its call is left out, because a provider would refuse
 * it; a summary becomes a user message, because a conversation cannot begin with the assistant. `model` names what
 * assistant messages are said to come from.
 */
function toAgentMessages(messages, model = {}) {
  checkMessages("toAgentMessages", messages);
  if (messages.some(({ content }) => typeof content !== "string"))
    throw new TypeError("toAgentMessages: messages must be a session's, with a string as content");
  if (typeof model !== "object" || model === null)
    throw new TypeError(`toAgentMessages: model must be an object, not ${show(model)}`);
  const toolNames = new Map();
  return messages.flatMap((message) => {
    const timestamp = Date.parse(message.timestamp) || Date.now();
    const text = message.content === "" ? [] : [{ type: "text", text: message.content }];
    const said = message.blocks?.map((block) => ({ ...block })) ?? text;
    const isSummary = message.role === "assistant" && message.content.startsWith(SUMMARY_LABEL);
    if (message.role === "tool") return resultMessage(message, said, timestamp, toolNames);
    if (message.role === "system")
      return [{ role: "system", content: message.content, ...message.agentFields, timestamp }];
    if (message.role === "user" || isSummary) return [{ role: "user", content: said, timestamp }];
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

/** pi's arguments are an object. What is none, or would lose digits as one, keeps its text beside it. */
function callBlock({ id, name, arguments: text }) {
  let value;
  try {
    value = JSON.parse(text) ?? {};
  } catch {
    value = text;
  }
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const given = isObject ? value : { value };
  const isAsGiven = written(given) === text;
  return { type: "toolCall", id, name, arguments: given, ...(!isAsGiven && { argumentsText: text }) };
}

function assistantMessage(content, hasCalls, timestamp, { api = UNKNOWN, provider = UNKNOWN, id = UNKNOWN }) {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
  const stopReason = hasCalls ? "toolUse" : "stop";
  return { role: "assistant", content, api, provider, model: id, usage, stopReason, timestamp };
}

module.exports = {
  answerOf,
  checkMessage,
  frozen,
  newId,
  written,
  readCall,
  fromAgentMessage,
  toAgentMessages,
};
