// The smallest conversations in which the loop, once closed, went wrong: the hook reads usage of what it sent itself, and what it
// goes by changes under it. live-sessions.test.mjs plays generated ones.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, createTransformContext } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";
import { compacted, contextTokens } from "./support/live/compaction.mjs";
import { Judge } from "./support/live/judge.mjs";
import { Loop, play } from "./support/live/loop.mjs";
import { Provider } from "./support/live/provider.mjs";
import { commonRun } from "./support/live/same.mjs";
import { sharedHook, talk } from "./support/live/talk.mjs";
import { Scribe, textOf } from "./support/live/texts.mjs";
import { RECORDING } from "./support/recording.mjs";

const percent = (share) => `${(100 * share).toFixed(2)} %`;

function assertClose({ call, estimate, prompt, error }, allowed, what = "") {
  const told = `${what} call ${call}: estimated ${Math.round(estimate)} of ${prompt} sent, ${percent(error)}`;
  assert.ok(Math.abs(error) <= allowed, told);
}

/** A test under each schedule. */
function both(name, run) {
  for (const schedule of ["everyCall", "sticky"]) test(`${schedule}: ${name}`, () => run({ schedule }));
}

/** Plays the recorded session through `loop`; what the judge says of each call. */
async function verdictsOf(loop, beforeCall) {
  const session = await loadSession(RECORDING);
  const judge = new Judge(loop);
  const verdicts = [];
  for await (const record of play(session, loop, { beforeCall: () => beforeCall?.(loop, judge) })) {
    verdicts.push({ ...record, ...judge.look(record) });
  }
  return verdicts;
}

function assertTrue(verdicts) {
  const errors = verdicts.filter(({ isTaught }) => isTaught).map(({ error }) => Math.abs(error));
  errors.sort((a, b) => a - b);
  const at = (share) => errors[Math.min(errors.length - 1, Math.floor(share * errors.length))];
  assert.ok(at(0.95) <= 0.01 && at(1) <= 0.15, `95 % within ${percent(at(0.95))}, worst ${percent(at(1))}`);
  const sum = (key) => verdicts.reduce((total, verdict) => total + Number(verdict[key]), 0);
  assert.deepEqual([sum("isUnreported"), sum("changed"), sum("lost")], [0, 0, 0]);
}

for (const [name, isRecorded, threshold] of [
  ["reports of the hook's own calls", false, 60_000],
  ["reports from before the hook was there", true, 100_000],
]) {
  test(`a recorded session, compacted; what is kept carries ${name}`, async () => {
    const scribe = new Scribe();
    let compactions = 0;
    const tell = (usage, answer) => (isRecorded && compactions === 0 ? answer.usage : usage);
    const loop = new Loop(new Provider({ basePrompt: 5000 }), {}, { tell });
    const verdicts = await verdictsOf(loop, ({ messages }, judge) => {
      if (contextTokens(messages) < threshold) return;
      scribe.now = messages.at(-1).timestamp;
      loop.messages = compacted(messages, 20_000, scribe.summary(1200, contextTokens(messages)));
      judge.hostChanged();
      compactions += 1;
    });
    assert.ok(compactions > 0);
    const first = isRecorded ? verdicts.findIndex(({ isTaught }, at) => at > 2 && !isTaught) : 0;
    assertTrue(verdicts.slice(first));
  });
}

both("a recorded session live in small windows, and where most is prompt and tools", async (options) => {
  for (const [contextWindow, basePrompt] of [
    [12_000, 2000],
    [20_000, 2000],
    [32_000, 20_000],
    [64_000, 30_000],
  ])
    assertTrue(await verdictsOf(new Loop(new Provider({ contextWindow, basePrompt }), options)));
});

const cached = (tokens) => ({ input: 3, output: 50, cacheRead: tokens - 103, cacheWrite: 100 });
const summed = (by) => by.summary(300, 9000);
const steps = (by, count, tokens, usageAt) =>
  Array.from({ length: count }, (_, at) => {
    const asks = by.asks(1, { usage: usageAt(at) });
    return [asks, ...by.results(asks, tokens)];
  }).flat();

test("after a compaction what the host kept stays, whatever the kept answers once reported", async () => {
  const opening = (by) => {
    const kept = [by.user(40), ...steps(by, 60, 420, (at) => cached(110_000 + 700 * at))];
    return [by.summary(900, 152_000), ...kept];
  };
  const records = await talk({ basePrompt: 3000 }, {}, { opening }).calls(8, 300);
  for (const record of records) assert.equal(record.dropped.length, 0, `call ${record.call}`);
  for (const record of records.slice(2)) assertClose(record, 0.005);
});

