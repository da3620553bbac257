// The smallest conversations in which the loop, once closed, went wrong: the hook reads usage of what it sent itself.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { countTokens, createTransformContext } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";
import { compacted, contextTokens } from "./support/live/compaction.mjs";
import { droppedOf, Judge } from "./support/live/judge.mjs";
import { Loop, play } from "./support/live/loop.mjs";
import { Provider } from "./support/live/provider.mjs";
import { Scribe, textOf } from "./support/live/texts.mjs";
import { RECORDING } from "./support/recording.mjs";

/** A loop with its judge; `call` sends, answers, and adds results of so many tokens. */
function conversation(settings, options, opening = () => [], more = {}) {
  const scribe = new Scribe();
  const loop = new Loop(new Provider(settings), options, more);
  const judge = new Judge(loop);
  loop.messages.push(...opening(scribe));
  const call = async (tokens, answer = scribe.asks()) => {
    const record = await loop.call(answer);
    loop.messages.push(...scribe.results(answer, tokens));
    return { ...record, ...judge.look(record), dropped: droppedOf(record.given, record.sent) };
  };
  return { scribe, loop, judge, call };
}

const percent = (share) => `${(100 * share).toFixed(2)} %`;

function assertClose({ call, estimate, prompt, error }, allowed) {
  assert.ok(
    Math.abs(error) <= allowed,
    `call ${call}: estimated ${Math.round(estimate)} of ${prompt} sent, ${percent(error)}`,
  );
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
  assert.deepEqual(
    { unreported: sum("isUnreported"), changed: sum("changed"), lost: sum("lost") },
    { unreported: 0, changed: 0, lost: 0 },
  );
}

const steps = (scribe, count, tokens, usageAt) =>
  Array.from({ length: count }, (_, at) => {
    const asks = scribe.asks(1, { usage: usageAt(at) });
    return [asks, ...scribe.results(asks, tokens)];
  }).flat();
const cached = (tokens) => ({ input: 3, output: 50, cacheRead: tokens - 103, cacheWrite: 100 });

test("after a compaction what the host kept stays, whatever the kept answers once reported", async () => {
  const opening = (scribe) => {
    const kept = [scribe.user(40), ...steps(scribe, 60, 420, (at) => cached(110_000 + 700 * at))];
    return [scribe.summary(900, 152_000), ...kept];
  };
  const { call } = conversation({ basePrompt: 3000 }, {}, opening);
  for (let at = 0; at < 8; at += 1) {
    const record = await call(300);
    assert.equal(record.dropped.length, 0, `call ${at + 1}: ${record.dropped.length} messages are gone`);
    if (at >= 2) assertClose(record, 0.005);
  }
});

test("a small window after a compaction: nothing is over it, and nothing goes", async () => {
  const opening = (scribe) => {
    const asks = scribe.asks(1, { usage: cached(90_000) });
    return [scribe.summary(900, 120_000), scribe.user(40), asks, ...scribe.results(asks, 3000)];
  };
  const { call } = conversation({ contextWindow: 32_000, basePrompt: 7000 }, {}, opening);
  const record = await call(100);
  assert.equal(record.sent.length, 4);
  assert.equal(record.saysOverflow, false);
});

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
    assertTrue(
      isRecorded ? verdicts.slice(verdicts.findIndex(({ isTaught }, at) => at > 2 && !isTaught)) : verdicts,
    );
  });
}

test("six large reads in one turn: what layer 4 cuts is in the account", async () => {
  const { call } = conversation({ basePrompt: 30_000 }, {}, (scribe) => [scribe.user(60)]);
  for (let at = 0; at < 9; at += 1) {
    const record = await call(21_300);
    assert.equal(record.isUnreported, false, `call ${at + 1} sends ${record.prompt} and says nothing`);
    if (at >= 2) assertClose(record, 0.005);
    assert.equal(record.changed, 0, `call ${at + 1} says "${record.reason}"`);
  }
});

for (const schedule of ["everyCall", "sticky"]) {
  test(`${schedule}: a paste that had to be cut is in the account`, async () => {
    const opening = (scribe) => [scribe.user(20_000)];
    const settings = { contextWindow: 8000, basePrompt: 500, scale: 1 };
    const { call } = conversation(settings, { schedule }, opening);
    for (let at = 0; at < 8; at += 1) {
      const record = await call(30);
      if (at >= 1) assert.equal(record.isUnreported, false, `call ${at + 1} sends ${record.prompt}`);
      if (at >= 2) assertClose(record, 0.005);
      assert.equal(record.changed, 0, `call ${at + 1} says "${record.reason}"`);
    }
  });
}

