// What Amazon's Bedrock refuses over its Converse API, one function per rule.

import { isBlank, missing, repeated, surrogatesPaired } from "./parts.mjs";
import { sidesAlternate } from "./sides.mjs";

const blocksOf = (message) => (Array.isArray(message?.content) ? message.content : []);
const callIds = (message) => blocksOf(message).flatMap(({ toolUse }) => toolUse?.toolUseId ?? []);
const resultIds = (message) => blocksOf(message).flatMap(({ toolResult }) => toolResult?.toolUseId ?? []);

/** B2: each call is answered in the next message, once, and nothing else is. */
function callsAnsweredNext({ messages }) {
  return messages.flatMap((message, i) => {
    const [called, answered] = [callIds(messages[i - 1]), resultIds(message)];
    return [...missing(called, answered), ...missing(answered, called), ...repeated(answered)];
  });
}

/** B3: no message is empty, no text is blank. */
function nothingBlank({ messages }) {
  const isEmpty = (blocks) =>
    blocks.length === 0 || blocks.some(({ text }) => text !== undefined && isBlank(text));
  return messages
    .filter((message) => isEmpty(blocksOf(message)))
    .map(({ role }) => `a blank ${role} message`);
}

export const rules = {
  "B1 sidesAlternate": sidesAlternate,
  "B2 callsAnsweredNext": callsAnsweredNext,
  "B3 nothingBlank": nothingBlank,
  "A8 surrogatesPaired": surrogatesPaired,
};
