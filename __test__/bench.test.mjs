// The benches play what the command line plays: one size, one count of calls, the same transcripts.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { findCutPoint } from "@earendil-works/pi-agent-core";
import { cutPoint, piCompaction, recordedCompactions } from "../bench/economy/compaction.mjs";
import { compare, compareTable } from "../bench/economy/compare.mjs";
import { liveLine, liveTable, replayLive, summarizeLive } from "../bench/live/calls.mjs";
import { summaryOf } from "../lib/cli/replay.mjs";
import { PRICES } from "../lib/cli/report/caches.mjs";
import { runOf } from "../lib/cli/report/run.mjs";
import { loadSession } from "../lib/cli/session.mjs";
import { EXAMPLE, RECORDING } from "./support/recording.mjs";
import { asPiFile, sessionWithTools } from "./support/session.mjs";

const folder = mkdtempSync(join(tmpdir(), "pi-strata-bench-"));
after(() => rmSync(folder, { recursive: true }));

const SETTING = { contextWindow: 200_000, prices: PRICES };
const named = (calls) => ({ name: `${calls} calls`, messages: sessionWithTools(calls) });

test("the economy bench compares policies per session and over all, and follows the prices", async () => {
  const sessions = [named(3), named(30)];
  const rows = await compare(sessions, SETTING);
  const row = (session, policy) => rows.find((r) => r.session === session && r.policy === policy);
  const [small, large, all] = ["3 calls", "30 calls", "all"].map((session) => row(session, "everyCall"));
  assert.equal(all.calls, small.calls + large.calls);
  assert.ok(Math.abs(all.dollars.prefix - small.dollars.prefix - large.dollars.prefix) < 2e-6);
  assert.equal(row("30 calls", "no compression").recall, 1);
  assert.ok(large.tokens < row("30 calls", "no compression").tokens);

  const doubledPrices = { input: 10, read: 1, write: 12.5, ttlSeconds: 300 };
  const doubled = await compare([sessions[1]], { ...SETTING, prices: doubledPrices });
  const plain = rows.filter(({ session }) => session === "30 calls");
  for (const [i, { policy, dollars }] of plain.entries()) {
    assert.ok(Math.abs(doubled[i].dollars.prefix - 2 * dollars.prefix) < 2e-6, policy);
  }
  const cold = await compare([sessions[1]], { ...SETTING, prices: { ...PRICES, ttlSeconds: 0 } });
  assert.equal(cold[0].hitRate, 0);
  const table = compareTable(plain);
  const parts = table.split("\n\n").slice(0, -1);
  for (const part of parts) assert.equal(part.split("\neveryCall ").length, 2, part);
  assert.match(table, /^\$ prefix +\S/m, "a legend");
  for (const { tokens, peak, dollars } of rows) {
    assert.ok(Number.isInteger(tokens) && Number.isInteger(peak));
    assert.match(String(dollars.prefix), /^\d+(\.\d{1,6})?$/, "no noise of floating point");
  }
});

test("replay and economy bench tell one size, one count of calls, and one of calls over the window", async () => {
  const contextWindow = 3000;
  const path = join(folder, "one-scale.jsonl");
  writeFileSync(path, asPiFile(sessionWithTools(20)));
  for (const file of new Set([path, EXAMPLE, RECORDING])) {
    const run = await runOf(await loadSession(file), { ...SETTING, contextWindow, schedule: "auto" });
    const { calls, tokensSent, peakTokens, callsOverWindow } = summaryOf(run);
    const rows = await compare([{ name: file, messages: await loadSession(file) }], {
      ...SETTING,
      contextWindow,
    });
    const none = rows.find(({ policy }) => policy === "no compression");
    assert.deepEqual(
      [none.calls, none.tokens, none.peak, none.overflows],
      [calls, tokensSent.before, peakTokens.before, callsOverWindow.before],
    );
  }
});