test("a small window after a compaction: nothing is over it, and nothing goes", async () => {
  const opening = (by) => {
    const kept = steps(by, 1, 3000, () => cached(90_000));
    return [by.summary(900, 120_000), by.user(40), ...kept];
  };
  const { call } = talk({ contextWindow: 32_000, basePrompt: 7000 }, {}, { opening });
  const { sent, saysOverflow } = await call(100);
  assert.deepEqual([sent.length, saysOverflow], [4, false]);
});

for (const [what, settings, more, tokens, options] of [
  ["six large reads in one turn", { basePrompt: 30_000 }, {}, 21_300],
  ...["everyCall", "sticky"].map((schedule) => [
    `${schedule}: a paste that had to be cut`,
    { contextWindow: 8000, basePrompt: 500, scale: 1 },
    { opening: (by) => [by.user(20_000)] },
    30,
    { schedule },
  ]),
]) {
  test(`${what}: what layer 4 cuts is in the account`, async () => {
    for (const [at, record] of (await talk(settings, options, more).calls(9, tokens)).entries()) {
      assert.ok(at === 0 || !record.isUnreported, `call ${at + 1} sends ${record.prompt} and says nothing`);
      if (at >= 2) assertClose(record, 0.005);
      assert.equal(record.changed, 0, `call ${at + 1} says "${record.reason}"`);
    }
  });
}

test("the reserve is at most a quarter of the window: no cliff at the default", async () => {
  for (const contextWindow of [4000, 8191, 8192, 8193, 9000, 12_000, 32_000]) {
    const opening = (by) => Array.from({ length: 25 }, (_, at) => (at % 2 === 0 ? by.user(98) : by.says(98)));
    const { sent, saysOverflow } = await talk(
      { contextWindow, basePrompt: 0, scale: 1 },
      {},
      { opening },
    ).call(10);
    assert.deepEqual([sent.length, saysOverflow], [25, false], `window ${contextWindow}`);
  }
});

both("a large paste is cut before smaller messages go", async (options) => {
  const opening = (by) => [
    ...Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? by.user(40) : by.says(40))),
    ...[by.user(230_000), by.says(40), by.user(40)],
  ];
  const { dropped, sent, isOver } = await talk({ basePrompt: 2000, scale: 1 }, options, { opening }).call(
    100,
  );
  assert.deepEqual([dropped.length, isOver], [0, false]);
  assert.ok(countTokens(sent[10]) > 100_000, `${countTokens(sent[10])} tokens of it are left`);
});

for (const overheadTokens of [30_000, () => 30_000]) {
  test(`the first call counts the prompt and the tools it is told of, as a ${typeof overheadTokens}`, async () =>
    assertClose(await talk({ basePrompt: 30_000 }, { overheadTokens }).call(100), 0.01));
}

test("what is known of the prompt and the tools is kept across a model switch and a compaction", async () => {
  const { calls, scribe, rewrite } = talk({ basePrompt: 20_000 });
  await calls(6, 800);
  scribe.model = "model-b";
  for (const record of await calls(3, 800)) assertClose(record, 0.03);
  rewrite((messages, by) => compacted(messages, 3500, by.summary(300, 30_000)));
  for (const record of await calls(3, 200)) assertClose(record, 0.03);
});

const SMALL = { contextWindow: 32_000, basePrompt: 9000, scale: 1.4 };
const edited = (tokens) => (messages) => {
  messages[2].content[0].text = tokens === 0 ? "" : textOf(tokens, 77);
};

/** A rewrite after some reports: what the agent sends beside the messages stays known from the first call on. */
for (const [what, change, { calls: made = 5, options, ...more } = {}] of [
  ["a compaction that keeps the last answer alone", (messages, by) => [summed(by), ...messages.slice(-2)]],
  ["a compaction that keeps nothing", (_, by) => [summed(by), by.user(600)]],
  [
    "a compaction that keeps the summary before",
    (messages, by) => [summed(by), summed(by), ...messages.slice(-4)],
  ],
  ["a compaction that keeps everything", (messages, by) => [summed(by), ...messages]],
  [
    "a compaction before a second report",
    (messages, by) => [summed(by), ...messages.slice(-2)],
    { calls: 1 },
  ],
  [
    "a compaction without times",
    (messages, by) => [summed(by), ...messages.slice(-4)],
    { view: (messages) => messages.map(({ timestamp, ...message }) => message) },
  ],
  ["a compaction that is a user message", (messages, by) => [by.user(300), ...messages.slice(-4)]],
  ["a result edited in place that grew", edited(4000)],
  ["a result edited in place that is empty", edited(0)],
  [
    "a deletion, the host saying what it sends",
    (messages) => messages.toSpliced(1, 2),
    { options: { overheadTokens: 9000 } },
  ],
]) {
  both(`after ${what} it is known what the agent sends beside the messages`, async (schedule) => {
    const { calls, rewrite } = talk(SMALL, { ...schedule, ...options }, more);
    await calls(made, 900);
    rewrite(change);
    const records = await calls(3, 400);
    for (const record of records) assertClose(record, 0.04);
    assertClose(records.at(-1), 0.01);
  });
}

