// The closed loop where what the hook goes by changes under it: another window, another model, another encoding, a refusal,
// a host that says what it sends beside the messages.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext } from "../index.js";
import { compacted } from "./support/live/compaction.mjs";
import { Judge } from "./support/live/judge.mjs";
import { Loop } from "./support/live/loop.mjs";
import { Provider } from "./support/live/provider.mjs";
import { commonRun } from "./support/live/same.mjs";
import { Scribe } from "./support/live/texts.mjs";

const SCHEDULES = ["everyCall", "sticky"];

/** A loop with its judge; `call` sends, answers, and adds results of so many tokens. */
function conversation(settings, options, more = { endsAtRefusal: true }) {
  const scribe = new Scribe();
  const loop = new Loop(new Provider(settings), options, more);
  const judge = new Judge(loop);
  loop.messages.push(scribe.user(50));
  const call = async (tokens, answer = scribe.asks()) => {
    const record = await loop.call(answer);
    if (!record.isRefused) loop.messages.push(...scribe.results(answer, tokens));
    return { ...record, ...judge.look(record) };
  };
  return { scribe, loop, judge, call };
}

for (const schedule of SCHEDULES) {
  test(`${schedule}: a window that gets smaller is kept to, or it is said`, async () => {
    for (const scale of [1, 1.27, 1.5]) {
      const { call, loop } = conversation({ contextWindow: 200_000, basePrompt: 8000, scale }, { schedule });
      for (let at = 0; at < 12; at += 1) await call(10_500);
      loop.provider.contextWindow = 64_000;
      for (let at = 0; at < 12; at += 1) {
        const { isUnreported, prompt, error, estimate } = await call(900);
        assert.ok(!isUnreported, `scale ${scale}: ${prompt} are sent and ${estimate} said`);
        assert.ok(Math.abs(error) < 0.02, `scale ${scale}: ${prompt} are sent and ${estimate} said`);
      }
    }
  });

  test(`${schedule}: of a window that gets much smaller most is used`, async () => {
    const { call, loop } = conversation(
      { contextWindow: 200_000, basePrompt: 1000, scale: 1.27 },
      { schedule },
    );
    for (let at = 0; at < 12; at += 1) await call(3000);
    loop.provider.contextWindow = 32_000;
    for (let at = 0; at < 4; at += 1) {
      const { prompt, isUnreported } = await call(500);
      assert.ok(!isUnreported && prompt > 8000, `${prompt} tokens of 32 000 are sent`);
    }
  });
}

test("another window changes no byte of what is frozen under a schedule that waits", async () => {
  for (const [from, to] of [
    [64_000, 200_000],
    [64_000, 128_000],
    [128_000, 64_000],
    [200_000, 100_000],
  ]) {
    const { call, loop } = conversation({ contextWindow: from, basePrompt: 4000 }, { schedule: "sticky" });
    for (let at = 0; at < 30; at += 1) await call(1500);
    loop.provider.contextWindow = to;
    for (let at = 0; at < 5; at += 1) {
      const { before, unchanged, reason } = await call(700);
      const changed = reason.startsWith("moved") ? 0 : before.length - unchanged;
      assert.equal(changed, 0, `${from} → ${to}, and it says "${reason}"`);
    }
  }
});

test("a model of another encoding changes no byte of what is frozen", async () => {
  const { call, scribe } = conversation({ contextWindow: 32_000, basePrompt: 3000 }, { schedule: "sticky" });
  for (let at = 0; at < 25; at += 1) await call(900);
  for (const model of ["gpt-5.1-codex", "claude", "gpt-4o"]) {
    scribe.model = model;
    for (let at = 0; at < 3; at += 1) {
      const { before, unchanged, reason } = await call(100, { ...scribe.asks(), model });
      const changed = reason.startsWith("moved") ? 0 : before.length - unchanged;
      assert.equal(changed, 0, `${model}, and it says "${reason}"`);
    }
  }
});

