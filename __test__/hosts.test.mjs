// Hosts that misbehave: what they may do to the messages, the signal, the process and the threads while a call is under
// way, and what still holds.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { createTransformContext, validate } from "../index.js";
import { fieldsOf } from "./support/fields.mjs";
import { conversation, dice } from "./support/transcripts.mjs";

const INDEX = fileURLToPath(new URL("../index.js", import.meta.url));
const TRANSCRIPTS = fileURLToPath(new URL("./support/transcripts.mjs", import.meta.url));

const tight = (options) =>
  createTransformContext({
    schedule: "everyCall",
    contextWindow: 4000,
    reserveTokens: 200,
    keepRecentMessages: 4,
    ...options,
  });
const long = (seed) => conversation(seed, { length: 300 });

test("messages pushed, replaced and cut away while a call is pending change nothing of it", async () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const live = long(seed);
    const before = live.slice();
    const pending = tight()(live);
    live.push({ role: "user", content: "more" });
    if (seed % 3 === 1) live.length = 2;
    if (seed % 3 === 2) live.fill(null);
    const sent = await pending;
    assert.notEqual(sent, live);
    assert.deepEqual(validate(sent), []);
    const known = new Set(before.map((message) => message.details));
    assert.ok(sent.every((message) => known.has(message.details)));
  }
});

test("a message changed while a call is pending goes out as the host left it", async () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const hook = tight();
    const live = long(seed);
    const pending = [hook(live), hook(live)];
    for (const message of live) {
      if (message.role === "toolResult") message.content = [{ type: "text", text: "changed" }];
    }
    pending.push(hook(live));
    for (const sent of await Promise.all(pending)) {
      assert.deepEqual(validate(sent), []);
      for (const message of sent) {
        if (message.role === "toolResult")
          assert.deepEqual(message.content, [{ type: "text", text: "changed" }]);
      }
    }
  }
});

test("Proxies of the array, of messages and of blocks are read as what they stand for; a revoked one fails", async () => {
  const through = (value) => new Proxy(value, {});
  const messages = conversation(3, { length: 60 });
  const plain = await tight()(messages);
  const proxied = messages.map((message) =>
    through(Array.isArray(message.content) ? { ...message, content: message.content.map(through) } : message),
  );
  const sent = await tight()(through(proxied));
  assert.deepEqual(fieldsOf(sent, "details"), fieldsOf(plain, "details"));
  const { proxy, revoke } = Proxy.revocable({ ...messages[0] }, {});
  const withRevoked = [...messages, proxy];
  revoke();
  const events = [];
  assert.equal(await tight({ onEvent: (event) => events.push(event) })(withRevoked), withRevoked);
  assert.deepEqual(fieldsOf(events, "type"), ["failed"]);
});

test("a message that cannot be read spoils its own call only", async () => {
  const hook = tight();
  const messages = long(5);
  const bad = { ...messages[100] };
  let isBad = true;
  Object.defineProperty(bad, "content", {
    get() {
      if (isBad) throw new Error("not now");
      return messages[100].content;
    },
  });
  const list = messages.with(100, bad);
  assert.equal(await hook(list), list);
  isBad = false;
  const sent = await hook(list);
  assert.notEqual(sent, list);
  assert.equal(sent.length, (await tight()(messages)).length);
});

test("100 agents at once on one hook, each step by step, some over shared messages: each as alone", async () => {
  const events = [];
  const onEvent = (event) => event.type === "failed" && events.push(event);
  const hook = tight({ calibrate: false, onEvent });
  const shared = long(7);
  const own = (i) => conversation(i, { length: 300, mark: `agent-${i}-` });
  const lists = Array.from({ length: 100 }, (_, i) => (i % 4 === 0 ? shared : own(i)));
  for (const end of [150, 151, 230, Number.POSITIVE_INFINITY]) {
    const calls = lists.map((list) => hook(list.slice(0, end)));
    for (const [i, sent] of (await Promise.all(calls)).entries()) {
      if (end > 230) assert.deepEqual(validate(sent), []);
      if (i % 8 > 1) continue;
      const alone = await tight({ calibrate: false })(lists[i].slice(0, end));
      assert.deepEqual(sent, alone, `agent ${i}, ${end} messages`);
    }
  }
  assert.deepEqual(events, []);
});

