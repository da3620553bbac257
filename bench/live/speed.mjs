// How long calls over long lists take: first calls of several shapes, a call with two new messages, a host that clones.

import { performance } from "node:perf_hooks";
import { createTransformContext } from "../../index.js";

/** Characters of a message in the long lists, and of one in the host that clones. */
const SHORT = 400;
const LONG = 4000;
/** A shape that took longer than this is not tried at larger sizes. */
const PATIENCE_MS = 20_000;
const ROUNDS = 15;

const filler = "the quick brown fox jumps over the lazy dog and runs on through the wood\n".repeat(60);

const textAt = (at, chars) => `${at} ${filler.slice(at % 60, (at % 60) + chars)}`;

function usageAt(at) {
  return { input: 3, output: 50, cacheRead: 2000 + 60 * at, cacheWrite: 120 };
}

function step(at, chars, usage) {
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
function steps(count, { chars = SHORT, usage = usageAt } = {}) {
  const messages = [{ role: "user", content: "go" }];
  for (let at = 0; messages.length < count; at += 1) messages.push(...step(at, chars, usage(at)));
  return stamped(messages);
}

function stamped(messages, from = 0) {
  for (const [at, message] of messages.entries()) message.timestamp = 1_700_000_000_000 + 1000 * (from + at);
  return messages;
}

const noUsage = () => undefined;
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

const SHAPES = {
  "steps with usage, everyCall": [steps, { schedule: "everyCall" }],
  "steps with usage, sticky": [steps, { schedule: "sticky" }],
  "steps without usage, everyCall": [(count) => steps(count, { usage: noUsage }), { schedule: "everyCall" }],
  "steps without usage, sticky": [(count) => steps(count, { usage: noUsage }), { schedule: "sticky" }],
  "chat with usage, sticky": [chat, { schedule: "sticky" }],
  "user messages only, everyCall": [users, { schedule: "everyCall" }],
  "user messages only, sticky": [users, { schedule: "sticky" }],
  "one message with all calls, sticky": [oneMessage, { schedule: "sticky" }],
  "one message with all calls, everyCall": [oneMessage, { schedule: "everyCall" }],
};
const SIZES = [10_000, 20_000, 100_000];

/** All tables by their titles. */
export async function speedTables() {
  return {
    "First call, seconds": await firstCalls(),
    "A call with two new messages, ms": await grownCalls(),
    "A host that clones, ms": await clonedCalls(),
  };
}

async function firstCalls() {
  const rows = [];
  for (const [shape, [make, options]] of Object.entries(SHAPES)) {
    const row = { shape };
    let lastMs = 0;
    const times = [];
    for (const size of SIZES) {
      if (lastMs > PATIENCE_MS) break;
      const messages = make(size);
      lastMs = (await timed(() => createTransformContext(options)(messages))).totalMs;
      times.push(lastMs);
      row[size] = Number((lastMs / 1000).toFixed(2));
    }
    row["10 × messages"] = times.length === SIZES.length ? `${(times.at(-1) / times[0]).toFixed(1)} ×` : "-";
    rows.push(row);
  }
  return rows;
}

/** Wall-clock time, and how long the main thread was held. */
async function timed(work) {
  globalThis.gc?.();
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  await work();
  const totalMs = performance.now() - start;
  return { totalMs, heldMs: performance.eventLoopUtilization(before).active };
}

async function grownCalls() {
  const rows = [];
  for (const schedule of ["everyCall", "sticky"]) {
    for (const size of [1000, 10_000, 100_000]) {
      const messages = steps(size, { usage: noUsage });
      const hook = createTransformContext({ schedule });
      await hook(messages);
      const rounds = [];
      for (let round = 0; round < ROUNDS; round += 1) {
        messages.push(...stamped(step(size + round, SHORT, undefined), messages.length));
        rounds.push(await timed(() => hook(messages)));
      }
      rows.push({ schedule, messages: size, ...medians(rounds) });
    }
  }
  return rows;
}

/** Each call gets new objects; its time beside that of making them. */
async function clonedCalls() {
  const rows = [];
  for (const schedule of ["everyCall", "sticky"]) {
    for (const size of [1000, 10_000]) {
      const messages = steps(size, { chars: LONG, usage: noUsage });
      const hook = createTransformContext({ schedule });
      await hook(structuredClone(messages));
      const rounds = [];
      for (let round = 0; round < 5; round += 1) {
        messages.push(...stamped(step(size + round, LONG, undefined), messages.length));
        const start = performance.now();
        const cloned = structuredClone(messages);
        const cloneMs = performance.now() - start;
        rounds.push({ ...(await timed(() => hook(cloned))), cloneMs });
      }
      const { "clone itself": cloneMs, ...row } = medians(rounds);
      rows.push({
        schedule,
        messages: size,
        ...row,
        "clone itself": cloneMs,
        "total / clone": Number((row.total / cloneMs).toFixed(2)),
      });
    }
  }
  return rows;
}

function medians(rounds) {
  const median = (key) => {
    const values = rounds.map((round) => round[key]).sort((a, b) => a - b);
    return Number(values[values.length >> 1].toFixed(3));
  };
  const row = { total: median("totalMs"), held: median("heldMs") };
  return rounds[0].cloneMs === undefined ? row : { ...row, "clone itself": median("cloneMs") };
}
