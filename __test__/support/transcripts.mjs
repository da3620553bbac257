// Generated conversations by the hundred thousand: what real sessions hold, and with noise what breaks them. One seed
// names one conversation.

const APIS = "anthropic-messages openai-completions openai-responses google-generative-ai unknown-api".split(
  " ",
);
const LINES = [
  'fn main() { println!("{}", 1); }',
  "error: 未找到文件 src/lib.rs",
  "",
  "   ",
  "😀😀😀 done",
  "The quick brown fox jumps over the lazy dog.",
  "\tat run (src/a.js:1:2)",
];

/** Mulberry32: whole numbers below a bound, the same for the same seed. */
export function dice(seed) {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** False for an app's own message: pi does not send it, and the package counts it as its JSON. */
export function isPis({ role }) {
  return role !== "app-role";
}

/** About one thing in `noise` is broken; none where it is 0. */
export function conversation(seed, { length = 40, noise = 0, mark = "" } = {}) {
  const roll = dice(seed);
  const pick = (items) => items[roll(items.length)];
  const isNoise = () => noise > 0 && roll(noise) === 0;
  const messages = [];
  let made = 0;
  const api = pick(APIS);
  const model = seed % 2 === 0 ? "claude-opus-4-5" : "m";

  const text = (lines) => {
    const parts = [`-${mark}`];
    for (let left = roll(lines) + 1; left > 0; left -= 1) {
      parts.push(roll(15) === 0 ? "long 😀".repeat(60 + roll(200)) : pick(LINES));
    }
    return `${parts.join("\n")}.`;
  };
  const broken = () => pick(["", " \n", `\ud83d${mark}`, null, 7, undefined]);
  const push = (message) => {
    const timestamp = 1_700_000_000_000 + 1000 * messages.length;
    messages.push({ ...message, timestamp, details: { kept: messages.length } });
  };
  const user = () => {
    const value = isNoise() ? broken() : text(6);
    const content = roll(3) === 0 ? [{ type: "text", text: value }, image()] : value;
    push({ role: "user", content });
  };
  const image = () => ({ type: "image", data: "AAAA", mimeType: "image/png" });
  const thoughts = () =>
    Array.from({ length: pick([0, 0, 1, 2]) }, () =>
      roll(6) === 0
        ? { type: "thinking", thinking: "", thinkingSignature: "sig", redacted: true }
        : { type: "thinking", thinking: text(4), thinkingSignature: pick(["", "reasoning_content", "Eq/4"]) },
    );
  const assistant = (content, stopReason) => {
    const usage = { input: 100, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 105 };
    push({ role: "assistant", content, api, provider: "p", model, usage, stopReason });
  };
  const call = () => {
    made += 1;
    return {
      type: "toolCall",
      id: isNoise() ? "call_1" : `call_${made}`,
      name: pick(["read", "bash"]),
      arguments: isNoise() ? pick([undefined, null, "text", 10n]) : { path: `src/file${made}.rs` },
      thoughtSignature: "sig",
    };
  };
  const result = ({ id, name }) => {
    const content = Array.from({ length: pick([0, 1, 1, 1, 2]) }, () => ({
      type: "text",
      text: isNoise() ? broken() : text(20),
    }));
    if (roll(12) === 0) content.push(image());
    push({ role: "toolResult", toolCallId: id, toolName: name, content, isError: roll(9) === 0 });
  };
  const step = () => {
    const calls = Array.from({ length: pick([1, 1, 1, 2, 3]) }, call);
    const says = roll(2) === 0 ? [{ type: "text", text: text(2) }] : [];
    assistant([...thoughts(), ...says, ...calls], "toolUse");
    if (isNoise()) user();
    if (roll(3) === 0) calls.reverse();
    for (const answered of calls) {
      if (!isNoise()) result(answered);
      if (isNoise()) result(answered);
    }
  };
  const others = [
    () => push({ role: "custom", customType: "note", content: text(3), display: true }),
    () => push({ role: "bashExecution", command: "ls", output: text(4), excludeFromContext: roll(2) === 0 }),
    () => push({ role: "branchSummary", summary: text(4) }),
    () => push({ role: "app-role", content: [{ type: "app-block", value: 1 }] }),
    () => assistant(roll(2) === 0 ? [] : thoughts(), pick(["error", "aborted"])),
    () => push({ role: "system", content: text(2) }),
  ];

  if (roll(3) === 0) push({ role: "system", content: text(3), toolsAdded: [{ name: "read" }] });
  if (roll(4) === 0) push({ role: "compactionSummary", summary: text(6), tokensBefore: 1 });
  if (!isNoise()) user();
  while (messages.length < length) {
    const kind = roll(12);
    if (kind === 0) {
      assistant([...thoughts(), { type: "text", text: text(3) }], "stop");
      user();
    } else if (kind === 1) {
      pick(others)();
    } else {
      step();
    }
    if (isNoise()) messages.push(pick([null, 7, "text", [], { role: 5 }, {}]));
  }
  return messages;
}

/** Freezes a value all the way down. */
export function deepFreeze(value) {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const part of Object.values(value)) deepFreeze(part);
  return Object.freeze(value);
}
