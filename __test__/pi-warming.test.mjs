// A pause that pi kept warm is not cold: a closed loop over a session with recorded pauses, in a host that keeps its cache warm
// as pi 1.5 does, with the warm-ups on the bill.

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { countTokens } from "../index.js";
import { createExtension } from "../pi-extension/index.mjs";
import { recordOf } from "../pi-extension/record.mjs";
import { paysToLetCool } from "../pi-extension/warming.mjs";
import { FakePi, MODELS } from "./support/fake-pi.mjs";
import { result } from "./support/messages.mjs";

/** Claude Opus 5, as pi-ai 1.5.2's catalogue has it. */
const MODEL = {
  ...MODELS.opus,
  id: "claude-opus-5",
  cost: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
};
process.env.PI_CODING_AGENT_DIR = "/nowhere";
process.env.LC_ALL = "C";
mock.timers.enable({ apis: ["Date"] });

/** Plays messages in this host; what they cost is its own. */
async function play(messages, { hook = true, warms = true, isTold = true, model = MODEL } = {}) {
  const cold = [];
  const onEvent = (event) => {
    if (event.type === "transformed" && /the cache is cold/.test(event.reason)) cold.push(pi.calls.length);
  };
  const extension = createExtension({ onEvent, ...(isTold ? {} : { warmedAt: [] }) });
  const pi = new FakePi(hook ? extension : undefined, { model });
  await pi.start();
  for (const [i, message] of messages.entries()) {
    mock.timers.setTime(message.timestamp ?? 0);
    if (message.role !== "assistant") {
      pi.add(message);
      continue;
    }
    await pi.call(message);
    const next = messages.findIndex((later, at) => at > i && later.role === "assistant");
    const asked = messages[next - 1]?.timestamp;
    if (!warms || asked === undefined) continue;
    const phase = messages[next - 1].role === "toolResult" ? "streaming" : "idle";
    await pi.warmUntil(asked, phase, (at) => mock.timers.setTime(at));
  }
  const wrong = cold.filter((call) => pi.calls[call].isWarm && call > 0).length;
  return { dollars: pi.dollars, wrong, warmings: pi.warmings };
}

/** A call that begins at `timestamp` and its result, 60 lines that are nowhere else. */
function measured(i, timestamp, tookMs = 8000) {
  const call = { type: "toolCall", id: `c${i}`, name: "bash", arguments: { command: `measure ${i}` } };
  const text = Array.from(
    { length: 60 },
    (_, n) => `measured ${i}/${n}: ${(i * 7919 + n * 104_729) % 99_991}`,
  ).join("\n");
  return [
    { role: "assistant", content: [call], timestamp: timestamp + 1000 },
    result(`c${i}`, text, { toolName: "bash", timestamp: timestamp + 1000 + tookMs }),
  ];
}

/** Pauses of more than 4.5 minutes, as recorded: of tools at work, and of users who thought. */
const PAUSES = { tool: [19, 7, 8, 5], user: [5, 6, 9, 11, 5, 12, 10, 251, 18] };
const pauseMs = (who, turn) => 60_000 * PAUSES[who][turn % PAUSES[who].length];

test("over a session with recorded pauses of tools and users", async (t) => {
  const messages = [{ role: "user", content: "Measure everything.", timestamp: 0 }];
  let time = 0;
  for (let i = 0; i < 150; i += 1) {
    const tookMs = i % 20 === 19 ? pauseMs("tool", (i - 19) / 20) : 8000;
    messages.push(...measured(i, time, tookMs));
    time += tookMs + 2000;
    if (i % 20 !== 9) continue;
    time += pauseMs("user", (i - 9) / 20);
    messages.push({ role: "user", content: "Go on.", timestamp: time });
  }
  const said = messages.slice(0, -1);
  const both = await play(said);
  const hookAlone = await play(said, { warms: false });
  const warmerAlone = await play(said, { hook: false });
  const untold = await play(said, { isTold: false });
  t.diagnostic(JSON.stringify({ both, hookAlone, warmerAlone, untold }));
  assert.equal(both.wrong, 0, "moves called cold on a warm cache");
  assert.ok(both.warmings > 0 && untold.wrong > 0, "a hook that is not told takes warm caches for cold ones");
  // A pause that goes cold is a free move: what warming saves is then near what the move would have.
  assert.ok(both.dollars < 1.025 * hookAlone.dollars);
  assert.ok(both.dollars < warmerAlone.dollars);
});