test("aborted at every moment: resolves at once, and the signal is as it was", async () => {
  const roll = dice(9);
  const messages = Array.from({ length: 40 }, (_, seed) => long(seed)).flat();
  for (let round = 0; round < 100; round += 1) {
    const controller = new AbortController();
    const { signal } = controller;
    const seen = { onabort: 0, listener: 0, addEventListener: 0, removeEventListener: 0 };
    const counted = (name) => {
      const own = signal[name] ?? (() => {});
      return function (...parameters) {
        seen[name] += 1;
        return own.apply(this, parameters);
      };
    };
    const onabort = counted("onabort");
    signal.onabort = onabort;
    signal.addEventListener("abort", counted("listener"));
    for (const name of ["addEventListener", "removeEventListener"]) signal[name] = counted(name);
    const isEarly = round % 10 === 0;
    if (isEarly) controller.abort();
    let sent;
    const pending = tight()(messages, signal).then((list) => (sent = list));
    if (!isEarly) await Promise.race([pending, new Promise((resolve) => setTimeout(resolve, roll(30)))]);
    controller.abort();
    await new Promise(setImmediate);
    assert.ok(sent === messages || sent?.length < messages.length, "it resolved at once");
    assert.equal(signal.onabort, onabort);
    assert.deepEqual([seen.onabort, seen.listener], [1, 1]);
    assert.equal(seen.addEventListener, seen.removeEventListener);
  }
});

test("a listener that throws, rejects or never returns a word changes nothing", async () => {
  const messages = long(11);
  const expected = await tight()(messages);
  const listeners = [
    () => {
      throw new Error("no");
    },
    () => Promise.reject(new Error("no")),
    () => new Promise(() => {}),
    () => new Proxy({}, { get: () => assert.fail("touched") }),
  ];
  for (const onEvent of listeners) assert.deepEqual(await tight({ onEvent })(messages), expected);
});

const WORKER = `
const { createTransformContext } = require(${JSON.stringify(INDEX)});
const { parentPort } = require("node:worker_threads");
import(${JSON.stringify(TRANSCRIPTS)}).then(async ({ conversation }) => {
  const hook = createTransformContext({ contextWindow: 4000, reserveTokens: 200 });
  for (let seed = 0; ; seed += 1) {
    const pending = hook(conversation(seed, { length: 400 }));
    if (seed === 0) parentPort.postMessage("in mid-call");
    await pending;
  }
});`;

/** Workers that are ended in mid-call. */
const WORKERS = 200;

test(`${WORKERS} worker threads ended in mid-call leave the process whole`, async (t) => {
  const roll = dice(13);
  const one = async () => {
    const worker = new Worker(WORKER, { eval: true });
    await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
    await new Promise((resolve) => setTimeout(resolve, roll(8)));
    await worker.terminate();
  };
  const lane = async () => {
    for (let i = 0; i < WORKERS / 4; i += 1) await one();
  };
  await Promise.all(Array.from({ length: 4 }, lane));
  t.diagnostic(`${WORKERS} workers ended in mid-call, 100 calls at once, 100 aborts`);
  const messages = long(17);
  assert.notEqual(await tight()(messages), messages);
});

test("process.exit with work pending ends the process, with its own code", () => {
  const script = `
    const { createTransformContext, countTokensAsync } = require(${JSON.stringify(INDEX)});
    const message = { role: "user", content: "word ".repeat(1_000_000) };
    const hook = createTransformContext({ contextWindow: 4000 });
    for (let i = 0; i < 8; i += 1) hook([{ ...message, content: message.content + i }]);
    countTokensAsync(message);
    setTimeout(() => process.exit(7), Number(process.argv[1]));`;
  for (const delay of [0, 1, 5, 20]) {
    const { status, signal, stderr } = spawnSync(process.execPath, ["-e", script, String(delay)]);
    assert.deepEqual([status, signal, String(stderr)], [7, null, ""]);
  }
});
