// What Mistral's API refuses, one function per rule.

import { missing, repeated, surrogatesPaired } from "./parts.mjs";
import { answerBetween } from "./sides.mjs";

/** M2: each call is answered before anybody else speaks, once, and nothing else is. */
function callsAnsweredAtOnce({ messages }) {
  return messages.flatMap(({ role, toolCalls = [] }, i) => {
    if (role === "tool") return [];
    const next = messages.findIndex((message, at) => at > i && message.role !== "tool");
    const results = messages.slice(i + 1, next === -1 ? undefined : next);
    const [called, answered] = [toolCalls.map(({ id }) => id), results.map(({ toolCallId }) => toolCallId)];
    return [...missing(called, answered), ...missing(answered, called), ...repeated(answered)];
  });
}

export const rules = {
  "M1 answerBetween": answerBetween,
  "M2 callsAnsweredAtOnce": callsAnsweredAtOnce,
  "A8 surrogatesPaired": surrogatesPaired,
};