for (const [contextWindow, basePrompt] of [
  [12_000, 2000],
  [16_000, 2000],
  [20_000, 2000],
  [32_000, 20_000],
  [64_000, 30_000],
]) {
  test(`a recorded session live at ${contextWindow} tokens with ${basePrompt} of prompt and tools`, async () => {
    for (const schedule of ["sticky", "everyCall"]) {
      assertTrue(await verdictsOf(new Loop(new Provider({ contextWindow, basePrompt }), { schedule })));
    }
  });
}

test("the reserve is at most a quarter of the window: no cliff at the default", async () => {
  for (const contextWindow of [4000, 8191, 8192, 8193, 9000, 12_000, 32_000]) {
    const opening = (scribe) =>
      Array.from({ length: 25 }, (_, at) => (at % 2 === 0 ? scribe.user(98) : scribe.says(98)));
    const { call } = conversation({ contextWindow, basePrompt: 0, scale: 1 }, {}, opening);
    const record = await call(10);
    assert.equal(record.sent.length, 25, `window ${contextWindow}`);
    assert.equal(record.saysOverflow, false, `window ${contextWindow}`);
  }
});

for (const [what, change] of [
  ["the summary of a compaction", (messages) => (messages[0].summary = textOf(4000, 99))],
  ["the command of a bash execution", (messages) => (messages[2].command = textOf(900, 99))],
  ["the output of a bash execution", (messages) => (messages[2].output = textOf(900, 99))],
  ["the id a result answers to", (messages) => (messages[4].toolCallId = "no-such-call")],
  ["the id of a call", (messages) => (messages[3].content[0].id = "no-such-call")],
  ["the name of a tool", (messages) => (messages[3].content[0].name = textOf(200, 99))],
  ["a number in usage", (messages) => (messages[3].usage.cacheRead += 9000)],
]) {
  test(`changed in place, ${what} is noticed`, async () => {
    const scribe = new Scribe();
    const asks = scribe.asks(1, what === "a number in usage" ? { usage: cached(8000) } : {});
    const messages = [
      scribe.summary(300, 9000),
      scribe.user(50),
      scribe.bash(200, false),
      asks,
      ...scribe.results(asks, 700),
    ];
    const told = [];
    const make = () =>
      createTransformContext({
        onEvent: ({ blockedMs, totalMs, firstChanged, ...event }) => told.push(event),
      });
    const hook = make();
    await hook(messages);
    change(messages);
    told.length = 0;
    const sent = await hook(messages);
    const said = told.splice(0);
    const anew = await make()(structuredClone(messages));
    assert.deepEqual(said, told);
    assert.ok(isDeepStrictEqual(sent, anew), "what is sent is what another hook sends");
  });
}

test("the question under way stays, however long its loop", async () => {
  for (const schedule of ["everyCall", "sticky"]) {
    const opening = (scribe) => [
      scribe.user(300),
      scribe.says(300),
      scribe.user(120),
      ...steps(scribe, 30, 600, () => undefined),
    ];
    const settings = { contextWindow: 16_000, basePrompt: 1000 };
    const { call, loop } = conversation(settings, { schedule, keepRecentToolResults: 40 }, opening);
    const question = loop.messages[2];
    for (let at = 0; at < 4; at += 1) {
      const { sent } = await call(500);
      assert.ok(
        sent.some(({ timestamp }) => timestamp === question.timestamp),
        `${schedule}: call ${at + 1}`,
      );
    }
  }
});

test("a large paste is cut before smaller messages go", async () => {
  for (const schedule of ["everyCall", "sticky"]) {
    const opening = (scribe) => [
      ...Array.from({ length: 10 }, (_, at) => (at % 2 === 0 ? scribe.user(40) : scribe.says(40))),
      scribe.user(230_000),
      scribe.says(40),
      scribe.user(40),
    ];
    const { call } = conversation({ basePrompt: 2000, scale: 1 }, { schedule }, opening);
    const { dropped, sent, isOver } = await call(100);
    assert.equal(dropped.length, 0, schedule);
    assert.equal(isOver, false, schedule);
    const tokens = countTokens(sent[10]);
    assert.ok(tokens > 100_000, `${schedule}: ${tokens} tokens of it are left`);
  }
});

test("a cut never lengthens a text", async () => {
  const lengthOf = ({ content }) =>
    typeof content === "string"
      ? content.length
      : content.reduce((sum, { text = "" }) => sum + text.length, 0);
  for (let tokens = 20; tokens < 140; tokens += 2) {
    const scribe = new Scribe();
    const question = { ...scribe.user(0), content: "\u{1f600}".repeat(tokens) };
    const asks = scribe.asks(2);
    const messages = [question, asks, ...scribe.results(asks, tokens)];
    const hook = createTransformContext({ contextWindow: 120, reserveTokens: 0, schedule: "everyCall" });
    for (const message of await hook(messages)) {
      const given = messages.find(({ timestamp }) => timestamp === message.timestamp);
      assert.ok(lengthOf(message) <= lengthOf(given), `${message.role}, ${tokens} tokens`);
    }
  }
});

