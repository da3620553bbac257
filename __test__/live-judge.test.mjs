// The judge of the closed loop, judged: its provider caches as providers do, and it sees what a hook does wrong.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens } from "../index.js";
import { codingAgents } from "./coding-agent/pi.mjs";
import { compacted } from "./support/live/compaction.mjs";
import { Invariants } from "./support/live/invariants.mjs";
import { Provider } from "./support/live/provider.mjs";
import { talk } from "./support/live/talk.mjs";
import { Scribe } from "./support/live/texts.mjs";
import { conversation } from "./support/transcripts.mjs";

const { findCutPoint } = await codingAgents["0.74.2"]();

const PLAIN = { scale: 1, basePrompt: 1000 };

test("a message changed in place has another size once the provider was told", () => {
  const provider = new Provider(PLAIN);
  const scribe = new Scribe();
  const [result] = scribe.results(scribe.asks(), 100);
  const before = provider.tokensOf(result);
  result.content[0].text += " and more";
  assert.equal(provider.tokensOf(result), before);
  provider.forget(result);
  assert.equal(provider.tokensOf(result), before + 2);
});

test("a prefix cache reads what is unchanged, a breakpoint cache whole requests, and both forget", () => {
  const scribe = new Scribe();
  const messages = Array.from({ length: 6 }, () => scribe.user(50));
  const edited = messages.with(3, scribe.user(50));
  const read = (cache, ...requests) => {
    const provider = new Provider({ ...PLAIN, cache });
    let last;
    for (const [sent, seconds] of requests)
      last = provider.receive(sent, { model: "m", timeMs: 1000 * seconds });
    return last.read;
  };
  const prompt = (count) => new Provider(PLAIN).promptOf(messages.slice(0, count));
  assert.equal(read("prefix", [messages, 0]), 0);
  assert.equal(read("prefix", [messages, 0], [messages, 300]), prompt(6));
  assert.equal(read("prefix", [messages, 0], [messages, 301]), 0);
  assert.equal(read("prefix", [messages, 0], [messages, 200], [messages, 500]), prompt(6));
  assert.equal(read("prefix", [messages, 0], [edited, 1]), prompt(3));
  assert.equal(read("prefix", [messages, 0], [structuredClone(messages), 1]), prompt(6));
  assert.equal(read("breakpoint", [messages, 0], [edited, 1]), prompt(0));
  assert.equal(read("breakpoint", [messages.slice(0, 2), 0], [messages, 1], [edited, 2]), prompt(2));
  assert.equal(read("none", [messages, 0], [messages, 1]), 0);
});

/** A conversation whose hook is `transform`, which may say what it wants. */
function talkWith(transform, settings = {}) {
  const makeHook = ({ onEvent }) => {
    let call = 0;
    return async (messages) => {
      const { sent = messages, ...said } = transform(messages, ++call) ?? {};
      for (const type of said.also ?? []) onEvent({ type });
      const { estimate: tokensAfter = 0, schedule = "sticky", reason = "waits: still cheaper" } = said;
      onEvent({ type: "transformed", tokensBefore: 0, tokensAfter, schedule, reason });
      return sent;
    };
  };
  return talk({ ...PLAIN, contextWindow: 20_000, ...settings }, {}, { makeHook, endsAtRefusal: false });
}

test("the judge sees a request over the window, and whether it was foreseen", async () => {
  const silent = await talkWith(() => undefined).calls(8, 4000);
  const spoken = await talkWith(() => ({ also: ["contextOverflow"] })).calls(8, 4000);
  const over = silent.filter(({ prompt }) => prompt > 20_000).length;
  assert.ok(over > 0);
  for (const verdicts of [silent, spoken])
    assert.equal(verdicts.filter(({ isRefused }) => isRefused).length, over);
  assert.equal(silent.filter(({ isUnreported }) => isUnreported).length, over);
  assert.equal(spoken.filter(({ isUnreported }) => isUnreported).length, 0);
});

test("the judge sees bytes that change while the schedule waits, and messages dropped for nothing", async () => {
  const drop = (messages) => [...messages.slice(0, 1), ...messages.slice(3)];
  const dropsAt4 = (reason) => (messages, call) =>
    call < 4 ? { reason } : { sent: drop(messages), reason, also: ["messagesDropped"] };
  const waiting = await talkWith(dropsAt4("waits: still cheaper")).calls(6, 100);
  assert.deepEqual(
    waiting.map(({ changed }) => changed),
    [0, 0, 0, 4, 0, 0],
  );
  assert.deepEqual(
    waiting.map(({ lost }) => lost),
    [0, 0, 0, 2, 2, 2],
  );
  const moving = await talkWith(dropsAt4("moved: over the threshold")).calls(6, 100);
  assert.ok(moving.every(({ changed }) => changed === 0));
});

test("the invariants name what is broken", async () => {
  const kinds = async (transform, settings) => {
    const { loop, calls } = talkWith(transform, settings);
    const invariants = new Invariants(loop);
    const broken = (await calls(9, 300)).flatMap((record) => invariants.check(record));
    return [...new Set(broken.map((what) => /^\w+/.exec(what)[0]))].sort();
  };
  const right = (messages) => ({ estimate: 1000 + countTokens(messages) + 4 * messages.length });
  assert.deepEqual(await kinds(right), []);
  assert.deepEqual(await kinds((messages) => ({ estimate: 1.06 * right(messages).estimate })), ["estimate"]);
  assert.deepEqual(await kinds((messages) => ({ ...right(messages), also: ["contextOverflow"] })), [
    "overflow",
  ]);
  assert.deepEqual(await kinds(right, { contextWindow: 2500 }), ["refused", "unreported"]);
  const orphan = (messages) => {
    const sent = messages.filter((_, at) => at !== 1);
    return { ...right(sent), sent, reason: "moved: anything" };
  };
  assert.deepEqual(await kinds(orphan), ["invalid"]);
  const cutOnce = (messages, call) => {
    const cut = { ...messages.at(-1), content: [{ type: "text", text: "cut" }] };
    const sent = call === 5 ? messages.with(-1, cut) : messages;
    return { ...right(sent), sent, reason: "moved: anything" };
  };
  assert.deepEqual(await kinds(cutOnce), ["newest", "regrown"]);
  const unasked = (messages) => ({
    ...right(messages.slice(1)),
    sent: messages.slice(1),
    reason: "moved: x",
  });
  assert.deepEqual(await kinds(unasked), ["invalid", "question"]);
});

test("the host compacts where pi does", () => {
  const roles = new Set(["user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary"]);
  for (let seed = 0; seed < 200; seed += 1) {
    const messages = conversation(seed, { length: 60 }).filter(({ role }) => roles.has(role));
    const entries = messages.map((message, at) => ({ type: "message", id: String(at), message }));
    for (const keep of [50, 400, 2000, 1e6]) {
      const { firstKeptEntryIndex } = findCutPoint(entries, 0, entries.length, keep);
      const [, ...kept] = compacted(messages, keep, { role: "compactionSummary", summary: "" });
      assert.deepEqual([seed, keep, kept.length], [seed, keep, messages.length - firstKeptEntryIndex]);
    }
  }
});
