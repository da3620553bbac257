// What the lines of a Claude Code transcript say, in pi's shapes.

import { present } from "./timeline.mjs";

/** The text that pi shows in place of reasoning that the provider sent encrypted. */
const REDACTED = "[Reasoning redacted]";
/** Marks what Claude Code itself told the model. */
export const META = { customType: "claude-code-meta" };
const STOP_REASONS = {
  tool_use: "toolUse",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  refusal: "error",
  api_error: "error",
};

/** What a line says: `answer`, `user` with `isMeta`, `summary` or `compaction`; nothing; or the problem with it. */
export function contentOf(line) {
  const { type, subtype, message, attachment } = line;
  if (type === "user" || type === "assistant") {
    const isMessage = typeof message === "object" && message !== null && !Array.isArray(message);
    if (!isMessage) return { problem: "This line carries no message." };
    return type === "assistant" ? { answer: answerOf(line) } : saidBy(line);
  }
  if (type === "system" && subtype === "compact_boundary")
    return { compaction: compactionOf(line.compactMetadata) };
  const isQueued =
    type === "attachment" && attachment?.type === "queued_command" && attachment.prompt != null;
  return isQueued ? { user: { content: attachment.prompt }, isMeta: false } : {};
}

function answerOf({ message, requestId, isApiErrorMessage }) {
  const failed = isApiErrorMessage === true ? { stop_reason: "api_error" } : {};
  return { ...message, ...failed, id: message.id ?? requestId };
}

function saidBy({ message: { content = null }, isCompactSummary, isMeta }) {
  return isCompactSummary === true ? { summary: content } : { user: { content }, isMeta: isMeta === true };
}

function compactionOf({ preTokens, preservedMessages } = {}) {
  const uuids = Array.isArray(preservedMessages?.uuids) ? preservedMessages.uuids : [];
  return { tokensBefore: preTokens, preserved: new Set(uuids.filter(Boolean)) };
}

/** The blocks of one kind in a message's content. */
export function blocksOf(message, type) {
  const content = message?.content;
  return Array.isArray(content) ? content.filter((block) => block?.type === type) : [];
}

/** The assistant message of a response, from one more of its lines. What an earlier line said is not repeated. */
export function responseOf(answer, timestamp, before) {
  const known = new Set(before?.content.map((block) => JSON.stringify(block)));
  const fresh = converted(answer.content, assistantBlock).filter(
    (block) => !known.has(JSON.stringify(block)),
  );
  const content = [...(before?.content ?? []), ...fresh];
  const hasCalls = content.some(({ type }) => type === "toolCall");
  const reason = answer.stop_reason ?? (hasCalls ? "tool_use" : "end_turn");
  const stopReason = STOP_REASONS[reason] ?? "stop";
  return present({
    ...(before ?? { role: "assistant" }),
    content,
    api: "anthropic-messages",
    provider: "anthropic",
    model: before?.model ?? (typeof answer.model === "string" ? answer.model : "unknown"),
    usage: answer.usage ? usageOf(answer.usage) : before?.usage,
    stopReason,
    errorMessage: stopReason === "error" ? textOf(content) : undefined,
    timestamp: before?.timestamp ?? timestamp,
  });
}

function usageOf(usage) {
  const count = (key) => Math.max(0, Number(usage[key]) || 0);
  const [input, output] = [count("input_tokens"), count("output_tokens")];
  const [cacheRead, cacheWrite] = [count("cache_read_input_tokens"), count("cache_creation_input_tokens")];
  return { input, output, cacheRead, cacheWrite, totalTokens: input + output + cacheRead + cacheWrite };
}

/** The messages of the tool results that the user's side brought. `tools` has the tool of each call. */
export function resultsIn(message, timestamp, tools) {
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

/** The words of the user's side beside tool results; undefined if there are none. */
export function saidIn({ content }) {
  if (typeof content === "string") return content;
  const rest = converted(content, plainBlock);
  return rest.length > 0 ? rest : undefined;
}

/** All text of a content, its blocks joined by line feeds. */
export function textOf(content) {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return content.flatMap((block) => (typeof block?.text === "string" ? block.text : [])).join("\n");
}

/** The blocks of a content as `convert` makes them; a text by itself is one. */
function converted(content, convert) {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return Array.isArray(content) ? content.flatMap((block) => convert(block ?? {}) ?? []) : [];
}

function assistantBlock(block) {
  switch (block.type) {
    case "thinking":
      return present({
        type: "thinking",
        thinking: block.thinking ?? "",
        thinkingSignature: block.signature,
      });
    case "redacted_thinking":
      return { type: "thinking", thinking: REDACTED, thinkingSignature: block.data, redacted: true };
    case "tool_use": {
      const { id, name, input = {} } = block;
      return id === undefined || name === undefined
        ? undefined
        : { type: "toolCall", id, name, arguments: input };
    }
    default:
      return textBlock(block);
  }
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