test("a summary that comes back as input is left alone", async () => {
  const scribe = new Scribe();
  const messages = [scribe.user(20), ...steps(scribe, 12, 1, () => undefined)];
  const results = messages.filter(({ role }) => role === "toolResult");
  for (const [at, { content }] of results.entries())
    content[0].text = textOf(1200, at).replaceAll(/\n(.*)\n(.*)\n/g, "\n$1 $2 ");
  for (const marker of ["zh", "en"]) {
    const hook = () => createTransformContext({ schedule: "everyCall", marker });
    const sent = await hook()(messages);
    assert.ok(!isDeepStrictEqual(sent, messages), "something is summarised");
    const again = await hook()(structuredClone(sent));
    const changed = again.filter((message, at) => !isDeepStrictEqual(message, sent[at]));
    assert.equal(changed.length, 0, `${marker}: ${changed.length} summaries changed`);
  }
});

for (const overheadTokens of [30_000, () => 30_000]) {
  test(`the first call counts the prompt and the tools it is told of, as a ${typeof overheadTokens}`, async () => {
    const { call } = conversation({ basePrompt: 30_000 }, { overheadTokens }, (scribe) => [scribe.user(50)]);
    assertClose(await call(100), 0.01);
  });
}

for (const [what, change] of [
  ["a branch", (messages) => messages.slice(0, 3)],
  ["a compaction", (messages, scribe) => compacted(messages, 6000, scribe.summary(300, 9000))],
  [
    "a compaction as old as the conversation",
    (messages, scribe) =>
      compacted(messages, 6000, { ...scribe.summary(300, 9000), timestamp: messages[0].timestamp }),
  ],
]) {
  for (const schedule of ["everyCall", "sticky"]) {
    test(`${schedule}: after ${what} the next reports are believed, however far from what went before`, async () => {
      const settings = { contextWindow: 64_000, basePrompt: 6000 };
      const { call, scribe, loop, judge } = conversation(settings, { schedule }, (by) => [by.user(50)]);
      for (let at = 0; at < 12; at += 1) await call(at < 4 ? 300 : 2600);
      loop.messages = change(loop.messages, scribe);
      judge.hostChanged();
      for (let at = 0; at < 5; at += 1) {
        const record = await call(300);
        if (at >= 2) assertClose(record, 0.01);
      }
    });
  }
}

test("what is known of the prompt and the tools is kept across a model switch and a compaction", async () => {
  const { call, scribe, loop, judge } = conversation({ basePrompt: 20_000 }, {}, (scribe) => [
    scribe.user(50),
  ]);
  for (let at = 0; at < 6; at += 1) await call(800);
  scribe.model = "model-b";
  for (let at = 0; at < 3; at += 1) assertClose(await call(800), 0.03);
  loop.messages = compacted(loop.messages, 3500, scribe.summary(300, 30_000));
  judge.hostChanged();
  for (let at = 0; at < 3; at += 1) assertClose(await call(200), 0.03);
});

/** Grows a conversation to some reports, and changes its list; the records of the calls behind that. */
async function changedBy(change, { options = {}, calls = 5, view } = {}) {
  const settings = { contextWindow: 32_000, basePrompt: 9000, scale: 1.4 };
  const talk = conversation(settings, options, (by) => [by.user(50)], { view });
  for (let at = 0; at < calls; at += 1) await talk.call(900);
  const { loop, scribe, judge } = talk;
  loop.messages = change(loop.messages, scribe) ?? loop.messages;
  for (const message of loop.messages) loop.provider.forget(message);
  judge.hostChanged();
  const records = [];
  for (let at = 0; at < 3; at += 1) records.push(await talk.call(400));
  return { ...talk, records };
}

const summed = (scribe) => scribe.summary(300, 9000);

for (const [what, change, setup] of [
  ["keeps the last answer alone", (messages, by) => [summed(by), ...messages.slice(-2)]],
  ["keeps nothing", (_, by) => [summed(by), by.user(600)]],
  ["keeps the summary before it", (messages, by) => [summed(by), summed(by), ...messages.slice(-4)]],
  ["keeps everything", (messages, by) => [summed(by), ...messages]],
  ["came before a second report", (messages, by) => [summed(by), ...messages.slice(-2)], { calls: 1 }],
  [
    "has no times",
    (messages, by) => [summed(by), ...messages.slice(-4)],
    { view: (messages) => messages.map(({ timestamp, ...message }) => message) },
  ],
  ["is a user message", (messages, by) => [by.user(300), ...messages.slice(-4)]],
]) {
  for (const schedule of ["everyCall", "sticky"]) {
    test(`${schedule}: a compaction that ${what} leaves known what the agent sends beside the messages`, async () => {
      const { records } = await changedBy(change, { options: { schedule }, ...setup });
      for (const record of records) assertClose(record, 0.04);
      assertClose(records.at(-1), 0.01);
    });
  }
}