test("while a tool runs, the cache stays warm for a model whose turn no batch may break", async () => {
  const model = { ...MODEL, id: "claude-opus-5-5" };
  const messages = [{ role: "user", content: "Measure everything.", timestamp: 0 }];
  for (let i = 0; i < 60; i += 1) {
    const [call, ...rest] = measured(i, 600_000 * Math.max(0, i - 50) + 10_000 * i, i < 50 ? 8000 : 560_000);
    const thinking = { type: "thinking", thinking: `measure ${i}`, thinkingSignature: `s${i}` };
    messages.push({ ...call, content: [thinking, ...call.content] }, ...rest);
  }
  const [both, warmerAlone] = [await play(messages, { model }), await play(messages, { model, hook: false })];
  assert.ok(warmerAlone.warmings > 0);
  assert.equal(both.warmings, warmerAlone.warmings);
  assert.ok(both.dollars <= warmerAlone.dollars);
});

test("a pause that the cache outlives ends no stretch of calls", async () => {
  // What cannot be cut is dear to write again: it takes many calls to come.
  const content = Array.from({ length: 3000 }, (_, n) => `${n}: measure ${n * n}`).join("\n");
  const messages = [{ role: "user", content, timestamp: 0 }];
  for (let i = 0; i < 60; i += 1) {
    const [call, result] = measured(i, 600_000 * i);
    const usage = { input: 0, output: 20, cacheRead: 0, cacheWrite: countTokens(messages) };
    messages.push({ ...call, provider: MODEL.provider, model: MODEL.id, api: MODEL.api, usage }, result);
  }
  mock.timers.setTime(600_000 * 60);
  const event = { action: "warm", warmCost: 0.05, missCost: 1, continuationProbability: 0.6 };
  const letsCool = (ttlSeconds) => {
    const cache = { read: 0.1, write: 2, ttlSeconds };
    const next = [...messages, { role: "user", content: ".", timestamp: Date.now() }];
    return paysToLetCool(event, messages, next, { contextWindow: 200_000, cache, coldAt: [] });
  };
  assert.equal(await letsCool(300), false, "each stretch was one call long");
  assert.equal(await letsCool(3_600), true, "all calls were one stretch");
});

test("a refresh for another model keeps nothing warm, and one without a time is none", async () => {
  const at = Date.UTC(2026, 10, 1);
  const pi = new FakePi(undefined, { model: MODEL });
  pi.add({ role: "user", content: "hi", timestamp: at });
  await pi.call({ role: "assistant", content: [{ type: "text", text: "hello" }], timestamp: at + 1 });
  pi.warm(at + 270_000, 0.1, MODELS.gpt);
  pi.warm(at + 280_000, 0.1);
  pi.entries.push(
    { type: "usage", kind: "cache_warm", provider: MODEL.provider, model: MODEL.id, timestamp: "soon" },
    null,
  );
  const record = recordOf(pi.ctx.sessionManager);
  assert.deepEqual(record.cacheTimes(), { warmedAt: [at + 280_000], coldAt: [] });
  assert.ok(
    Math.abs(record.dollars() - pi.dollars - 0.2) < 1e-9,
    "what pi paid is in its footer, whatever it was for",
  );
  assert.deepEqual(recordOf().cacheTimes(), { warmedAt: [], coldAt: [] });
});
