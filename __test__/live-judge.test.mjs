// The judge of the closed loop, judged: it sees what a hook does wrong, and its host compacts as pi does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens } from "../index.js";
import { codingAgents } from "./coding-agent/pi.mjs";
import { compacted } from "./support/live/compaction.mjs";
import { Invariants } from "./support/live/invariants.mjs";
import { talk } from "./support/live/talk.mjs";
import { conversation } from "./support/transcripts.mjs";

const { findCutPoint } = await codingAgents["0.74.2"]();

const PLAIN = { scale: 1, basePrompt: 1000 };

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
  const warning = (messages) => ({ ...right(messages), also: ["contextOverflow"] });
  assert.deepEqual(await kinds(warning), ["overflow"]);
  assert.deepEqual(await kinds(right, { contextWindow: 2500 }), ["refused", "unreported"]);
  assert.deepEqual(await kinds(warning, { contextWindow: 2500 }), ["refused"]);
  const dropsAt = (reason) => (messages, call) => {
    const sent = call < 4 ? messages : [...messages.slice(0, 1), ...messages.slice(3)];
    return { ...right(sent), sent, reason, also: call < 4 ? [] : ["messagesDropped"] };
  };
  assert.deepEqual(await kinds(dropsAt("waits: still cheaper")), ["frozen", "lost", "newest"]);
  assert.deepEqual(await kinds(dropsAt("moved: over the threshold")), ["lost", "newest"]);
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