test("one compaction after the other, none with a report between them", async () => {
  for (const schedule of ["everyCall", "sticky"]) {
    const settings = { contextWindow: 32_000, basePrompt: 9000, scale: 1.4 };
    const { call, loop, scribe, judge } = conversation(settings, { schedule }, (by) => [by.user(50)]);
    for (let at = 0; at < 4; at += 1) await call(900);
    for (let at = 0; at < 4; at += 1) {
      loop.messages = [summed(scribe), ...loop.messages.slice(-2)];
      judge.hostChanged();
      assertClose(await call(800, { ...scribe.asks(), stopReason: "error" }), 0.04);
    }
  }
});

test("compactions whose time is later than the answers that follow", async () => {
  for (const schedule of ["everyCall", "sticky"]) {
    const settings = { contextWindow: 32_000, basePrompt: 9000, scale: 1.4 };
    const { call, loop, scribe, judge } = conversation(settings, { schedule }, (by) => [by.user(50)]);
    for (let at = 0; at < 6; at += 1) {
      loop.messages = [{ ...summed(scribe), timestamp: scribe.now + 60_000 }, ...loop.messages.slice(-2)];
      judge.hostChanged();
      const record = await call(800);
      if (at > 0) assertClose(record, 0.04);
    }
    for (let at = 0; at < 12; at += 1) {
      const record = await call(2500);
      assertClose(record, 0.01);
      assert.equal(record.changed, 0, `call ${record.call} says "${record.reason}"`);
    }
  }
});

test("an agent whose prompt grew much at a compaction is believed at its second report", async () => {
  const options = { schedule: "sticky" };
  const settings = { basePrompt: 6000, contextWindow: 128_000 };
  const { call, loop, scribe, judge } = conversation(settings, options, (by) => [by.user(50)]);
  for (let at = 0; at < 4; at += 1) await call(300);
  loop.messages = [summed(scribe), ...loop.messages.slice(-4)];
  loop.provider.basePrompt = 30_000;
  judge.hostChanged();
  for (let at = 0; at < 4; at += 1) {
    const record = await call(300);
    if (at >= 2) assertClose(record, 0.01);
  }
});

for (const schedule of ["everyCall", "sticky"]) {
  test(`${schedule}: what was edited in place is counted as it is now`, async () => {
    const grow = ([, , result]) => {
      result.content[0].text = textOf(4000, 77);
    };
    const shrink = ([, , result]) => {
      result.content[0].text = "";
    };
    for (const change of [grow, shrink]) {
      const { records } = await changedBy(change, { options: { schedule } });
      for (const record of records) assertClose(record, 0.03);
      assertClose(records.at(-1), 0.01);
    }
  });
}

test("conversations that share a hook keep what is known of their agents apart", async () => {
  const hook = [];
  const talks = [4000, 24_000].map((basePrompt) => {
    const scribe = new Scribe();
    scribe.now += basePrompt * 1e6;
    const provider = new Provider({ contextWindow: 128_000, basePrompt });
    const makeHook = ({ onEvent, ...options }) => {
      hook[0] ??= createTransformContext({ ...options, onEvent: (event) => hook[1](event) });
      return (messages) => {
        hook[1] = onEvent;
        return hook[0](messages);
      };
    };
    const loop = new Loop(provider, { contextWindow: 128_000 }, { makeHook });
    loop.messages.push(scribe.user(50));
    const judge = new Judge(loop);
    const call = async (tokens) => {
      const answer = scribe.asks();
      const record = await loop.call(answer);
      loop.messages.push(...scribe.results(answer, tokens));
      return { ...record, ...judge.look(record) };
    };
    return { scribe, loop, judge, call };
  });
  for (let at = 0; at < 4; at += 1) for (const { call } of talks) await call(900 + 100 * at);
  for (const { loop, scribe, judge, call } of talks) {
    loop.messages = [summed(scribe), ...loop.messages.slice(-4)];
    judge.hostChanged();
    assertClose(await call(300), 0.04);
  }
});

test("a model of another encoding that failed to answer takes nothing away of what is known", async () => {
  const settings = { contextWindow: 32_000, basePrompt: 9000, scale: 1.4 };
  const { call, loop, scribe, judge } = conversation(settings, {}, (by) => [by.user(50)]);
  await call(0, { ...scribe.says(0), model: "gpt-5.1-codex", stopReason: "aborted" });
  loop.messages.push(scribe.user(50));
  await call(900);
  loop.messages = [summed(scribe), ...loop.messages];
  judge.hostChanged();
  assertClose(await call(900), 0.04);
});
