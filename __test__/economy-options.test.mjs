// What the host says of the economy at each call: prices by a function, the language of markers, what was read back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createRecallTool, createTransformContext, explain } from "../index.js";
import { agentSession, textOf } from "./support/agent-session.mjs";

const LINES = Array.from({ length: 200 }, (_, i) => `line ${i} of some output that nobody needs again`).join(
  "\n",
);

/** One question and `count` calls with long results, `gap` seconds apart. */
function session(count, { ask, gap = 5, model = "claude-opus-4-5", tool = "bash" } = {}) {
  const steps = Array.from({ length: count }, (_, i) => [tool, { command: `run ${i}` }, `${i}\n${LINES}`]);
  const usage = (i) => ({ input: 10, output: 5, cacheRead: 2000 * i, cacheWrite: 2000 });
  return agentSession(steps, { ask, stepMs: 1000 * gap, answer: (i) => ({ model, usage: usage(i) }) });
}

test("cache may be a function: it is asked at every call, also for a transcript that did not change", async () => {
  const messages = session(30);
  const told = [3600, 1];
  const cache = () => ({ read: 0.1, write: 1.25, ttlSeconds: told.shift() });
  const hook = createTransformContext({ schedule: "sticky", cache });
  assert.equal(await hook(messages), messages);
  const sent = await hook(messages);
  assert.notEqual(sent, messages, "with entries that live for a second every call is cold");
  assert.deepEqual(told, []);
  const fixed = { read: 0.1, write: 1.25, ttlSeconds: 1 };
  assert.deepEqual(sent, await createTransformContext({ schedule: "sticky", cache: fixed })(messages));
});

test("objects and lists are copied when the hook is made", async () => {
  const messages = session(30);
  const fail = () => {
    throw new Error("changed");
  };
  const changes = {
    "the time to live": ({ cache }) => Object.assign(cache, { ttlSeconds: 3600 }),
    "a price that throws": ({ cache }) =>
      Object.defineProperty(cache, "read", { enumerable: true, get: fail }),
    "what stays whole": ({ keep }) => keep.tools.push("bash"),
    "what is not touched": ({ excludeTools }) => excludeTools.push("bash"),
  };
  for (const [name, change] of Object.entries(changes)) {
    const options = { cache: { ttlSeconds: 1 }, keep: { tools: [] }, excludeTools: [] };
    const hook = createTransformContext({ schedule: "sticky", ...options });
    change(options);
    assert.notEqual(await hook(messages), messages, name);
  }
});

test("options may be inherited or getters, and what a host adds later may be anything", async () => {
  class Settings {
    get reserveTokens() {
      return 20_000;
    }
  }
  const messages = session(60);
  const sent = (options) => createTransformContext(options)(messages);
  const [plain, named, inherited] = [
    { reserveTokens: 20_000 },
    new Settings(),
    Object.create({ reserveTokens: 20_000 }),
  ].map((options) => Object.assign(options, { contextWindow: 28_000, keepRecentMessages: 40 }));
  assert.notDeepEqual(await sent(plain), await sent({ ...plain, reserveTokens: undefined }));
  assert.deepEqual(await sent(named), await sent(plain));
  assert.deepEqual(await sent(inherited), await sent(plain));
  for (const wrong of [Number.NaN, undefined, new Date(), "1"]) {
    const warmedAt = [];
    const failures = [];
    const onEvent = ({ type }) => type === "failed" && failures.push(type);
    const hook = createTransformContext({ warmedAt, onEvent });
    await hook(messages);
    warmedAt.push(wrong);
    await hook(messages);
    assert.deepEqual(failures, [], String(wrong));
  }
});

test("a pause that the host kept warm is not cold, and one without is", async () => {
  const messages = session(30);
  messages.push({ role: "user", content: "go on", timestamp: messages.at(-1).timestamp + 1000 * 900 });
  const last = messages.at(-2).timestamp;
  const isCold = async (warmedAt) => (await explain(messages, { warmedAt })).schedule.cacheCold;
  const warmings = [270, 540, 810].map((seconds) => last + 1000 * seconds);
  assert.equal(await isCold(undefined), true);
  assert.equal(await isCold(warmings), false);
  assert.equal(await isCold(() => warmings), false);
  assert.equal(await isCold(warmings.slice(0, 1)), true, "the last one is too long ago");
  for (const wrong of ["often", [Number.NaN], {}])
    assert.equal(await isCold(() => wrong), true, "what says nothing usable is as if nothing were said");
  assert.throws(() => createTransformContext({ warmedAt: 7 }), /option warmedAt is 7; it must be an array/);
});

