// `node --expose-gc bench/stalls.mjs`: for how long the event loop stands still while the hook works on a history of
// 200 000 tokens, cold (a new hook, new message objects) and warm (one more message than at the call before). The
// garbage of making a cold history is collected before its call: it is not the hook's.

import { conversation } from "../__test__/support/transcripts.mjs";
import { countTokens, createTransformContext } from "../index.js";

const HISTORY_TOKENS = 200_000;
const COLD_CALLS = 60;
const WARM_CALLS = 1000;

const history = makeHistory();

const cold = [];
for (let i = 0; i < COLD_CALLS; i += 1) {
  const messages = structuredClone(history);
  globalThis.gc?.();
  cold.push(await longestStall(createTransformContext(), messages));
}

const warm = [];
const hook = createTransformContext();
const live = structuredClone(history);
await hook(live);
for (let i = 0; i < WARM_CALLS; i += 1) {
  live.push({ role: "user", content: `And then ${i}?` });
  warm.push(await longestStall(hook, live));
}

const tokens = countTokens(history);
console.log(`${history.length} messages, ${tokens} tokens: cold ${said(cold)}; warm ${said(warm)}`);

/** The longest time the event loop had no turn while a call was under way, in ms. */
async function longestStall(transform, messages) {
  await new Promise((resolve) => setImmediate(resolve));
  let longest = 0;
  let last = performance.now();
  let isDone = false;
  const tick = () => {
    const now = performance.now();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(tick);
  };
  setImmediate(tick);
  await transform(messages);
  isDone = true;
  tick();
  return longest;
}

function makeHistory() {
  const messages = [];
  for (let seed = 1, tokens = 0; tokens < HISTORY_TOKENS; seed += 1) {
    const more = conversation(seed, { length: 40, mark: seed }).map((message) => withOwnIds(message, seed));
    messages.push(...more);
    tokens += countTokens(more);
  }
  return messages;
}

/** Tool call ids of its own for each conversation: together they are one history. */
function withOwnIds(message, seed) {
  if (message.role === "toolResult") return { ...message, toolCallId: `${message.toolCallId}_${seed}` };
  if (message.role !== "assistant") return message;
  const content = message.content.map((block) =>
    block.type === "toolCall" ? { ...block, id: `${block.id}_${seed}` } : block,
  );
  return { ...message, content };
}

function said(times) {
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))].toFixed(2);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms over ${sorted.length} calls`;
}