const ERRORS = [
  ["names the tokens", (tokens, window) => `prompt is too long: ${tokens} tokens > ${window} maximum`],
  ["names none", () => "Your input exceeds the context window of this model"],
];
/** Switches to a model that counts more, in a conversation of so many calls, and looks at each refusal. */
async function switchedTo(scale, calls, schedule, errorOf) {
  const settings = { contextWindow: 32_000, basePrompt: 2000, scale: 0.8, models: { other: { scale } } };
  const { call, scribe, loop } = conversation(settings, { schedule });
  for (let at = 0; at < calls; at += 1) await call(1000);
  scribe.model = "other";
  let [inARow, last] = [0, Number.POSITIVE_INFINITY];
  for (let at = 0; at < 12; at += 1) {
    const record = await call(800, { ...scribe.asks(), model: "other" });
    if (inARow > 0) {
      assert.ok(record.saysOverflow, "the call after a refusal reports the overflow");
      assert.ok(record.prompt < 0.95 * last, `${record.prompt} tokens after ${last} were refused`);
    }
    inARow = record.isRefused ? inARow + 1 : 0;
    last = record.prompt;
    assert.ok(inARow <= 2, `scale ${scale}, ${calls} calls before: refused ${inARow} times`);
    if (record.isRefused) loop.messages.at(-1).errorMessage = errorOf(record.prompt, settings.contextWindow);
  }
}

for (const schedule of SCHEDULES) {
  for (const [what, errorOf] of ERRORS) {
    test(`${schedule}: a refusal that ${what} makes the next request smaller`, async () => {
      for (const scale of [1.5, 1.9]) {
        for (let calls = 12; calls < 42; calls += 3) await switchedTo(scale, calls, schedule, errorOf);
      }
    });
  }

  test(`${schedule}: what the host says it sends beside the messages takes nothing away of what was learned`, async () => {
    const changes = {
      compaction: (loop, scribe) => {
        loop.messages = compacted(loop.messages, 4000, scribe.summary(300, 30_000));
      },
      deletion: (loop) => {
        const at = loop.messages.findIndex(({ role }) => role === "assistant");
        loop.messages = loop.messages.toSpliced(at, 2);
      },
    };
    for (const [what, change] of Object.entries(changes)) {
      const settings = { contextWindow: 64_000, basePrompt: 6000, scale: 1.4 };
      const { call, loop, scribe, judge } = conversation(settings, { schedule, overheadTokens: 6000 });
      for (let at = 0; at < 8; at += 1) await call(2000);
      change(loop, scribe);
      judge.hostChanged();
      const { error, estimate, prompt } = await call(200);
      assert.ok(Math.abs(error) < 0.04, `${what}: estimated ${estimate} of ${prompt}`);
    }
  });
}

test("what stands before a branch is sent as it was", async () => {
  const { call, loop, scribe, judge } = conversation({ contextWindow: 32_000, basePrompt: 3000 }, {});
  for (let at = 0; at < 20; at += 1) await call(900);
  const { sent } = await call(900);
  const at = loop.messages.length - 8;
  loop.messages = [...loop.messages.slice(0, at - (at % 2 === 0 ? 1 : 0)), scribe.user(40)];
  judge.hostChanged();
  const branch = await call(100);
  const shared = commonRun(sent, branch.sent);
  assert.ok(shared > branch.sent.length - 4, `${shared} of ${branch.sent.length} messages are the same`);
});

test("a list goes on in the conversation of which it has most, not in one that it has all of", async () => {
  const { call, loop, scribe, judge } = conversation({ contextWindow: 64_000, basePrompt: 3000 }, {});
  for (let at = 0; at < 3; at += 1) await call(900);
  const main = loop.messages;
  loop.messages = main.slice(0, 3);
  await call(900);
  loop.messages = main;
  for (let at = 0; at < 25; at += 1) await call(900);
  loop.provider.contextWindow = 32_000;
  for (let at = 0; at < 5; at += 1) await call(900);
  const { sent } = await call(900);
  loop.messages = [...loop.messages.slice(0, -3), scribe.user(40)];
  judge.hostChanged();
  const { error, estimate, prompt, sent: next } = await call(100);
  assert.ok(Math.abs(error) < 0.01, `estimated ${estimate} of ${prompt}`);
  // The newest six results, which the list has anew at its end, are sent whole with their calls.
  assert.ok(commonRun(sent, next) > next.length - 14, `${commonRun(sent, next)} of ${next.length}`);
});

