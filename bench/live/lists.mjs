// Long lists of messages, as the speed of calls is measured with.

/** Characters of a message in the long lists, and of one in the host that clones. */
export const SHORT = 400;
export const LONG = 4000;

const filler = "the quick brown fox jumps over the lazy dog and runs on through the wood\n".repeat(60);

const textAt = (at, chars) => `${at} ${filler.slice(at % 60, (at % 60) + chars)}`;

/** Reports that rise as steps do and fall as batches make them. */
function usageAt(at) {
  return { input: 3, output: 50, cacheRead: 2000 + ((165 * at) % 110_000), cacheWrite: 120 };
}

export function step(at, chars, usage) {
  const id = `call_${at}`;
  const call = { type: "toolCall", id, name: "bash", arguments: { command: `rg name_${at} src` } };
  const source = { api: "anthropic-messages", provider: "anthropic", model: "claude" };
  const assistant = { role: "assistant", content: [call], ...source, usage, stopReason: "toolUse" };
  const result = {
    role: "toolResult",
    toolCallId: id,
    toolName: "bash",
    content: [{ type: "text", text: textAt(at, chars) }],
    isError: false,
  };
  return [assistant, result];
}

/** About `count` messages: a question and calls with their results. */
export function steps(count, { chars = SHORT, usage = usageAt } = {}) {
  const messages = [{ role: "user", content: "go" }];
  for (let at = 0; messages.length < count; at += 1) messages.push(...step(at, chars, usage(at)));
  return stamped(messages);
}

export function stamped(messages, from = 0) {
  for (const [at, message] of messages.entries()) message.timestamp = 1_700_000_000_000 + 1000 * (from + at);
  return messages;
}

export const withoutUsage = () => undefined;
const users = (count) =>
  stamped(Array.from({ length: count }, (_, at) => ({ role: "user", content: textAt(at, SHORT) })));
/** Questions of which each has one answer: user text passes the waters alone. */
const chat = (count) =>
  stamped(
    Array.from({ length: count }, (_, at) =>
      at % 2 === 0
        ? { role: "user", content: textAt(at, SHORT) }
        : {
            ...step(at, SHORT, usageAt(at))[0],
            content: [{ type: "text", text: "yes" }],
            stopReason: "stop",
          },
    ),
  );
const oneMessage = (count) => {
  const calls = Array.from({ length: count }, (_, at) => step(at, 40, undefined));
  const asks = { ...calls[0][0], content: calls.map(([{ content }]) => content[0]) };
  return stamped([{ role: "user", content: "go" }, asks, ...calls.map(([, result]) => result)]);
};

/** Makers of lists with the options of the hook they are for. */
export const SHAPES = {
  "steps with usage, everyCall": [steps, { schedule: "everyCall" }],
  "steps with usage, sticky": [steps, { schedule: "sticky" }],
  "steps without usage, everyCall": [
    (count) => steps(count, { usage: withoutUsage }),
    { schedule: "everyCall" },
  ],
  "steps without usage, sticky": [(count) => steps(count, { usage: withoutUsage }), { schedule: "sticky" }],
  "chat with usage, sticky": [chat, { schedule: "sticky" }],
  "user messages only, everyCall": [users, { schedule: "everyCall" }],
  "user messages only, sticky": [users, { schedule: "sticky" }],
  "one message with all calls, sticky": [oneMessage, { schedule: "sticky" }],
  "one message with all calls, everyCall": [oneMessage, { schedule: "everyCall" }],
};
