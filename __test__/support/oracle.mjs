// Layers 1 to 3 once more, in plain JavaScript, straight from the documented rules and sharing no code with the
// product: the oracle its output is compared with.

const REASONING_APIS = ["openai-responses", "azure-openai-responses", "openai-codex-responses"];

export const MARKER = /^\[\.\.\. 已省略 (\d+) 行，原始 (\d+) 字符 \.\.\.\]$/m;

export function layers(messages, limits, countTokens) {
  return window(reduced(messages, limits, countTokens), limits, countTokens);
}

/** Layers 1 and 2. */
function reduced(messages, limits, countTokens) {
  const oldResults = indicesOf(messages, (m) => m.role === "toolResult").slice(
    0,
    -limits.keepRecentToolResults,
  );
  const withThinking = indicesOf(messages, (m) => m.role === "assistant" && m.content.some(isThinking));
  const oldThinking = withThinking.slice(0, -limits.keepRecentThinking);
  const imagesOut = oldImages(messages, oldResults, limits.keepRecentImages ?? 8);
  return messages.map((message, i) => {
    if (oldResults.includes(i)) return withoutImages(summarized(message, countTokens), imagesOut.get(i) ?? 0);
    if (oldThinking.includes(i)) return stripped(message);
    return message;
  });
}

/** How many of its images, the first ones, each old result loses: the newest stay. */
function oldImages(messages, oldResults, kept) {
  const out = new Map();
  let left = kept;
  for (const i of oldResults.toReversed()) {
    const count = messages[i].content.filter(({ type }) => type === "image").length;
    out.set(i, Math.max(0, count - left));
    left = Math.max(0, left - count);
  }
  return out;
}

function withoutImages(message, count) {
  if (count === 0) return message;
  let left = count;
  const content = message.content.map((block) => {
    if (block.type !== "image" || left === 0) return block;
    left -= 1;
    return { type: "text", text: "[... 已省略 1 张图片 ...]" };
  });
  return { ...message, content };
}

function summarized(message, countTokens) {
  const text = message.content
    .filter((block) => block.type === "text")
    .map((block) => block.text)
    .join("\n");
  const summary = summaryOf(text);
  if (summary === undefined) return message;
  const firstText = message.content.findIndex((block) => block.type === "text");
  const content = message.content
    .map((block, i) => (i === firstText ? { ...block, text: summary } : block))
    .filter((block, i) => i === firstText || block.type !== "text");
  const shorter = { ...message, content };
  return countTokens(shorter) > countTokens(message) ? message : shorter;
}

export function summaryOf(text) {
  if (text.length <= 500) return undefined;
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
  const namesField = message.content.some((block) => /^[a-z0-9_]{1,64}$/.test(block.thinkingSignature ?? ""));
  const isBound =
    hasCall && (REASONING_APIS.includes(message.api) || (message.api === "openai-completions" && namesField));
  const isEmpty = left.every((block) => block.type === "text" && block.text.trim() === "");
  return isEmpty || isBound ? message : { ...message, content: left };
}

function window(messages, { contextWindow, keepRecentMessages }, countTokens) {
  const tokens = messages.map((message) => countTokens(message));
  let total = tokens.reduce((sum, count) => sum + count, 0);
  const threshold = contextWindow * 0.75;
  const firstUser = messages.findIndex((message) => message.role === "user");
  const lastUser = messages.findLastIndex((message) => message.role === "user");
  let tail = Math.max(0, messages.length - keepRecentMessages);
  while (messages[tail]?.role === "toolResult") tail -= 1;
  const dropped = new Set();
  for (let i = 1; i < tail && total > threshold; i += 1) {
    if (i === firstUser || i === lastUser || messages[i].role === "toolResult") continue;
    for (let j = i; j === i || messages[j]?.role === "toolResult"; j += 1) {
      dropped.add(j);
      total -= tokens[j];
    }
  }
  return messages.filter((_, i) => !dropped.has(i));
}

function indicesOf(messages, accepts) {
  return messages.flatMap((message, i) => (accepts(message) ? [i] : []));
}

function isThinking(block) {
  return block.type === "thinking";
}