test("a host that gives the cache up has the next call cut, and no later one for that", async () => {
  const messages = session(30);
  const at = messages.at(-2).timestamp;
  const cut = (list, coldAt) => createTransformContext({ coldAt })(list);
  assert.equal(await cut(messages, undefined), messages);
  const sent = await cut(messages, () => [at]);
  assert.notEqual(sent, messages);
  const grown = [...messages, { role: "user", content: "go on", timestamp: at + 1000 }];
  assert.deepEqual((await cut(grown, [at])).slice(0, sent.length), sent, "what was cut stays cut as it was");
});

test("where the function throws or says nothing usable, prices are learned", async () => {
  const messages = session(30);
  const learned = await explain(messages, { schedule: "sticky", cache: "auto" });
  for (const cache of [
    () => {
      throw new Error("no");
    },
    () => undefined,
    () => "auto",
    () => ({ read: -1 }),
    () => ({ speed: 3 }),
    () => 7,
  ]) {
    assert.deepEqual(await explain(messages, { schedule: "sticky", cache }), learned);
  }
  assert.throws(
    () => createTransformContext({ cache: 7 }),
    /option cache is 7; it must be "auto", or an object, or a function/,
  );
});

test("explain says after how many calls a batch has paid for itself", async () => {
  const at = async (cache) => (await explain(session(30), { schedule: "sticky", cache })).schedule;
  const dear = await at({ read: 0.1 });
  const cheap = await at({ read: 0.025 });
  assert.ok(cheap.paybackCalls > 3.5 * dear.paybackCalls, "a fourth of the read price");
});

test("markers in the language of the conversation", async () => {
  const first = async (ask, options) => {
    const messages = session(10, { ask });
    const hook = createTransformContext({ schedule: "everyCall", marker: "auto", ...options });
    return textOf((await hook(messages))[2]);
  };
  assert.match(await first("please look at the build"), /\[\.\.\. 196 lines omitted/);
  assert.match(await first("请看一下 src/main.rs 的 build 日志"), /已省略 196 行/);
  assert.match(await first([{ type: "text", text: "请看一下日志" }]), /已省略/);
  assert.match(await first("42"), /lines omitted/, "where nothing tells");
  const summary = [{ role: "compactionSummary", summary: "The user asked for a build.", timestamp: 0 }];
  const hook = createTransformContext({ schedule: "everyCall", marker: "auto" });
  assert.match(textOf((await hook([...summary, ...session(10, { ask: "请看" })]))[3]), /lines omitted/);
});

test("the language does not change while the conversation grows", async () => {
  const messages = session(30, { ask: "please look" });
  messages.splice(21, 0, { role: "user", content: "现在请用中文继续，谢谢你的帮助", timestamp: 50_001 });
  const hook = createTransformContext({ schedule: "everyCall", marker: "auto" });
  const [before] = [await hook(messages.slice(0, 21))];
  assert.equal(textOf((await hook(messages))[2]), textOf(before[2]));
});

for (const schedule of ["everyCall", "sticky"]) {
  test(`${schedule}: what was read back stays whole until the turn ends`, async () => {
    const older = session(20);
    const recalled = session(3, { tool: "recall" }).slice(1);
    const newer = session(30).slice(1);
    const rename = (messages, mark) =>
      JSON.parse(JSON.stringify(messages).replaceAll('"call', `"${mark}call`));
    const open = [...older, ...rename(recalled, "r"), ...rename(newer, "n")];
    const next = { role: "user", content: "thanks, next", timestamp: 9e6 };
    const closed = [...open, next, ...rename(newer, "m")];
    const options = { schedule, recall: true, cache: { ttlSeconds: 1 }, economy: 20 };
    const isWhole = (sent) =>
      open.filter(({ toolName }) => toolName === "recall").every((it) => sent.includes(it));
    assert.ok(isWhole(await createTransformContext(options)(open)));
    assert.ok(!isWhole(await createTransformContext(options)(closed)));
    assert.ok(!isWhole(await createTransformContext({ ...options, recall: false })(open)));
    const tight = { ...options, contextWindow: 5000, reserveTokens: 0 };
    assert.ok(!isWhole(await createTransformContext(tight)(open)), "but never over the window");
  });
}

test("no marker names a handle that cannot be read back", async () => {
  const messages = session(40);
  let named = 0;
  for (const schedule of ["everyCall", "sticky"]) {
    const hook = createTransformContext({
      schedule,
      recall: true,
      cache: { ttlSeconds: 1 },
      contextWindow: 60_000,
    });
    const tool = createRecallTool(() => messages);
    for (const message of await hook(messages)) {
      const handle = message.role === "toolResult" && /句柄：([0-9a-f]{8})/.exec(textOf(message))?.[1];
      if (!handle) continue;
      named += 1;
      const { details } = await tool.execute("t", { handle });
      assert.equal(details.found, true);
    }
  }
  assert.ok(named > 10);
});
