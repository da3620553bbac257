// Measures calls over long lists: first calls of several shapes, a call with two new messages, a host that clones, many
// agents on one hook; and the memory that a message takes.
// A first call runs in a process of its own, which is stopped when it takes too long.

import { spawnSync } from "node:child_process";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import { createTransformContext } from "../../index.js";
import { LONG, SHAPES, SHORT, stamped, step, steps, withoutUsage } from "./lists.mjs";

const FIRST_CALL = fileURLToPath(new URL("first-call.mjs", import.meta.url));
const SIZES = [10_000, 20_000, 100_000];
/** A first call that takes longer is stopped, and larger ones are not tried. */
const PATIENCE_MS = 60_000;
const ROUNDS = 15;
/** Agents that take turns on one hook, and the messages of each. */
const AGENTS = 100;
const AGENT_MESSAGES = 200;
/** Messages whose memory is measured. */
const REMEMBERED = 20_000;

/** All tables by their titles. */
export async function speedTables() {
  return {
    "First call, seconds": firstCalls(),
    "A call with two new messages, ms": await grownCalls(),
    "A host that clones, ms": await clonedCalls(),
    "Agents on one hook, ms a call": await interleavedCalls(),
    "Memory a message, bytes": await memoryPerMessage(),
  };
}

function firstCalls() {
  return Object.keys(SHAPES).map((shape) => {
    const row = { shape };
    let lastMs = 0;
    for (const size of SIZES) {
      lastMs = lastMs < PATIENCE_MS ? firstCallMs(shape, size) : lastMs;
      row[size] = lastMs < PATIENCE_MS ? Number((lastMs / 1000).toFixed(2)) : `over ${PATIENCE_MS / 1000}`;
    }
    const [least, , most] = SIZES.map((size) => row[size]);
    row["10 × messages"] = typeof most === "number" ? `${(most / least).toFixed(1)} ×` : "-";
    return row;
  });
}

function firstCallMs(shape, size) {
  const run = spawnSync(process.execPath, [FIRST_CALL, shape, String(size)], {
    encoding: "utf8",
    timeout: PATIENCE_MS,
    killSignal: "SIGKILL",
  });
  return run.status === 0 ? Number(run.stdout) : PATIENCE_MS;
}

/** Wall-clock time, and how long the main thread was held. */
async function timed(work) {
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
      const messages = steps(size, { usage: withoutUsage });
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

/** Each call gets new objects; its time beside that of making them. Both leave garbage, which is collected when it is. */
async function clonedCalls() {
  const rows = [];
  for (const schedule of ["everyCall", "sticky"]) {
    for (const size of [1000, 10_000]) {
      const messages = steps(size, { chars: LONG, usage: withoutUsage });
      const hook = createTransformContext({ schedule });
      await hook(structuredClone(messages));
      const rounds = [];
      for (let round = 0; round < ROUNDS; round += 1) {
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

/** Each call adds a step to the list of the next agent in turn. */
async function interleavedCalls() {
  const rows = [];
  for (const schedule of ["everyCall", "sticky"]) {
    for (const agents of [1, AGENTS]) {
      const hook = createTransformContext({ schedule });
      const lists = Array.from({ length: agents }, () => steps(AGENT_MESSAGES, { usage: withoutUsage }));
      for (const list of lists) await hook(list);
      const rounds = [];
      for (let round = 0; round < 3 * AGENTS; round += 1) {
        const list = lists[round % agents];
        list.push(...stamped(step(AGENT_MESSAGES + round, SHORT, undefined), list.length));
        rounds.push(await timed(() => hook(list)));
      }
      rows.push({ schedule, agents, ...medians(rounds) });
    }
  }
  return rows;
}

/** What a hook holds of a long list beside the messages: on JavaScript's heap, and in all. Wants `--expose-gc`. */
async function memoryPerMessage() {
  const settled = async () => {
    for (let i = 0; i < 3; i += 1) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return process.memoryUsage();
  };
  await createTransformContext({ schedule: "sticky" })(steps(100, { usage: withoutUsage }));
  const messages = steps(REMEMBERED, { usage: withoutUsage });
  const before = await settled();
  const hook = createTransformContext({ schedule: "sticky" });
  await hook(messages);
  const after = await settled();
  await hook(messages);
  const a = (key) => Math.round((after[key] - before[key]) / messages.length);
  return [{ messages: messages.length, heap: a("heapUsed"), resident: a("rss") }];
}

/** Medians, and the least time the main thread was held: on a busy machine the median holds other processes' time too. */
function medians(rounds) {
  const sorted = (key) => rounds.map((round) => round[key]).sort((a, b) => a - b);
  const rounded = (ms) => Number(ms.toFixed(3));
  const median = (key) => rounded(sorted(key)[rounds.length >> 1]);
  const row = {
    total: median("totalMs"),
    held: median("heldMs"),
    "held, least": rounded(sorted("heldMs")[0]),
  };
  return rounds[0].cloneMs === undefined ? row : { ...row, "clone itself": median("cloneMs") };
}
