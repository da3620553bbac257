// What OpenAI's Chat Completions API and the services that speak it refuse, one function per rule.

import { isDeepStrictEqual } from "node:util";
import { isBlank, isJsonObject, missing, repeated, surrogatesPaired } from "./parts.mjs";

const callIds = (message) => (message?.tool_calls ?? []).map(({ id }) => id);

/** Each message that is no result, with the results directly after it. */
function exchanges({ messages }) {
  const found = [];
  for (const message of messages) {
    if (message.role !== "tool") found.push({ message, results: [] });
    else if (found.length === 0) found.push({ results: [message.tool_call_id] });
    else found.at(-1).results.push(message.tool_call_id);
  }
  return found;
}

/** O1: a tool message stands after the assistant message with its call, with nothing but results between. */
function resultsFollowCalls(payload) {
  return exchanges(payload).flatMap(({ message, results }) => missing(results, callIds(message)));
}

/** O2: every call is answered before anybody else speaks. */
function callsAnsweredAtOnce(payload) {
  return exchanges(payload).flatMap(({ message, results }) => missing(callIds(message), results));
}

/** O3: within a message ids differ, and a call is answered once. */
function idsDistinct(payload) {
  return exchanges(payload).flatMap(({ message, results }) => [
    ...repeated(callIds(message)),
    ...repeated(results),
  ]);
}

/** O4: a message says something: text, parts or calls; a result is a text. */
function nothingEmpty({ messages }) {
  return messages.flatMap(({ role, content, tool_calls }) => {
    if (role === "tool") return typeof content === "string" || Array.isArray(content) ? [] : ["a result"];
    if (tool_calls?.length > 0) return [];
    const isEmpty = Array.isArray(content) ? content.length === 0 : isBlank(content) && role === "assistant";
    return isEmpty || content === null || content === undefined ? [`an empty ${role} message`] : [];
  });
}

/** O5: a call has a name and its arguments are a JSON object. */
function callsReadable({ messages }) {
  return messages
    .flatMap(({ tool_calls }) => tool_calls ?? [])
    .filter((call) => isBlank(call.function?.name) || !isJsonObject(call.function.arguments))
    .map(({ id }) => id);
}

const reasoningOf = (message) => [message.reasoning_content, message.reasoning_details];

/** K1: a call keeps the reasoning fields its message came with: Gemini's signature is in one of them. */
function reasoningStays(payload, unedited) {
  const fields = new Map((unedited?.messages ?? []).map((message) => [callIds(message).join(), message]));
  return payload.messages.flatMap((message) => {
    const key = callIds(message).join();
    const before = key === "" ? undefined : fields.get(key);
    return before && !isDeepStrictEqual(reasoningOf(before), reasoningOf(message)) ? [key] : [];
  });
}

/** K1: DeepSeek's and Kimi's thinking models want the field on every message with a call. */
function reasoningPresent({ model, messages }) {
  if (!/^(deepseek-reasoner|kimi-k2-thinking)/.test(model)) return [];
  return messages
    .filter((message) => callIds(message).length > 0 && typeof message.reasoning_content !== "string")
    .map((message) => callIds(message).join());
}

export const rules = {
  "O1 resultsFollowCalls": resultsFollowCalls,
  "O2 callsAnsweredAtOnce": callsAnsweredAtOnce,
  "O3 idsDistinct": idsDistinct,
  "O4 nothingEmpty": nothingEmpty,
  "O5 callsReadable": callsReadable,
  "K1 reasoningStays": reasoningStays,
  "K1 reasoningPresent": reasoningPresent,
  "A8 surrogatesPaired": surrogatesPaired,
};
