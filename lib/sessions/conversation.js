// Converts provider-neutral messages, `{ role: system | user | assistant | tool, content }`, to pi's AgentMessages and back:
// text, images, tool calls with Gemini's signatures, and results. Drops thinking, except that of OpenAI's messages.
"use strict";

const { attempt } = require("../helpers.js");
const { checkMessages, record, show } = require("../options.js");
const { UNSENT_STOP_REASONS } = require("../contract.js");
const { SUMMARY_LABEL } = require("./digest.js");
const { ROLES, isBlock } = require("./message.js");
const { checkChat } = require("../hook/foreign.js");
const { isOtherCall, otherText, systemText, thinkingIn, wordsOf } = require("../shapes/openai_messages.js");
const {
  UNKNOWN,
  answeredId,
  callsIn,
  checkNoResults,
  plainText,
  readCall,
  written,
} = require("../shapes/text.js");

/** Other roles of pi, sent as user messages. */
const SENT_AS_USER = new Set(["compactionSummary", "branchSummary", "custom", "bashExecution"]);

/** Returns an AgentMessage in provider-neutral form; undefined for one that a model never sees. */
function fromAgentMessage(message) {
  const neutral = neutralForm(message ?? {});
  const { timestamp } = message ?? {};
  const isDate = typeof timestamp === "number" && !Number.isNaN(new Date(timestamp).getTime());
  return neutral && isDate ? { ...neutral, timestamp: new Date(timestamp).toISOString() } : neutral;
}

function neutralForm(message) {
  const { role, content, stopReason, toolCallId, isError, excludeFromContext } = message;
  const said = saidOf(content);
  if (role === "system") return { role, content: systemText(message, true) };
  if (role === "user") return { role, ...said };
  if (role === "toolResult") return { role: "tool", ...said, toolCallId, isError: isError === true };
  if (SENT_AS_USER.has(role)) {
    const others = { ...said, content: otherText(message) ?? said.content };
    return others.content === "" || excludeFromContext === true ? undefined : { role: "user", ...others };
  }
  if (role !== "assistant" || UNSENT_STOP_REASONS.has(stopReason)) return undefined;
  const toolCalls = callsIn({ content }).map(neutralCall);
  if (said.content === "" && toolCalls.length === 0) return undefined;
  return { role, content: said.content, ...(toolCalls.length > 0 && { toolCalls }) };
}

function neutralCall({ id, name, arguments: given, argumentsText, thoughtSignature }) {
  return { id, name, arguments: argumentsText ?? given, ...(thoughtSignature && { thoughtSignature }) };
}

/** Returns the text of a content, with its blocks if it has images. */
function saidOf(content) {
  const hasImages = Array.isArray(content) && content.some((block) => block?.type === "image");
  return { content: plainText(content), ...(hasImages && { blocks: content.filter(isBlock) }) };
}

/**
 * Converts provider-neutral messages to AgentMessages. Drops a result without its call, because providers reject it. Turns a
 * summary into a user message, because a conversation cannot begin with the assistant. `model` is the origin written into
 * assistant messages.
 */
function toAgentMessages(messages, model = {}) {
  checkMessages("toAgentMessages", messages);
  messages.forEach(checkNoResults);
  checkChat("toAgentMessages", messages);
  if (messages.some(({ role, content }) => !ROLES.has(role) || typeof content !== "string"))
    throw new TypeError("toAgentMessages: messages must be a session's, with a string as content");
  if (typeof model !== "object" || model === null)
    throw new TypeError(`toAgentMessages: model must be an object, not ${show(model)}`);
  const toolNames = new Map();
  const sentIds = sentIdsOf(messages);
  return messages.flatMap((message) => {
    const { role, content, original } = message;
    const kept = keptOf(message);
    const text = content === "" ? [] : [{ type: "text", text: content }];
    const said = message.blocks?.map(sendable) ?? text;
    const isSummary = role === "assistant" && content.startsWith(SUMMARY_LABEL);
    if (role === "tool") return resultMessage(message, said, kept, toolNames, sentIds);
    if (role === "system") return [{ role, content, ...kept }];
    if (role === "user" || isSummary) return [{ role: "user", content: said, ...kept }];
    const calls = callsIn(message).map((call) => callBlock(call, sentIds));
    for (const call of calls) toolNames.set(call.id, call.name);
    const hasParts = said.some(({ part }) => part !== undefined);
    const words = hasParts ? said.filter(({ type }) => type === "text") : text;
    const blocks = [...thinkingIn(original, model.api), ...words, ...calls];
    return [assistantMessage(blocks, calls.length > 0, kept, model)];
  });
}

/** Returns the time of a message, and the OpenAI message that `toOpenAIMessages` restores. */
const keptOf = ({ timestamp, original }) => ({
  timestamp: Date.parse(timestamp) || Date.now(),
  ...(original && { original }),
});

/** Returns a copy of a text or an image. Any other block becomes a text that holds it as `part`. */
const sendable = (block) =>
  isBlock(block) ? { ...block } : { type: "text", text: wordsOf(block), part: block };

/** Returns no message or one. */
function resultMessage(message, content, kept, toolNames, sentIds) {
  const { isError = false } = message;
  const toolCallId = sentIds.get(String(answeredId(message)));
  const toolName = toolNames.get(toolCallId);
  if (toolName === undefined) return [];
  return [{ role: "toolResult", toolCallId, toolName, content, isError, ...kept }];
}

/**
 * Maps the ids of calls to those to send. Drops the part of pi's id that names an item of OpenAI's Responses: the item needs its
 * reasoning, which a session drops. An id stays whole if another call has the rest.
 */
function sentIdsOf(messages) {
  const ids = messages.flatMap(callsIn).map((call) => String(call?.id ?? ""));
  const owners = new Map(ids.filter((id) => !id.includes("|")).map((id) => [id, id]));
  const sentId = (id) => {
    const short = id.split("|", 1)[0] || id;
    if (!owners.has(short)) owners.set(short, id);
    return owners.get(short) === id ? short : id;
  };
  return new Map(ids.map((id) => [id, sentId(id)]));
}

/** pi's arguments are an object. Other values, and numbers that would lose digits, keep their text as well. */
function callBlock(call, sentIds) {
  const { id, name, arguments: text } = readCall(call);
  const value = attempt(() => {
    const parsed = JSON.parse(text) ?? {};
    // Throws for a value that is nested too deeply for any request.
    written(parsed);
    return parsed;
  }, text);
  const given = record.accepts(value) ? value : { value };
  const isAsGiven = written(given) === text;
  const signed = call?.thoughtSignature && { thoughtSignature: call.thoughtSignature };
  return {
    type: "toolCall",
    id: sentIds.get(id),
    name,
    arguments: given,
    ...(!isAsGiven && { argumentsText: text }),
    ...signed,
    ...(isOtherCall(call) && { part: call }),
  };
}

function assistantMessage(content, hasCalls, kept, { api = UNKNOWN, provider = UNKNOWN, id = UNKNOWN }) {
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
  const stopReason = hasCalls ? "toolUse" : "stop";
  return { role: "assistant", content, api, provider, model: id, usage, stopReason, ...kept };
}

module.exports = { fromAgentMessage, toAgentMessages };
