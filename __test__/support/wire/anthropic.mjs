// What Anthropic's Messages API refuses, one function per rule, judged on the request body alone.

import { isDeepStrictEqual } from "node:util";
import { isBlank, missing, repeated, surrogatesPaired } from "./parts.mjs";

/** Models that bind the signature of a thinking block to all that precedes it. */
export const BINDING_MODEL = /^claude-(fable-5-[1-9]|opus-5-[5-9])/;
const CALL_ID = /^[a-zA-Z0-9_-]+$/;

export const blocksOf = ({ content }) =>
  typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []);
export const callIds = (message) =>
  message?.role === "assistant"
    ? blocksOf(message).flatMap((block) => (block.type === "tool_use" ? [block.id] : []))
    : [];
const resultIds = (message) =>
  message?.role === "user"
    ? blocksOf(message).flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []))
    : [];
export const isThinking = ({ type }) => type === "thinking" || type === "redacted_thinking";
/** The messages that make up the conversation; instructions may stand between them. */
const conversation = ({ messages }) => messages.filter(({ role }) => role !== "system");
const latestAssistant = ({ messages }) => messages.findLast(({ role }) => role === "assistant");

/** A1: each call is answered in the next message, all of one message together. */
function callsAnsweredNext(payload) {
  const messages = conversation(payload);
  return messages.flatMap((message, i) => missing(callIds(message), resultIds(messages[i + 1])));
}

/** A2: each result answers a call of the message before it, and no call is answered twice. */
function resultsAnswerCalls(payload) {
  const messages = conversation(payload);
  return messages.flatMap((message, i) => {
    const ids = resultIds(message);
    return [...missing(ids, callIds(messages[i - 1])), ...repeated(ids)];
  });
}

/** A3: results stand before anything else in their message. */
function resultsComeFirst(payload) {
  return payload.messages.flatMap((message) => {
    const types = blocksOf(message).map(({ type }) => type);
    const lateFrom = types.findIndex((type) => type !== "tool_result");
    return lateFrom !== -1 && types.lastIndexOf("tool_result") > lateFrom ? resultIds(message).slice(-1) : [];
  });
}

/** A3: no text follows a call. */
function callsComeLast(payload) {
  return payload.messages.flatMap((message) => {
    const types = blocksOf(message).map(({ type }) => type);
    const from = types.indexOf("tool_use");
    return from !== -1 && types.lastIndexOf("text") > from ? callIds(message).slice(0, 1) : [];
  });
}

/** A4: ids of calls are unique in the conversation and of letters, digits, `_` and `-`. */
function callIdsUsable({ messages }) {
  const ids = messages.flatMap(callIds);
  return [...repeated(ids), ...ids.filter((id) => !CALL_ID.test(id))];
}

/** A5: no text block is blank, not even inside a result, and no message is empty. */
function nothingBlank(payload) {
  return conversation(payload).flatMap((message) => {
    const blocks = blocksOf(message);
    const inResults = blocks.flatMap(({ type, content }) =>
      type === "tool_result" && Array.isArray(content) ? content : [],
    );
    const blank = [...blocks, ...inResults].filter(({ type, text }) => type === "text" && isBlank(text));
    return blank.length > 0 || blocks.length === 0 ? [`a blank ${message.role} text`] : [];
  });
}

/** A6: a request that ends on the assistant's words does not end them in white space. */
function prefillTrimmed({ messages }) {
  const last = messages.at(-1);
  const text = last?.role === "assistant" ? blocksOf(last).at(-1)?.text : undefined;
  return typeof text === "string" && text !== text.trimEnd() ? ["the last text"] : [];
}

/** A7: the latest assistant message, where it holds thinking, is as the provider wrote it, neighbours included. */
function latestThinkingUntouched(payload, unedited) {
  const latest = latestAssistant(payload);
  if (latest === undefined || unedited === undefined) return [];
  // Several messages may say the same.
  const originals = unedited.messages.filter((message) => shares(message, latest));
  const isThinker = [latest, ...originals].some((message) => blocksOf(message).some(isThinking));
  if (!isThinker || originals.some((original) => isDeepStrictEqual(latest, original))) return [];
  // Once the user has spoken again all of it may go, but not a part.
  const isStripped = !blocksOf(latest).some(isThinking);
  return isStripped && !isInToolLoop(payload, latest) ? [] : ["the latest thinking"];
}

