// How long a call of the hook takes and how long it holds the main thread, against JSON.stringify of the same
// messages in the same run: `npm run bench:hook [-- SESSION]`.

import { performance } from "node:perf_hooks";
import { createTransformContext } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";

const WARM_CALLS = 400;
const COLD_CALLS = 20;

/** A thousand messages of about 4 KB each: calls and results, as a busy agent leaves them. */
function thousandMessages() {
  const line = (i, j) =>
    `src/module_${i % 97}/file_${j}.rs:${(i * j) % 900}: pub fn handle_${j}(input: &str) -> Result<()>`;
  const messages = [{ role: "user", content: "go", timestamp: 0 }];
  for (let i = 0; messages.length < 1000; i += 1) {
    const id = `call_${i}`;
    const usage = { input: 10, output: 50, cacheRead: 1000 + 900 * i, cacheWrite: 900 };
    messages.push({
      role: "assistant",
      content: [{ type: "toolCall", id, name: "bash", arguments: { command: `rg handle_${i} src` } }],
      api: "anthropic-messages",
      provider: "anthropic",
      model: "claude",
      usage,
      stopReason: "toolUse",
      timestamp: 4000 * i + 1000,
    });
    const text = Array.from({ length: 92 }, (_, j) => line(i, j)).join("\n");
    messages.push({
      role: "toolResult",
      toolCallId: id,
      toolName: "bash",
      content: [{ type: "text", text }],
      isError: false,
      timestamp: 4000 * i + 2000,
    });
  }
  return messages;
}

/** Wall-clock time and main-thread time of `work`, in ms. */
async function timed(work) {
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  await work();
  const totalMs = performance.now() - start;
  return { totalMs, heldMs: performance.eventLoopUtilization(before).active };
}

async function measure(name, messages, schedule) {
  const hook = createTransformContext({ schedule });
  await hook(messages);
  const rounds = { stringify: [], warm: [], grown: [], cold: [] };
  for (let i = 0; i < WARM_CALLS; i += 1) {
    rounds.stringify.push(await timed(() => JSON.stringify(messages)));
    rounds.warm.push(await timed(() => hook(messages)));
    const grown = [...messages, { role: "user", content: `and now question ${i}?`, timestamp: 1e13 }];
    rounds.grown.push(await timed(() => hook(grown)));
  }
  for (let i = 0; i < COLD_CALLS; i += 1) {
    const copy = structuredClone(messages).map((message) => ({
      ...message,
      timestamp: message.timestamp + i,
    }));
    rounds.cold.push(await timed(() => createTransformContext({ schedule })(copy)));
  }
  const row = { messages: name, schedule };
  const stringifyMs = median(rounds.stringify.map((round) => round.totalMs));
  row["stringify ms"] = stringifyMs.toFixed(2);
  for (const kind of ["warm", "grown", "cold"]) {
    const heldMs = median(rounds[kind].map((round) => round.heldMs));
    row[`${kind} total ms`] = median(rounds[kind].map((round) => round.totalMs)).toFixed(2);
    row[`${kind} held ms`] = heldMs.toFixed(3);
    row[`${kind} held / stringify`] = `${((100 * heldMs) / stringifyMs).toFixed(1)} %`;
  }
  return row;
}

function median(values) {
  return values.toSorted((a, b) => a - b)[values.length >> 1];
}

const path = process.argv[2] ?? new URL("../examples/session.jsonl", import.meta.url).pathname;
const sessions = {
  "1000 × 4 KB": thousandMessages(),
  [path.split("/").at(-1)]: (await loadSession(path)).messages,
};
const rows = [];
for (const [name, messages] of Object.entries(sessions)) {
  for (const schedule of ["everyCall"]) rows.push(await measure(name, messages, schedule));
}
console.table(rows);
