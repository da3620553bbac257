// What OpenAI's Responses API refuses, one function per rule. Items stand in one flat list; what belongs together is
// told by ids and by neighbourhood.

import { isDeepStrictEqual } from "node:util";
import { isBlank, isJsonObject, missing, repeated, surrogatesPaired } from "./parts.mjs";

const ofType = ({ input }, type) => input.filter((item) => item.type === type);
const isMessage = (item) =>
  item?.type === "message" || (item?.type === undefined && item?.role !== undefined);

/** R1: each call is answered, after it. */
function callsAnswered({ input }) {
  return input.flatMap((item, i) => {
    if (item.type !== "function_call") return [];
    const answers = ofType({ input: input.slice(i + 1) }, "function_call_output");
    return answers.some(({ call_id }) => call_id === item.call_id) ? [] : [item.call_id];
  });
}

/** R1: each output answers a call before it, once. */
function outputsAnswerCalls({ input }) {
  const outputs = ofType({ input }, "function_call_output").map(({ call_id }) => call_id);
  const orphans = input.flatMap((item, i) => {
    if (item.type !== "function_call_output") return [];
    const calls = ofType({ input: input.slice(0, i) }, "function_call").map(({ call_id }) => call_id);
    return missing([item.call_id], calls);
  });
  return [...orphans, ...repeated(outputs)];
}

/** The reasoning directly before the item at `at`, what belongs to one message read as one. */
function reasoningBefore(input, at) {
  const before = [];
  for (let i = at - 1; i >= 0; i -= 1) {
    const item = input[i];
    if (item.type === "reasoning") before.push(item);
    else if (item.type !== "function_call" && !(isMessage(item) && item.role === "assistant")) break;
  }
  return before;
}

/** R2 for items of one type: each has the reasoning that came with it, unchanged. */
function keepsReasoning(type, payload, unedited) {
  if (!unedited) return [];
  const lost = [];
  for (const [at, item] of payload.input.entries()) {
    // Only an id of the provider's own making is tied to a reasoning item.
    if (item.type !== type || !/^(fc|msg)_(?!pi_|\d)/.test(item.id ?? "")) continue;
    const was = unedited.input.findIndex(({ id }) => id === item.id);
    const reasoning = was === -1 ? [] : reasoningBefore(unedited.input, was);
    if (!isDeepStrictEqual(reasoningBefore(payload.input, at), reasoning)) lost.push(item.id);
  }
  return lost;
}

/** R2: a call has its reasoning item before it. */
function callsKeepReasoning(payload, unedited) {
  return keepsReasoning("function_call", payload, unedited);
}

/** R2: so has a message the provider gave an id. */
function messagesKeepReasoning(payload, unedited) {
  return keepsReasoning("message", payload, unedited);
}

/** R2: and reasoning is followed by what it led to. */
function reasoningLeadsOn({ input }) {
  return input.flatMap((item, i) => {
    if (item.type !== "reasoning") return [];
    const next = input.slice(i + 1).find(({ type }) => type !== "reasoning");
    const isOutput = next?.type === "function_call" || (isMessage(next) && next.role === "assistant");
    return isOutput ? [] : [item.id];
  });
}

/** R3: ids of items, and of calls, are unique. */
function idsUnique(payload) {
  const withId = payload.input.filter(({ id }) => id !== undefined);
  const again = withId.filter(({ id }, i) => withId.findIndex((item) => item.id === id) !== i);
  // pi numbers the messages that have no id: their text tells them apart when others are dropped.
  const names = again.map(({ id, content }) => content?.[0]?.text ?? id);
  return [...names, ...repeated(ofType(payload, "function_call").map(({ call_id }) => call_id))];
}

/** R4: a call has a name and its arguments are a JSON object. */
function callsReadable(payload) {
  return ofType(payload, "function_call")
    .filter(({ name, arguments: text }) => isBlank(name) || !isJsonObject(text))
    .map(({ call_id }) => call_id);
}

/** R5: no message and no output without content. */
function nothingEmpty({ input }) {
  return input.flatMap((item) => {
    if (item.type === "function_call_output") {
      const { output } = item;
      return typeof output === "string" || (Array.isArray(output) && output.length > 0) ? [] : [item.call_id];
    }
    const isEmpty = isMessage(item) && (item.content?.length ?? 0) === 0;
    return isEmpty ? [`an empty ${item.role} message`] : [];
  });
}

export const rules = {
  "R1 callsAnswered": callsAnswered,
  "R1 outputsAnswerCalls": outputsAnswerCalls,
  "R2 callsKeepReasoning": callsKeepReasoning,
  "R2 messagesKeepReasoning": messagesKeepReasoning,
  "R2 reasoningLeadsOn": reasoningLeadsOn,
  "R3 idsUnique": idsUnique,
  "R4 callsReadable": callsReadable,
  "R5 nothingEmpty": nothingEmpty,
  "A8 surrogatesPaired": surrogatesPaired,
};
