// What the hook holds on to: the facts of a message are freed with it, and calls leave nothing behind. The bound of the cache of
// contents is tested in src/node/content_cache.rs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { printedBy } from "./support/root.mjs";

/** What the scripts measure with. */
const IMPORTS = `
  import { createPrepareStep } from "pi-strata/ai-sdk";
  import { createTransformContext } from "./index.js";
  import { collect, residentGrowth, watchForks } from "./__test__/support/memory.mjs";
  import { conversation } from "./__test__/support/transcripts.mjs";`;
const run = (script) => JSON.parse(printedBy(IMPORTS + script, "--expose-gc", "--input-type=module"));

/** Calls of the first test; `PI_STRATA_MEMORY_CALLS=1000000` makes a million. */
const CALLS = Number(process.env.PI_STRATA_MEMORY_CALLS ?? 10_000);
/** Most that may stay resident after them. */
const GROWTH_MB = 8;

test(`${CALLS} calls leave at most ${GROWTH_MB} MB behind`, (t) => {
  const { growth } = run(`
    console.log(JSON.stringify(await residentGrowth({ calls: ${CALLS}, warmUp: ${Math.min(CALLS, 50_000)} })));`);
  t.diagnostic(`growth ${growth.toFixed(1)} MB`);
  assert.ok(growth <= GROWTH_MB, `${growth} MB`);
});

test("calls without a pause, of ever new content, hold no more outside the collected heap", (t) => {
  // Content that stays held climbs by 200 MB here; up to 56 were seen on a loaded machine. The collected heap is as large
  // as the collector likes, so it does not count.
  const { growth } = run(`
    const hook = createTransformContext({ contextWindow: 3000 });
    let peak = 0;
    let made = 0;
    const agent = async (end) => {
      while (made < end) {
        await hook(conversation(made++, { length: 24 }));
        const { rss, heapTotal } = process.memoryUsage();
        peak = Math.max(peak, rss - heapTotal);
      }
    };
    const upTo = (end) => Promise.all([agent(end), agent(end), agent(end), agent(end)]);
    await upTo(2000);
    const before = peak;
    await upTo(6000);
    console.log(JSON.stringify({ growth: (peak - before) / 1048576 }));`);
  t.diagnostic(`growth of the peak ${growth.toFixed(1)} MB`);
  assert.ok(growth <= 96, `${growth} MB`);
});

test("a list is freed with its host, though another agent's is not", () => {
  const { left } = run(`
    const hook = createTransformContext();
    const system = { role: "system", content: "You are one of many agents." };
    const listOf = (name) =>
      [system, ...Array.from({ length: 40 }, (_, i) => ({ role: "user", content: name + i, timestamp: i }))];
    const one = listOf("one");
    const call = (list) => {
      list.push({ role: "user", content: "more", timestamp: list.length });
      return hook(list);
    };
    const takeTurns = async (other) => {
      for (let turn = 0; turn < 6; turn += 1) await call(turn === 0 ? one : other);
      return other.slice(1).map((message) => new WeakRef(message));
    };
    const weak = await takeTurns(listOf("other"));
    await collect();
    const left = weak.filter((of) => of.deref() !== undefined).length;
    console.log(JSON.stringify({ left, held: one.length }));`);
  assert.equal(left, 0);
});

test("a conversation whose requests end with a new reminder is not collected between them", () => {
  const { asked } = run(`
    let asked = 0;
    const protect = () => {
      asked += 1;
      return false;
    };
    const hook = createTransformContext({ protect });
    const list = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const answer = { role: "assistant", content: [{ type: "text", text: "answer" + turn }], timestamp: turn };
      list.push({ role: "user", content: "question" + turn, timestamp: turn }, answer);
      await hook([...list, { role: "user", content: "reminder" + turn, timestamp: turn }]);
      await collect();
    }
    console.log(JSON.stringify({ asked }));`);
  // Each message and each reminder once.
  assert.equal(asked, 30);
});

/** Runs calls of a hook with a list; at most nine of the forks that they make are left. */
function assertFewForks(calls) {
  const { alive } = run(`
    const alive = watchForks();
    const hook = createTransformContext();
    ${calls}
    await collect();
    console.log(JSON.stringify({ alive: alive(), held: list.length }));`);
  assert.ok(alive <= 9, `${alive} forks`);
}

test("of side calls with the end of a list the latest few are held", () => {
  // The first title is asked with a list that is no longer than its end: that reads as an edit of the first message.
  assertFewForks(`
    const list = [];
    for (let turn = 0; turn < 30; turn += 1) {
      const answer = { role: "assistant", content: [{ type: "text", text: "answer" + turn }], timestamp: turn };
      list.push({ role: "user", content: "question" + turn, timestamp: turn }, answer);
      await hook(list);
      await hook(list.slice(-4));
      await hook([{ role: "user", content: "a title?", timestamp: turn }, ...list.slice(-3)]);
    }
  `);
});

test("of answers that a host asks for again and again the latest few are held", () => {
  assertFewForks(`
    const answer = (text) => ({ role: "assistant", content: [{ type: "text", text }], timestamp: 1 });
    const list = ["go", "and?"].map((content) => ({ role: "user", content, timestamp: 1 })).toSpliced(1, 0, answer("done"));
    for (let turn = 0; turn < 40; turn += 1) {
      await hook([...list]);
      await hook([...list, answer("answer" + turn), { role: "user", content: "on" + turn, timestamp: 1 }]);
    }
  `);
});

for (const goesOn of ["from what was sent", "from its own list"]) {
  test(`a long run in the AI SDK that goes on ${goesOn} holds its conversation once`, (t) => {
    const { growth } = run(`
    const prepareStep = createPrepareStep({ contextWindow: 20_000 });
    const ofOne = (n) => ({ toolCallId: "c" + n, toolName: "read" });
    const value = "a line of words\\n".repeat(60);
    let messages = [{ role: "user", content: "go" }];
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 800; n += 1) {
      const sent = await prepareStep({ messages: [...messages], steps: [] });
      if (${goesOn === "from what was sent"}) ({ messages } = sent);
      const call = { type: "tool-call", ...ofOne(n), input: { n } };
      const result = { type: "tool-result", ...ofOne(n), output: { type: "text", value } };
      messages = [...messages, { role: "assistant", content: [call] }, { role: "tool", content: [result] }];
    }
    await collect();
    console.log(JSON.stringify({ growth: (process.memoryUsage().heapUsed - before) / 1048576, held: messages.length }));`);
    t.diagnostic(`growth ${growth.toFixed(1)} MB`);
    assert.ok(growth <= 6, `${growth} MB`);
  });
}
