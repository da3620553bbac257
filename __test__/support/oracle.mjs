// Layers 1 to 3 once more, in plain JavaScript, straight from the documented rules and sharing no code with the product: the
// oracle that the hook's output is compared with.

const RESPONSES = ["openai-responses", "azure-openai-responses", "openai-codex-responses"];
const GOOGLE = ["google-generative-ai", "google-vertex", "google-gemini-cli"];
const ANTHROPIC = ["anthropic-messages", "bedrock-converse-stream"];
const CHAT = ["openai-completions", "mistral-conversations"];

export const MARKER = /^\[\.\.\. 已省略 (\d+) 行，原始 (\d+) 字符 \.\.\.\]$/m;

/** What is sent of a sound transcript under everyCall, where no request shrinks and images stay. */
export function layers(messages, limits, countTokens) {
  return window(reduced(messages, limits, countTokens), limits, countTokens);
}

/** Layers 1 and 2. */
function reduced(messages, limits, countTokens) {
  const results = indicesOf(messages, (message) => message.role === "toolResult");
  const oldResults = results.slice(0, Math.max(0, results.length - limits.keepRecentToolResults));
  const oldThinking = indicesOfOldThinking(messages, limits);
  return messages.map((message, i) => {
    if (oldResults.includes(i)) return summarized(message, limits, countTokens);
    if (oldThinking.includes(i)) return stripped(message);
    return message;
  });
}

/** Thinkers with as many newer ones that are sent, before the step of the tool loop under way. */
function indicesOfOldThinking(messages, { keepRecentThinking, thinkingScope = "all" }) {
  const isAnswer = ({ role }) => role === "assistant";
  const thinkers = indicesOf(messages, (message) => isAnswer(message) && message.content.some(isThinking));
  const newest = messages.findLastIndex((message) => isAnswer(message) && isSent(message));
  const hasCalls = newest !== -1 && callIds(messages[newest]).length > 0;
  const before = hasCalls && thinkers.includes(newest) ? newest : messages.length;
  const closed = thinkingScope === "all" ? messages.length : messages.findLastIndex(isUser);
  return thinkers.filter((i) => {
    const newer = thinkers.filter((other) => other > i && isSent(messages[other]));
    return newer.length >= keepRecentThinking && i < before && i < closed;
  });
}

function summarized(message, { minSummaryChars = 500 }, countTokens) {
  const text = message.content
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("\n");
  const summary = text.length > minSummaryChars ? summaryOf(text) : undefined;
  if (summary === undefined) return message;
  const firstText = message.content.findIndex((block) => block.type === "text");
  const content = message.content
    .map((block, i) => (i === firstText ? { ...block, text: summary } : block))
    .filter((block, i) => i === firstText || block.type !== "text");
  const shorter = { ...message, content };
  return countTokens(shorter) > countTokens(message) ? message : shorter;
}

function summaryOf(text) {
  const lines = text.split("\n");
  const left = Math.max(0, lines.length - 5);
  const summary = [
    ...lines.slice(0, 3).map(cutLine),
    `[... 已省略 ${left} 行，原始 ${text.length} 字符 ...]`,
    ...lines.slice(3).slice(-2).map(cutLine),
  ].join("\n");
  return summary.length < text.length ? summary : undefined;
}

/** The first 350 and the last 149 code units around an ellipsis, without half a surrogate pair. */
function cutLine(line) {
  if (line.length <= 500) return line;
  const isPair = (at) => /^[\ud800-\udbff][\udc00-\udfff]$/.test(line.slice(at - 1, at + 1));
  const tail = line.length - 149;
  return `${line.slice(0, isPair(350) ? 349 : 350)}…${line.slice(isPair(tail) ? tail + 1 : tail)}`;
}

function stripped(message) {
  const left = message.content.filter((block) => !isThinking(block));
  const hasCall = left.some((block) => block.type === "toolCall");
  const isEmpty = left.every((block) => block.type === "text" && block.text.trim() === "");
  return isEmpty || (hasCall && needsThinking(message)) ? message : { ...message, content: left };
}

/** True for calls that a provider refuses without their thinking. */
function needsThinking({ api, provider, model, content }) {
  const isStrict = /deepseek|kimi|moonshot/i.test(`${provider} ${model}`);
  if (GOOGLE.includes(api) || RESPONSES.includes(api)) return RESPONSES.includes(api);
  if (ANTHROPIC.includes(api)) return isStrict;
  const signatures = content.map(({ thinkingSignature = "" }) => thinkingSignature);
  if (signatures.some((signature) => /^[[{]/.test(signature))) return true;
  return CHAT.includes(api) ? signatures.some((signature) => /^[a-z0-9_]+$/.test(signature)) : isStrict;
}

/** Layer 3: the oldest groups of a call and its results go until the rest fits. */
function window(
  messages,
  { contextWindow, keepRecentMessages, contextRatio = 0.75, maxPromptTokens },
  countTokens,
) {
  const room = Math.min(contextWindow * contextRatio, maxPromptTokens ?? contextWindow);
  const tokens = messages.map((message) => countTokens(message));
  let total = tokens.reduce((sum, count) => sum + count, 0);
  const groups = messages.map(({ role, toolCallId }, i) => {
    const caller = messages.findLastIndex((message, at) => at < i && callIds(message).includes(toolCallId));
    return role === "toolResult" && caller !== -1 ? caller : i;
  });
  const spoken = indicesOf(messages, ({ role }) => role !== "system");
  const tail = spoken[Math.max(0, spoken.length - Math.max(1, keepRecentMessages))] ?? messages.length;
  const end = Math.min(...groups.slice(tail), tail);
  const dropped = new Set();
  for (let i = 0; i < end && total > room; i += 1) {
    if (groups[i] !== i || isProtected(messages, i)) continue;
    for (const member of indicesOf(groups, (group) => group === i)) {
      dropped.add(member);
      total -= tokens[member];
    }
  }
  return messages.filter((_, i) => !dropped.has(i));
}

/** System messages, the first and the last question, what opens the conversation, and a summary before the questions. */
function isProtected(messages, i) {
  const first = messages.findIndex(isUser);
  const opening = messages.findIndex((message) => message.role !== "system" && isSent(message));
  const { role } = messages[i];
  const isSummary = role === "compactionSummary" && (first === -1 || i < first);
  const opens = i === opening && role !== "assistant";
  return role === "system" || isSummary || opens || i === first || i === messages.findLastIndex(isUser);
}

function isSent({ role, stopReason, excludeFromContext }) {
  return (
    stopReason !== "error" && stopReason !== "aborted" && excludeFromContext !== true && role !== "app-role"
  );
}

function callIds({ role, content }) {
  return role === "assistant" ? content.filter(({ type }) => type === "toolCall").map(({ id }) => id) : [];
}

const isUser = ({ role }) => role === "user";
const isThinking = ({ type }) => type === "thinking";

function indicesOf(list, accepts) {
  return list.flatMap((one, i) => (accepts(one) ? [i] : []));
}
