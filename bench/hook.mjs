// Measures how long a call of the hook takes and for how long it holds the main thread, against JSON.stringify of the same
// messages in the same round: `npm run bench:hook [-- SESSION]`. Warm is the same transcript again, grown one with an answer and
// its result more than at the call before, copied a grown one of new objects, cold one of new objects for a new hook. The processor's caches
// hold what stringify left in them, as they would hold anything but the messages in a host. The garbage of making new objects is
// collected before a cold call: it is not the hook's.

import { performance } from "node:perf_hooks";
import { agentSession } from "../__test__/support/agent-session.mjs";
import { createTransformContext } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";
import { EXAMPLE, quantile } from "./shared.mjs";

const SCHEDULES = ["everyCall", "sticky"];
const WARM_ROUNDS = 300;
const COLD_ROUNDS = 20;
/** Long conversations of short messages: how the cost of a call grows with their number. */
const COUNTS = [1_000, 10_000, 100_000];
const COUNT_ROUNDS = 50;

/** Messages of about `lines` times 45 characters every other one: calls and results, as a busy agent leaves them. */
function busyAgent(count, lines) {
  const line = (i, j) =>
    `src/module_${i % 97}/file_${j}.rs:${(i * j) % 900}: pub fn handle_${j}(input: &str) -> Result<()>`;
  const step = (_, i) => {
    const text = Array.from({ length: lines }, (_, j) => line(i, j)).join("\n");
    return ["bash", { command: `rg handle_${i} src` }, text];
  };
  const answer = (i) => ({ usage: { input: 10, output: 50, cacheRead: 1000 + 900 * i, cacheWrite: 900 } });
  return agentSession(Array.from({ length: count / 2 }, step), { answer, stepMs: 4000 });
}

/** Wall-clock time and main-thread time of `work`, in ms, right after JSON.stringify of the messages, and that one's. */
async function timed(messages, work) {
  const begin = performance.now();
  JSON.stringify(messages);
  const stringifyMs = performance.now() - begin;
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  await work();
  const totalMs = performance.now() - start;
  return { totalMs, heldMs: performance.eventLoopUtilization(before).active, stringifyMs };
}

/** The last call with one result again, 4 s later, with the same report: the context does not grow towards a batch. */
function nextStep(messages) {
  const at = messages.findLastIndex(
    (message, i) => message.role === "assistant" && messages[i + 1]?.role === "toolResult",
  );
  const [answer, result] = messages.slice(at, at + 2);
  const timestamp = messages.at(-1).timestamp + 4000;
  const toolCallId = `again${messages.length}`;
  const call = { ...answer.content.find((block) => block.type === "toolCall"), id: toolCallId };
  const content = [...answer.content.filter((block) => block.type !== "toolCall"), call];
  return [
    { ...answer, content, timestamp },
    { ...result, toolCallId, timestamp },
  ];
}

async function measure(messages, schedule, warmRounds = WARM_ROUNDS, coldRounds = COLD_ROUNDS) {
  const rounds = { warm: [], grown: [], copied: [], cold: [] };
  const hook = createTransformContext({ schedule });
  await hook(messages);
  for (let i = 0; i < warmRounds; i += 1) rounds.warm.push(await timed(messages, () => hook(messages)));
  const growing = messages.slice();
  const grow = () => growing.push(...nextStep(growing));
  for (let i = 0; i < warmRounds; i += 1) {
    grow();
    rounds.grown.push(await timed(growing, () => hook(growing)));
  }
  for (let i = 0; i < coldRounds; i += 1) {
    grow();
    const copies = structuredClone(growing);
    rounds.copied.push(await timed(growing, () => hook(copies)));
  }
  for (let i = 0; i < coldRounds; i += 1) {
    // Content of its own too: else the facts would be known by content.
    const fresh = structuredClone(messages).map((message) => ({
      ...message,
      timestamp: message.timestamp + i + 1,
    }));
    globalThis.gc?.();
    rounds.cold.push(await timed(messages, () => createTransformContext({ schedule })(fresh)));
  }
  return rounds;
}

/** One line: medians with their 95th percentiles, and the share of stringify that the main thread was held. */
function row(name, schedule, kind, rounds) {
  const of = (key) => rounds.map((round) => round[key]);
  const said = (values) => `${quantile(values).toFixed(3)} (${quantile(values, 0.95).toFixed(3)})`;
  const share = rounds.map((round) => (100 * round.heldMs) / round.stringifyMs);
  return {
    messages: name,
    schedule,
    call: kind,
    "stringify ms (p95)": said(of("stringifyMs")),
    "total ms (p95)": said(of("totalMs")),
    "held ms (p95)": said(of("heldMs")),
    "held / stringify (p95)": `${quantile(share).toFixed(2)} % (${quantile(share, 0.95).toFixed(2)} %)`,
  };
}

const path = process.argv[2] ?? EXAMPLE;
const transcripts = {
  "1000 × 4 KB": busyAgent(1000, 92),
  [path.split("/").at(-1)]: structuredClone((await loadSession(path)).messages),
};
const rows = [];
for (const [name, messages] of Object.entries(transcripts)) {
  for (const schedule of SCHEDULES) {
    const rounds = await measure(messages, schedule);
    for (const kind of Object.keys(rounds)) rows.push(row(name, schedule, kind, rounds[kind]));
  }
}
for (const count of COUNTS) {
  const messages = busyAgent(count, 5);
  const { warm, grown } = await measure(messages, "sticky", COUNT_ROUNDS, 0);
  rows.push(row(`${count} short`, "sticky", "warm", warm), row(`${count} short`, "sticky", "grown", grown));
}
console.table(rows);
