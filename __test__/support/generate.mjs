// Generated transcripts for property tests: valid conversations in pi's shapes, with everything real ones hold.

import fc from "fast-check";

const line = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.constantFrom("", "error: 未找到文件", "x".repeat(700), "😀".repeat(300), "  at run (src/a.js:1:2)"),
);
export const shortText = fc.string({ minLength: 1, maxLength: 60 }).map((text) => `t${text}`);
export const longText = fc
  .array(line, { minLength: 1, maxLength: 40 })
  .map((lines) => `>${lines.join("\n")}`);

export const image = fc.constant({ type: "image", data: "AAAA", mimeType: "image/png" });
export const textBlock = (text) => text.map((value) => ({ type: "text", text: value }));
const thinking = fc
  .tuple(shortText, fc.oneof(shortText, fc.constant("reasoning_content")))
  .map(([text, signature]) => ({ type: "thinking", thinking: text, thinkingSignature: signature }));

export const usage = fc.record(
  { input: fc.nat(1000), output: fc.nat(1000), cacheRead: fc.constant(0), cacheWrite: fc.nat(1000) },
  { noNullPrototype: true },
);

export const userMessage = fc
  .oneof(shortText, fc.array(fc.oneof(textBlock(shortText), image), { minLength: 1, maxLength: 2 }))
  .map((content) => [{ role: "user", content }]);

export const customMessage = shortText.map((content) => [
  { role: "custom", customType: "note", content, display: true },
]);

/** An assistant message with its results, or a last word. */
const step = fc
  .record({
    thoughts: fc.array(thinking, { maxLength: 2 }),
    says: fc.array(textBlock(shortText), { maxLength: 1 }),
    calls: fc.nat(3),
    results: fc.array(fc.array(fc.oneof(textBlock(longText), image), { minLength: 1, maxLength: 2 }), {
      minLength: 3,
      maxLength: 3,
    }),
    usage,
    api: fc.constantFrom("anthropic-messages", "openai-responses", "openai-completions"),
  })
  .map(({ thoughts, says, calls, results, usage, api }) => {
    const toolCalls = Array.from({ length: calls }, (_, i) => ({
      type: "toolCall",
      id: `call_${i}`,
      name: i === 1 ? "bash" : "read",
      arguments: { path: `src/file${i}.rs` },
    }));
    const content = [...thoughts, ...says, ...toolCalls];
    if (content.length === thoughts.length) content.push({ type: "text", text: "done" });
    const assistant = {
      role: "assistant",
      content,
      api,
      provider: "p",
      model: "m",
      usage,
      stopReason: calls > 0 ? "toolUse" : "stop",
    };
    const answers = toolCalls.map((call, i) => ({
      role: "toolResult",
      toolCallId: call.id,
      toolName: call.name,
      content: results[i],
      isError: false,
      details: { kept: i },
    }));
    return [assistant, ...answers];
  });

/** A valid transcript: opens with the user, every call answered at once. */
export const transcript = ({ maxSteps = 30 } = {}) =>
  fc
    .tuple(
      userMessage,
      fc.array(fc.oneof({ weight: 6, arbitrary: step }, userMessage, customMessage), { maxLength: maxSteps }),
    )
    .map(([first, rest]) => withTimes([first, ...rest].flat()));

/** Ids unique over the transcript, one second between messages. */
function withTimes(given) {
  // A case that fails is made smaller from the same objects, and those may be frozen by then.
  const messages = structuredClone(given);
  let turn = 0;
  for (const [i, message] of messages.entries()) {
    message.timestamp = 1_700_000_000_000 + 1000 * i;
    if (message.role === "assistant") turn += 1;
    if (message.role === "toolResult") message.toolCallId += `_${turn}`;
    if (message.role !== "assistant") continue;
    for (const block of message.content) if (block.type === "toolCall") block.id += `_${turn}`;
  }
  return messages;
}

/** Freezes a value all the way down. */
export function deepFreeze(value) {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