both("one compaction after the other, none with a report between them", async (options) => {
  const { calls, scribe, rewrite } = talk(SMALL, options);
  await calls(4, 900);
  for (let at = 0; at < 4; at += 1) {
    rewrite((messages, by) => [summed(by), ...messages.slice(-2)]);
    for (const record of await calls(1, 800, () => scribe.asks(1, { stopReason: "error" })))
      assertClose(record, 0.04);
  }
});

both("compactions whose time is later than the answers that follow", async (options) => {
  const { call, calls, rewrite } = talk(SMALL, options);
  for (let at = 0; at < 6; at += 1) {
    rewrite((messages, by) => [{ ...summed(by), timestamp: by.now + 60_000 }, ...messages.slice(-2)]);
    const record = await call(800);
    if (at > 0) assertClose(record, 0.04);
  }
  for (const record of await calls(12, 2500)) {
    assertClose(record, 0.01);
    assert.equal(record.changed, 0, `call ${record.call} says "${record.reason}"`);
  }
});

test("an agent whose prompt grew much at a compaction is believed at its second report", async () => {
  const { calls, loop, rewrite } = talk({ basePrompt: 6000, contextWindow: 128_000 });
  await calls(4, 300);
  rewrite((messages, by) => [summed(by), ...messages.slice(-4)]);
  loop.provider.basePrompt = 30_000;
  for (const record of (await calls(4, 300)).slice(2)) assertClose(record, 0.01);
});

test("the clock of the user's messages changes nothing in live use", async () => {
  const ahead = (by, ms) => {
    const message = by.user(50);
    return { ...message, timestamp: message.timestamp + ms };
  };
  const { calls, loop, scribe } = talk(
    { basePrompt: 12_000, contextWindow: 128_000, scale: 1.45 },
    {},
    { opening: (by) => [ahead(by, 8 * 3_600_000)] },
  );
  for (let turn = 0; turn < 3; turn += 1) {
    for (const record of (await calls(8, 1000)).slice(2)) assertClose(record, 0.02);
    loop.messages.push(scribe.says(10), ahead(scribe, 120_000));
  }
});

both("a refusal is of what was sent, though the host compacted and changed what it kept", async (options) => {
  const { call, calls, loop, rewrite } = talk(
    { ...SMALL, basePrompt: 1000 },
    { ...options, contextWindow: 32_000 },
  );
  const { prompt } = (await calls(40, 700)).at(-1);
  // More than was known, but not so much more that the number must be of something else.
  loop.provider.basePrompt = 1000 + 0.4 * prompt;
  loop.provider.contextWindow = prompt;
  assert.ok((await call(700)).isRefused);
  rewrite((messages, by) => [
    messages[0],
    by.summary(100, 9000),
    ...messages.slice(-7).with(-2, by.user(30)),
    by.user(20),
  ]);
  assertClose(await call(100), 0.01);
});

test("conversations that share a hook keep what is known of their agents apart", async () => {
  const makeHook = sharedHook(createTransformContext);
  const talks = [4000, 24_000].map((basePrompt) => {
    const scribe = new Scribe();
    scribe.now += basePrompt * 1e6;
    return talk({ contextWindow: 128_000, basePrompt }, { contextWindow: 128_000 }, { makeHook, scribe });
  });
  for (let at = 0; at < 4; at += 1) for (const { call } of talks) await call(900 + 100 * at);
  for (const { call, rewrite } of talks) {
    rewrite((messages, by) => [summed(by), ...messages.slice(-4)]);
    assertClose(await call(300), 0.04);
  }
});

test("agents that share a hook and a beginning each go on in their own conversation", async () => {
  const beginning = new Scribe().user(2000);
  const makeHook = sharedHook(createTransformContext);
  const agents = Array.from({ length: 100 }, (_, number) => {
    const scribe = new Scribe();
    scribe.now += 1e6 * number;
    const opening = (by) => [beginning, { ...by.user(10), content: `task ${number}` }];
    return talk({ contextWindow: 16_000, scale: 1 + number / 200 }, {}, { makeHook, scribe, opening });
  });
  for (let round = 0; round < 14; round += 1) {
    for (const { call } of agents) {
      const record = await call(700);
      assert.equal(record.changed, 0, record.reason);
      if (round >= 2) assertClose(record, 0.04);
    }
  }
});

test("a model of another encoding that failed to answer takes nothing away of what is known", async () => {
  const { call, scribe, loop, rewrite } = talk(SMALL);
  await call(0, { ...scribe.says(0), model: "gpt-5.1-codex", stopReason: "aborted" });
  loop.messages.push(scribe.user(50));
  await call(900);
  rewrite((messages, by) => [summed(by), ...messages]);
  assertClose(await call(900), 0.04);
});

