// A pause that pi kept warm is not cold: a closed loop over sessions with their recorded pauses, in a host that keeps its
// cache warm as pi 1.5 does, with the warm-ups on the bill.

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { mock, test } from "node:test";
import { countTokens } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";
import { createExtension } from "../pi-extension/index.mjs";
import { recordOf } from "../pi-extension/record.mjs";
import { paysToLetCool } from "../pi-extension/warming.mjs";
import { FakePi, MODELS } from "./support/fake-pi.mjs";
import { result } from "./support/messages.mjs";
import { uncompacted } from "./support/recordings.mjs";

/** Claude Opus 5, as pi-ai 1.5.2's catalogue has it. */
const MODEL = {
  ...MODELS.opus,
  id: "claude-opus-5",
  cost: { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 },
};
const SESSIONS = join(homedir(), ".cache/strata-sessions/cc");
process.env.PI_CODING_AGENT_DIR = "/nowhere";
process.env.LC_ALL = "C";
mock.timers.enable({ apis: ["Date"] });

/** Plays recorded messages: who answers them is as recorded, what it costs is this host's. */
async function play(messages, { hook = true, warms = true, isTold = true } = {}) {
  const cold = [];
  const onEvent = (event) => {
    if (event.type === "transformed" && /the cache is cold/.test(event.reason)) cold.push(pi.calls.length);
  };
  const extension = createExtension({ onEvent, ...(isTold ? {} : { warmedAt: [] }) });
  const pi = new FakePi(hook ? extension : undefined, { model: MODEL });
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

/** The recorded pauses of more than 4.5 minutes, in minutes: of tools at work, and of users who thought. */
const PAUSES = { tool: [19, 7, 8, 5], user: [5, 6, 9, 11, 5, 12, 10, 251, 18] };

/** The messages with a recorded pause before every twentieth call, by who was waited for, in place of their own. */
function paused(messages) {
  const turn = { tool: 0, user: 0 };
  let [shift, calls] = [0, 0];
  return messages.map((message, i) => {
    const before = messages[i - 1];
    const asks = messages[i + 1]?.role === "assistant";
    if (asks && before !== undefined) {
      calls += 1;
      const who = message.role === "toolResult" ? "tool" : "user";
      const gap = (message.timestamp ?? 0) - (before.timestamp ?? 0);
      if (gap > 270_000) shift -= gap - 1000;
      if (who === "user" || calls % 20 === 0) {
        shift += 60_000 * PAUSES[who][turn[who] % PAUSES[who].length];
        turn[who] += 1;
      }
    }
    return { ...message, timestamp: message.timestamp + shift };
  });
}

/** What both together cost, and either alone; `deaf` is a hook that is not told of the warmer. */
async function compared(messages) {
  const both = await play(messages);
  const hookAlone = await play(messages, { warms: false });
  const warmerAlone = await play(messages, { hook: false });
  const deaf = await play(messages, { isTold: false });
  return { both, hookAlone, warmerAlone, deaf };
}

function check(name, outcome) {
  const { both, hookAlone, warmerAlone } = outcome;
  assert.equal(both.wrong, 0, `${name}: moves called cold on a warm cache`);
  assert.ok(both.warmings > 0, name);
  // A pause that goes cold is a free move: what warming saves is then near what the move would have.
  assert.ok(both.dollars < 1.025 * hookAlone.dollars, row(name, outcome));
  assert.ok(both.dollars < warmerAlone.dollars, row(name, outcome));
}

const row = (name, { both, hookAlone, warmerAlone, deaf }) =>
  `${name}: $${both.dollars.toFixed(2)} with ${both.warmings} warm-ups; hook alone $${hookAlone.dollars.toFixed(2)}, ` +
  `warmer alone $${warmerAlone.dollars.toFixed(2)}, untold $${deaf.dollars.toFixed(2)} with ${deaf.wrong} moves on a warm cache`;

const names = existsSync(SESSIONS) ? readdirSync(SESSIONS) : [];

test("over recorded sessions with recorded pauses", {
  skip: names.length === 0 && "no recorded sessions here",
}, async (t) => {
  let wrong = 0;
  for (const name of names) {
    const { messages } = uncompacted(await loadSession(join(SESSIONS, name)));
    const list = paused(Array.from({ length: messages.length }, (_, number) => messages.message(number)));
    const outcome = await compared(list);
    t.diagnostic(row(name, outcome));
    check(name, outcome);
    wrong += outcome.deaf.wrong;
  }
  assert.ok(wrong > 0, "a hook that is not told takes warm caches for cold ones");
});

/** A call that begins at `timestamp` and its result, 60 lines that are nowhere else. */
function measured(i, timestamp) {
  const call = { type: "toolCall", id: `c${i}`, name: "bash", arguments: { command: `measure ${i}` } };
  const text = Array.from(
    { length: 60 },
    (_, n) => `measured ${i}/${n}: ${(i * 7919 + n * 104_729) % 99_991}`,
  ).join("\n");
  return [
    { role: "assistant", content: [call], timestamp: timestamp + 1000 },
    result(`c${i}`, text, { toolName: "bash", timestamp: timestamp + 9000 }),
  ];
}

test("over a session of long tools", async (t) => {
  const messages = [{ role: "user", content: "Measure everything.", timestamp: 0 }];
  for (let i = 0; i < 150; i += 1) messages.push(...measured(i, 10_000 * i));
  const outcome = await compared(paused(messages.slice(0, -1)));
  t.diagnostic(row("long tools", outcome));
  check("long tools", outcome);
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
    return paysToLetCool(event, messages, { contextWindow: 200_000, cache, coldAt: [] });
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
