// Compaction as pi does it: when the last answer's usage passes a threshold, all but a tail of about so many tokens
// becomes one summary at the head. What is kept keeps the usage of its own time.

/** pi counts four characters a token here, and an image as 4800 characters. */
const CHARS_PER_TOKEN = 4;
const IMAGE_CHARS = 4800;

/** Tokens in the context as pi sees them: the last usage that is one, and an estimate of what came after it. */
export function contextTokens(messages) {
  const last = messages.findLastIndex(
    ({ role, stopReason, usage }) =>
      role === "assistant" && !["error", "aborted"].includes(stopReason) && usage !== undefined,
  );
  const {
    totalTokens = 0,
    input = 0,
    output = 0,
    cacheRead = 0,
    cacheWrite = 0,
  } = messages[last]?.usage ?? {};
  const reported = totalTokens || input + output + cacheRead + cacheWrite;
  return messages.slice(last + 1).reduce((tokens, message) => tokens + roughTokens(message), reported);
}

/** The list after a compaction: `summary`, then the messages from the cut on. */
export function compacted(messages, keepTokens, summary) {
  return [summary, ...messages.slice(cutPoint(messages, keepTokens))];
}

/** Walks back until `keepTokens` have gathered; a tool result is never first. */
export function cutPoint(messages, keepTokens) {
  let gathered = 0;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    gathered += roughTokens(messages[at]);
    if (gathered < keepTokens) continue;
    const cut = messages.findIndex((message, index) => index >= at && message.role !== "toolResult");
    return cut === -1 ? 0 : cut;
  }
  return 0;
}

function roughTokens({ role, content, command = "", output = "", summary = "" }) {
  const own = command.length + output.length + summary.length;
  if (typeof content === "string") return Math.ceil((own + content.length) / CHARS_PER_TOKEN);
  const blocks = Array.isArray(content) ? content : [];
  const chars = blocks.reduce((sum, block) => sum + blockChars(block, role), own);
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

function blockChars(block, role) {
  if (block.type === "text") return block.text.length;
  if (block.type === "thinking") return block.thinking.length;
  if (block.type === "toolCall") return block.name.length + (JSON.stringify(block.arguments)?.length ?? 0);
  return block.type === "image" && role === "toolResult" ? IMAGE_CHARS : 0;
}