/** True while nothing but results has followed the calls of `latest`. */
export function isInToolLoop(payload, latest) {
  const messages = conversation(payload);
  const after = messages.slice(messages.indexOf(latest) + 1).flatMap(blocksOf);
  return callIds(latest).length > 0 && after.every(({ type }) => type === "tool_result");
}

/** True for one assistant message in two requests: what it calls or, if it calls nothing, what it says is the same. */
function shares(message, other) {
  if (message.role !== "assistant") return false;
  const [ids, otherIds] = [callIds(message), callIds(other)];
  if (ids.length > 0 || otherIds.length > 0) return ids.some((id) => otherIds.includes(id));
  const texts = (one) => blocksOf(one).filter(({ type }) => type === "text");
  return isDeepStrictEqual(texts(message), texts(other));
}

/** A7: no thinking block differs from what was written, wherever it stands. */
function thinkingUnchanged(payload, unedited) {
  if (!unedited) return [];
  const thinking = ({ messages }) => messages.flatMap(blocksOf).filter(isThinking);
  const written = new Map(thinking(unedited).map((block) => [block.signature ?? block.data, block]));
  const changed = thinking(payload).filter(
    (block) => !isDeepStrictEqual(written.get(block.signature ?? block.data), block),
  );
  return changed.map((block) => block.signature ?? block.data);
}

/** K1: some models want the thinking beside every call that came with it. */
function callsKeepThinking({ model, messages }, unedited) {
  if (!unedited || !/deepseek|kimi|moonshot/.test(model)) return [];
  const before = new Map(unedited.messages.map((message) => [callIds(message).join(), message]));
  const keeps = (message) => {
    const [was, is] = [before.get(callIds(message).join()) ?? message, message].map(blocksOf);
    return isDeepStrictEqual(was.filter(isThinking), is.filter(isThinking));
  };
  return messages.filter((message) => callIds(message).length > 0 && !keeps(message)).flatMap(callIds);
}

/** A9: the user opens the conversation. */
function userOpens(payload) {
  return conversation(payload)[0]?.role === "user" ? [] : ["the first message"];
}

/** A10: where signatures are bound to what precedes them, nothing before kept thinking has changed. */
function signaturesStillBound(payload, unedited) {
  const drops = payload.thinking?.block_binding?.prefix_mismatch_behavior === "drop_block";
  if (!unedited || drops || !BINDING_MODEL.test(payload.model)) return [];
  const changedAt = payload.messages.findIndex(
    (message, i) => !isDeepStrictEqual(uncached(message), uncached(unedited.messages[i])),
  );
  if (changedAt === -1) return [];
  const later = payload.messages.slice(changedAt).flatMap(blocksOf).filter(isThinking);
  return later.map((block) => block.signature ?? block.data);
}

/** A message without the caching marks, which are no part of what a signature covers. */
export function uncached(message) {
  return message && { ...message, content: blocksOf(message).map(({ cache_control, ...block }) => block) };
}

/** A11: a conversation with calls declares tools. */
function toolsDeclared({ messages, tools }) {
  return messages.some((message) => callIds(message).length > 0) && !tools?.length ? ["tools"] : [];
}

export const rules = {
  "A1 callsAnsweredNext": callsAnsweredNext,
  "A2 resultsAnswerCalls": resultsAnswerCalls,
  "A3 resultsComeFirst": resultsComeFirst,
  "A3 callsComeLast": callsComeLast,
  "A4 callIdsUsable": callIdsUsable,
  "A5 nothingBlank": nothingBlank,
  "A6 prefillTrimmed": prefillTrimmed,
  "A7 latestThinkingUntouched": latestThinkingUntouched,
  "A7 thinkingUnchanged": thinkingUnchanged,
  "A8 surrogatesPaired": surrogatesPaired,
  "K1 callsKeepThinking": callsKeepThinking,
  "A9 userOpens": userOpens,
  "A10 signaturesStillBound": signaturesStillBound,
  "A11 toolsDeclared": toolsDeclared,
};
