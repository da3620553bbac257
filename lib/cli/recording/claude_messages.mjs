// The lines of a Claude Code transcript as pi's messages.

import { present, timeOf } from "./tree.mjs";

/** The text that pi shows in place of reasoning that the provider sent encrypted. */
const REDACTED = "[Reasoning redacted]";
/** Marks what Claude Code itself told the model. */
const META_TYPE = "claude-code-meta";
const STOP_REASONS = {
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "error",
  api_error: "error",
};

/**
 * The content of a line: a part of an `answer`, the `messages` of the user's side (`isSummary` if they are a compaction's), or a
 * `compaction`; nothing; or the `problem` with it. `tools` has the tool of each call before it, and gets those of the line.
 */
export function contentOf(line, tools) {
  const { type, subtype, message, attachment } = line;
  const timestamp = timeOf(line.timestamp);
  if (type === "user" || type === "assistant") {
    if (typeof message !== "object" || message === null || Array.isArray(message))
      return { problem: "This line carries no message." };
    return type === "assistant" ? { answer: answerOf(line, tools) } : userContent(line, timestamp, tools);
  }
  if (type === "system" && subtype === "compact_boundary") return { compaction: compactionOf(line) };
  const isQueued = type === "attachment" && attachment?.type === "queued_command" && attachment.prompt;
  return isQueued ? { messages: saidIn({ content: attachment.prompt }, timestamp) } : {};
}

function userContent({ message, isCompactSummary, isMeta }, timestamp, tools) {
  if (isCompactSummary !== true)
    return { messages: [...resultsIn(message, timestamp, tools), ...saidIn(message, timestamp, isMeta)] };
  const summary = textOf(message.content);
  return { messages: [present({ role: "compactionSummary", summary, timestamp })], isSummary: true };
}

function compactionOf({ compactMetadata }) {
  const { preTokens, preservedMessages } = compactMetadata ?? {};
  const uuids = Array.isArray(preservedMessages?.uuids) ? preservedMessages.uuids : [];
  return { tokensBefore: preTokens, preserved: new Set(uuids.filter(Boolean)) };
}

function answerOf({ message, requestId, isApiErrorMessage }, tools) {
  for (const { id, name } of blocksOf(message, "tool_use")) tools.set(id, name);
  const failed = isApiErrorMessage === true ? { stop_reason: "api_error" } : {};
  return { ...message, ...failed, id: message.id ?? requestId };
}

/** The blocks of one type in a message's content. */
export function blocksOf(message, type) {
  const content = message?.content;
  return Array.isArray(content) ? content.filter((block) => block?.type === type) : [];
}

/** The assistant message of a response, from one more of its lines. What an earlier line said is not repeated. */
export function responseOf(answer, timestamp, before = { role: "assistant", content: [], timestamp }) {
  const known = new Set(before.content.map((block) => JSON.stringify(block)));
  const blocks = converted(answer.content, assistantBlock);
  const content = before.content.concat(blocks.filter((block) => !known.has(JSON.stringify(block))));
  const hasCalls = content.some(({ type }) => type === "toolCall");
  const stopReason = STOP_REASONS[answer.stop_reason ?? (hasCalls ? "tool_use" : "end_turn")] ?? "stop";
  return present({
    ...before,
    content,
    api: "anthropic-messages",
    provider: "anthropic",
    model: before.model ?? (typeof answer.model === "string" ? answer.model : "unknown"),
    usage: answer.usage ? usageOf(answer.usage) : before.usage,
    stopReason,
    errorMessage: stopReason === "error" ? textOf(content) : undefined,
  });
}

function usageOf(usage) {
  const count = (key) => Math.max(0, Number(usage[key]) || 0);
  const [input, output] = [count("input_tokens"), count("output_tokens")];
  const [cacheRead, cacheWrite] = [count("cache_read_input_tokens"), count("cache_creation_input_tokens")];
  return { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite };
}

/** The messages of the tool results that the user's side brought. */
function resultsIn(message, timestamp, tools) {
  const results = blocksOf(message, "tool_result").filter((block) => typeof block.tool_use_id === "string");
  return results.map(({ tool_use_id: toolCallId, content, is_error: isError }) =>
    present({
      role: "toolResult",
      toolName: tools.get(toolCallId) ?? "unknown",
      toolCallId,
      content: converted(content, plainBlock),
      isError: isError === true,
      timestamp,
    }),
  );
}

/** The message of the words beside tool results, if there are any. */
function saidIn({ content }, timestamp, isMeta) {
  const said = typeof content === "string" ? content : converted(content, plainBlock);
  if (typeof said !== "string" && said.length === 0) return [];
  const meta = { role: "custom", customType: META_TYPE, content: said, display: false };
  return [present({ ...(isMeta === true ? meta : { role: "user", content: said }), timestamp })];
}

/** All text of a content, its blocks joined by line feeds. */
function textOf(content) {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.flatMap((block) => (typeof block?.text === "string" ? block.text : [])).join("\n");
}

/** The blocks of a content as `convert` makes them; a text by itself is one. */
function converted(content, convert) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.flatMap((block) => convert(block ?? {}) ?? []) : [];
}

function assistantBlock(block) {
  const { type, id, name, input = {}, thinking = "", signature, data } = block;
  if (type === "thinking") return present({ type, thinking, thinkingSignature: signature });
  if (type === "redacted_thinking")
    return { type: "thinking", thinking: REDACTED, thinkingSignature: data, redacted: true };
  if (type !== "tool_use") return textBlock(block);
  return id === undefined || name === undefined
    ? undefined
    : { type: "toolCall", id, name, arguments: input };
}

/** A text or an image; pi has no other block in user messages and tool results. */
function plainBlock(block) {
  const { data, media_type: mimeType } = block.source ?? {};
  if (block.type !== "image") return textBlock(block);
  return data === undefined || mimeType === undefined ? undefined : { type: "image", data, mimeType };
}

function textBlock({ type, text }) {
  return type === "text" && typeof text === "string" ? { type: "text", text } : undefined;
}