test("the benches play the calls before a recorded compaction, too", async () => {
  const lines = asPiFile(sessionWithTools(10)).trimEnd().split("\n");
  const compaction = { type: "compaction", summary: "earlier", firstKeptEntryIndex: 9, tokensBefore: 1 };
  lines.splice(12, 0, JSON.stringify(compaction));
  const path = join(folder, "compacted.jsonl");
  writeFileSync(path, lines.join("\n"));
  const session = await loadSession(path);
  const before = session.calls.map((call) => session.messagesBefore(call).length);
  const live = await reportsOf(session, { contextWindow: 200_000 });
  assert.deepEqual(
    live.map(({ messagesBefore }) => messagesBefore),
    before,
  );
  assert.match(liveTable(session, summarizeLive(live)), /^recorded compactions +1$/m);
  for (const { policy, calls } of await compare([{ name: "a", messages: session }], SETTING))
    assert.equal(calls, before.length, policy);
});

test("the live bench says what was sent, believed and reported", async () => {
  const path = join(folder, "live.jsonl");
  writeFileSync(path, asPiFile(sessionWithTools(30)));
  const session = await loadSession(path);
  const calls = await reportsOf(session, { contextWindow: 9000, basePrompt: 2000 });
  assert.equal(calls.length, 31);
  assert.ok(calls[0].tokensSent > 2000 && calls[0].tokensSent < 2100);
  const summary = summarizeLive(calls);
  assert.equal(summary.calls, 31);
  assert.ok(summary.tokensSent < 31 * 9000 && summary.dollars > 0 && summary.cachedShare > 0);
  const [scaled] = await reportsOf(session, { contextWindow: 9000, basePrompt: 2000, scale: 2 });
  assert.ok(scaled.tokensSent > calls[0].tokensSent);
  assert.match(liveLine(calls[9]), /^ +10 +\d+ → \d+ /);
  assert.match(liveTable(session, summary), /^estimate off by +median .* %$/m);
});

async function reportsOf(session, provider) {
  const reports = [];
  for await (const report of replayLive(session, {}, provider)) reports.push(report);
  return reports;
}

test("pi's own compaction cuts where pi cuts, acts above the window less its reserve, and its call is paid", async () => {
  for (const file of new Set([EXAMPLE, RECORDING])) {
    const { messages } = await loadSession(file);
    const entries = messages.map((message) => ({ type: "message", message }));
    for (const keep of [500, 5000, 20_000, 60_000]) {
      const { firstKeptEntryIndex } = findCutPoint(entries, 0, entries.length, keep);
      assert.equal(cutPoint(messages, 0, keep), firstKeptEntryIndex, `${file}, ${keep}`);
    }
  }
  const session = { name: "example", messages: await loadSession(EXAMPLE) };
  const policies = { none: () => async (messages) => messages, pi: piCompaction };
  const rowsAt = (contextWindow) => compare([session], { ...SETTING, contextWindow, policies });
  const [none, idle] = await rowsAt(200_000);
  assert.deepEqual({ ...idle, policy: "none" }, none);
  const [, acting] = await rowsAt(100_000);
  // At the call after our first batch a recording's report may be read as that of what was sent: one estimate is high.
  assert.ok(acting.overflows <= 1 && acting.toolRecall < 1 && acting.userText < 1);
  assert.ok(acting.tokens < 0.75 * none.tokens);
  const policy = piCompaction({ contextWindow: 100_000, prices: PRICES });
  await compare([session], { ...SETTING, contextWindow: 100_000, policies: { pi: () => policy } });
  assert.ok(policy.dollarsApart() > 0.01);
});

test("recorded compactions come where they came, with what they kept", async () => {
  const message = (text) => ({ role: "user", content: text });
  const messages = Array.from("abcdef", message);
  const compactions = [
    { at: 2, opening: [message("S"), message("b")], isCached: true },
    { at: 4, opening: [message("T")], isCached: false },
  ];
  const policy = recordedCompactions({ prices: PRICES, compactions });
  const sent = [];
  for (let end = 1; end <= messages.length; end += 1)
    sent.push((await policy(messages.slice(0, end))).map(({ content }) => content).join(""));
  assert.deepEqual(sent, ["a", "Sb", "Sbc", "T", "Te", "Tef"]);
  assert.ok(policy.dollarsApart() > 0);
});