test("a host that hands in copies is known by them when the first answer names another encoding", async () => {
  const more = { view: structuredClone };
  const { call, loop, scribe } = conversation(
    { contextWindow: 32_000, basePrompt: 6000, scale: 1.4 },
    {},
    more,
  );
  scribe.model = "gpt-5-mini";
  for (let at = 0; at < 30; at += 1) await call(1500);
  loop.provider.contextWindow = 64_000;
  for (let at = 0; at < 3; at += 1) {
    const { error, estimate, prompt } = await call(200);
    assert.ok(Math.abs(error) < 0.01, `estimated ${estimate} of ${prompt}`);
  }
});

test("a compaction that keeps no answer takes nothing away of what was learned", async () => {
  const settings = { contextWindow: 32_000, basePrompt: 6000, scale: 1.4 };
  for (const branches of [false, true]) {
    const { call, loop, scribe, judge } = conversation(settings, { schedule: "sticky" });
    scribe.model = "gpt-5-mini";
    for (let at = 0; at < 12; at += 1) await call(1500);
    const summary = scribe.summary(300, 30_000);
    loop.messages = [summary, scribe.user(9000)];
    judge.hostChanged();
    for (let at = 0; at < 4; at += 1) {
      if (branches && at === 2) loop.messages = [summary, scribe.user(40)];
      const { error, estimate, prompt } = await call(200);
      assert.ok(Math.abs(error) < 0.03, `call ${at + 1}: estimated ${estimate} of ${prompt}`);
    }
  }
});

test("a host that hands in copies is known by them whatever its usage holds", async () => {
  const tell = () => ({ input: "12", output: null, cacheRead: Number.NaN, cacheWrite: {} });
  const settings = { contextWindow: 90_000, basePrompt: 0, scale: 1 };
  const { call, loop } = conversation(settings, { schedule: "sticky" }, { view: structuredClone, tell });
  for (let at = 0; at < 30; at += 1) await call(1500);
  // Without usage, a context of less than a third of the window is edited at each call.
  loop.provider.contextWindow = 48_000;
  const { before, unchanged } = await call(200);
  // Without a usable report the layers are made at each call: only the newest results may change.
  assert.ok(unchanged >= before.length - 13, `${unchanged} of ${before.length}`);
});

test("a host that hands in copies is known by them though its first report comes late", async () => {
  const settings = { contextWindow: 16_000, basePrompt: 0, scale: 1 };
  const owed = [];
  const tell = (usage) => void owed.push(usage);
  const { call, loop } = conversation(settings, { schedule: "sticky" }, { view: structuredClone, tell });
  await call(16_000);
  await call(300);
  loop.provider.contextWindow = 64_000;
  loop.messages.find(({ role }) => role === "assistant").usage = owed[0];
  const { before, unchanged } = await call(200);
  assert.equal(unchanged, before.length);
});

test("agents that share a hook and a beginning each go on in their own conversation", async () => {
  const scribe = new Scribe();
  const opening = scribe.user(2000);
  const hook = [];
  const makeHook = (options) => {
    hook[0] ??= createTransformContext({ ...options, onEvent: (event) => hook[1](event) });
    return (messages) => {
      hook[1] = options.onEvent;
      return hook[0](messages);
    };
  };
  const agents = Array.from({ length: 100 }, (_, number) => {
    const by = new Scribe();
    by.now += 1e6 * number;
    const loop = new Loop(new Provider({ contextWindow: 16_000, scale: 1 + number / 200 }), {}, { makeHook });
    loop.messages.push(opening, { ...by.user(10), content: `task ${number}` });
    return { loop, by, judge: new Judge(loop) };
  });
  for (let round = 0; round < 14; round += 1) {
    for (const { loop, by, judge } of agents) {
      const answer = by.asks();
      const record = await loop.call(answer);
      const verdict = judge.look(record);
      loop.messages.push(...by.results(answer, 700));
      assert.equal(verdict.changed, 0, record.reason);
      if (round >= 2) assert.ok(Math.abs(verdict.error) < 0.04, `off by ${verdict.error}`);
    }
  }
});