both("of a window that gets smaller most is used, and it is kept to or it is said", async (options) => {
  for (const [scale, tokens, to, least] of [
    [1, 10_500, 64_000, 0],
    [1.5, 10_500, 64_000, 0],
    [1.27, 3000, 32_000, 8000],
  ]) {
    const { calls, loop } = talk({ contextWindow: 200_000, basePrompt: 1000, scale }, options);
    await calls(12, tokens);
    loop.provider.contextWindow = to;
    for (const [at, record] of (await calls(12, 500)).entries()) {
      assert.ok(
        !record.isUnreported && (at > 3 || record.prompt > least),
        `${record.prompt} of ${to} are sent`,
      );
      assertClose(record, 0.02);
    }
  }
});

for (const [what, from, made, to, model, pauseMs] of [
  ["a wider window", 64_000, 30, 200_000],
  ["a smaller window", 128_000, 30, 64_000],
  ["another encoding", 64_000, 25, 64_000, "gpt-5.1-codex"],
  [
    "a wider window after a pause in which the cache went, with little context",
    32_000,
    8,
    128_000,
    "model-a",
    3_600_000,
  ],
]) {
  test(`${what} changes no byte of what is frozen`, async () => {
    const { calls, loop, scribe } = talk({ contextWindow: from, basePrompt: 4000 }, { schedule: "sticky" });
    await calls(made, 1500);
    loop.provider.contextWindow = to;
    scribe.model = model ?? scribe.model;
    scribe.now += pauseMs ?? 0;
    loop.messages.push(scribe.user(10));
    for (const { before, unchanged, reason } of await calls(5, 300)) {
      const changed = reason.startsWith("moved") && pauseMs === undefined ? 0 : before.length - unchanged;
      assert.equal(changed, 0, `it says "${reason}"`);
    }
  });
}

test("what stands before a branch is sent as it was", async () => {
  const { call, calls, rewrite } = talk({ contextWindow: 32_000, basePrompt: 3000 });
  // The last batch is so far back that the newest six results of the branch are sent whole already.
  const { sent } = (await calls(28, 900)).at(-1);
  rewrite((messages, by) => [...messages.slice(0, -9), by.user(40)]);
  const branch = await call(100);
  assert.equal(commonRun(sent, branch.sent), branch.sent.length - 1);
});

test("a list goes on in the conversation of which it has most, not in one that it has all of", async () => {
  const { call, calls, loop, rewrite } = talk({ contextWindow: 64_000, basePrompt: 3000 });
  await calls(3, 900);
  const main = loop.messages;
  loop.messages = main.slice(0, 3);
  await call(900);
  loop.messages = main;
  await calls(25, 900);
  loop.provider.contextWindow = 32_000;
  const { sent } = (await calls(6, 900)).at(-1);
  rewrite((messages, by) => [...messages.slice(0, -3), by.user(40)]);
  const record = await call(100);
  assertClose(record, 0.01);
  const shared = commonRun(sent, record.sent);
  assert.ok(shared > record.sent.length - 14, `${shared} of ${record.sent.length}`);
});

/** A host that hands in copies is known by them: whatever its answers name or report, and however late. */
for (const [what, settings, { model = "model-a", tell } = {}, narrower, spared] of [
  ["the first answer names another encoding", { contextWindow: 32_000 }, { model: "gpt-5-mini" }, 64_000, 0],
  // Without a usable report the layers are made at each call: only the newest results may change.
  [
    "its usage holds no numbers",
    { contextWindow: 90_000, basePrompt: 0, scale: 1 },
    { tell: () => ({ input: "12", output: null, cacheRead: Number.NaN, cacheWrite: {} }) },
    48_000,
    13,
  ],
]) {
  test(`copies are known where ${what}`, async () => {
    const { call, calls, scribe, loop } = talk(
      settings,
      { schedule: "sticky" },
      { view: structuredClone, tell },
    );
    scribe.model = model;
    await calls(30, 1500);
    loop.provider.contextWindow = narrower;
    const record = await call(200);
    assert.ok(
      record.unchanged >= record.before.length - spared,
      `${record.unchanged} of ${record.before.length}`,
    );
    if (tell === undefined) assertClose(record, 0.01);
  });
}

test("copies are known though the first report comes late", async () => {
  const owed = [];
  const more = { view: structuredClone, tell: (usage) => void owed.push(usage) };
  const { call, loop } = talk(
    { contextWindow: 16_000, basePrompt: 0, scale: 1 },
    { schedule: "sticky" },
    more,
  );
  await call(16_000);
  await call(300);
  loop.provider.contextWindow = 64_000;
  loop.messages.find(({ role }) => role === "assistant").usage = owed[0];
  const { before, unchanged } = await call(200);
  assert.equal(unchanged, before.length);
});
