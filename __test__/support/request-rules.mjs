// Judges a list of messages as it would be sent: the providers' rules for calls and results, and Anthropic's for the thinking
// of the step under way. Written from what providers refuse, without the product's code.

const isUnsent = ({ role, stopReason, excludeFromContext }) =>
  role === "system" ||
  role === "custom" ||
  stopReason === "error" ||
  stopReason === "aborted" ||
  excludeFromContext === true;
const blocksOf = ({ content }) => (Array.isArray(content) ? content : []);
const callIds = (message) => blocksOf(message).flatMap(({ type, id }) => (type === "toolCall" ? [id] : []));
const isThinking = ({ type }) => type === "thinking" || type === "redacted_thinking";

/** The newest answer, if results of its calls are all that stands behind it. */
function stepUnderWay(messages) {
  const sent = messages.filter((message) => !isUnsent(message));
  const at = sent.findLastIndex(({ role }) => role === "assistant");
  const isOpen = at >= 0 && callIds(sent[at]).length > 0;
  return isOpen && sent.slice(at + 1).every(({ role }) => role === "toolResult") ? sent[at] : undefined;
}

/** The rules that a request breaks and the list it was made of does not. `given` is that list. */
export function brokenRules(sent, given) {
  const own = new Set(pairs(given));
  return [...pairs(sent).filter((rule) => !own.has(rule)), ...thinking(sent, given), ...newest(sent, given)];
}

/** Lost, late and double results, calls without one, and a list that starts with a reply. */
export function pairs(messages) {
  const broken = new Set();
  let open = new Set();
  for (const [index, message] of messages.filter((one) => !isUnsent(one)).entries()) {
    const { role, toolCallId } = message;
    if (index === 0 && (role === "assistant" || role === "toolResult")) broken.add(`starts with ${role}`);
    if (role === "toolResult") {
      if (!open.delete(toolCallId)) broken.add("orphan result");
      continue;
    }
    if (open.size > 0) broken.add("unanswered call");
    open = new Set(role === "assistant" ? callIds(message) : []);
  }
  return [...broken];
}

/** The thinking of the step under way stands there as it was written. */
function thinking(sent, given) {
  const step = stepUnderWay(given);
  const of = (message) => JSON.stringify(blocksOf(message ?? {}).filter(isThinking));
  return step !== undefined && of(stepUnderWay(sent)) !== of(step) ? ["thinking of the step under way"] : [];
}

/** The message that is to be answered is there. */
function newest(sent, given) {
  const last = (messages) => messages.findLast((message) => !isUnsent(message));
  const idOf = ({ role, toolCallId, timestamp } = {}) => `${role} ${toolCallId} ${timestamp}`;
  return idOf(last(sent)) === idOf(last(given)) ? [] : ["newest message"];
}
