// The extension in a host with pi 1.5's events and data: the prices, windows and price steps of its catalogue count from
// the first call on, and what the catalogue or the user got wrong costs one clear line.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ledger } from "pi-strata/ledger";
import { countTokens, validate } from "../index.js";
import { createExtension, shrink } from "../pi-extension/index.mjs";
import { termsOf } from "../pi-extension/model.mjs";
import { FakePi, MODELS } from "./support/fake-pi.mjs";
import { image, result } from "./support/messages.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const folder = temporaryFolder("host");
process.env.PI_CODING_AGENT_DIR = folder;
process.env.LC_ALL = "C";

const WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda".split(" ");

/** What a value that is missing looks like. */
const NOTHING = /undefined|NaN|Infinity/;

/** `lines` lines of names that are of no use later. */
function output(seed, lines) {
  return Array.from(
    { length: lines },
    (_, i) => `${WORDS[(seed + i) % WORDS.length]} ${seed}/${i} ${(seed * 7919 + i * 104_729) % 99_991}`,
  ).join("\n");
}

/** A pi with the extension, and with these settings of the user's. */
function installed(options, { strata, images, ...how } = {}) {
  writeFileSync(join(folder, "settings.json"), JSON.stringify({ strata, images }));
  return new FakePi(createExtension(options), { model: MODELS.opus, ...how });
}

/** A session of `count` calls with results of `lines` lines, each seconds after the last. */
async function play(pi, count, lines) {
  await pi.start();
  let time = Date.UTC(2026, 10, 1);
  pi.add({ role: "user", content: "Look at everything, one after the other.", timestamp: time });
  for (let i = 0; i < count; i += 1) {
    time += 8_000;
    const call = { type: "toolCall", id: `c${i}`, name: "bash", arguments: { command: `\nshow ${i}` } };
    await pi.call({ role: "assistant", content: [call], timestamp: time });
    time += 1_000;
    pi.add(result(`c${i}`, output(i, lines), { toolName: "bash", timestamp: time }));
  }
  return pi;
}

test("images that pi does not send to the model do not count, and go again after a switch", async () => {
  const counted = [];
  const onEvent = ({ type, tokensBefore }) => type === "transformed" && counted.push(tokensBefore);
  const messages = [{ role: "user", content: "Look." }];
  for (let i = 0; i < 40; i += 1) {
    const call = { type: "toolCall", id: `c${i}`, name: "read", arguments: { path: `${i}.png` } };
    messages.push({ role: "assistant", content: [call] }, result(`c${i}`, [image]));
  }
  const [seeing, blind] = [["text", "image"], ["text"]].map((input) => ({ ...MODELS.glm, input }));
  const pi = installed({ onEvent }, { model: seeing });
  await pi.start();
  for (const model of [seeing, blind, seeing]) {
    pi.model = model;
    await pi.emit("context", { messages });
  }
  const blocked = installed({ onEvent }, { model: seeing, images: { blockImages: true } });
  await blocked.start();
  await blocked.emit("context", { messages });
  const [all, none, again, withheld] = counted;
  assert.ok(all > 40_000 && again > 40_000, `${counted}`);
  assert.ok(none < 2_000 && withheld < 2_000, `${counted}`);
});

test("/strata show names every row, also answers without a word", async () => {
  const pi = installed({ schedule: "everyCall", contextWindow: 6_000 });
  const failed = { stopReason: "error", errorMessage: "529 overloaded" };
  for (const [timestamp, message] of [
    { role: "user", content: "Begin." },
    { role: "assistant", content: [], stopReason: "aborted" },
    { role: "user", content: "Again." },
    { role: "assistant", content: [], ...failed },
    { role: "bashExecution", command: "make", output: "done" },
  ].entries())
    pi.add({ ...message, timestamp });
  await play(pi, 14, 30);
  const rows = (await pi.command("show")).split("\n\n")[0].split("\n").slice(1);
  assert.match(rows.join("\n"), /^1 +assistant: \(empty, aborted\) +left out/m);
  assert.match(rows.join("\n"), /assistant: 529 overloaded +left out/);
  assert.match(rows.join("\n"), /bashExecution: make… +left out/);
  for (const row of rows)
    assert.match(row, /^\d+ +\S+ [^\s…].* {2,}(left out|shortened|cut to its ends)/, row);
});

test("the catalogue's prices, window and steps are the hook's", () => {
  const near = (value) => Number(value.toPrecision(6));
  const long = { PI_CACHE_RETENTION: "long" };
  for (const [model, env, contextWindow, maxPromptTokens, ...prices] of [
    [MODELS.haiku, {}, 1_000_000, 98_000, 0.1, 1.25, 300],
    [MODELS.haiku, long, 1_000_000, 98_000, 0.1, 2, 3600],
    [MODELS.gpt, {}, 1_050_000, 266_560, 0.05, 1.25, undefined],
    [MODELS.glm, {}, 1_048_576, undefined, 0.185714, 1, undefined],
    [MODELS.local, {}, 65_536, undefined],
    [undefined, {}, 200_000, undefined],
  ]) {
    const terms = termsOf(model, { enabled: false }, { env });
    assert.equal(terms.contextWindow, contextWindow);
    assert.equal(terms.maxPromptTokens, maxPromptTokens);
    const { cache } = terms;
    assert.deepEqual(cache ? [near(cache.read), near(cache.write), cache.ttlSeconds] : [], prices);
  }
});

test("a long life of the cache is the one that pi asks for", () => {
  const env = { PI_CACHE_RETENTION: "long" };
  for (const [compat, seconds] of [
    [undefined, 86_400],
    [{ supportsExplicitPromptCacheMode: true }, 1_800],
    [{ supportsLongCacheRetention: false }, 600],
  ]) {
    const model = { ...MODELS.gpt, promptCache: { short: 600 }, compat };
    assert.equal(termsOf(model, undefined, { env }).cache.ttlSeconds, seconds);
  }
});

test("a step that costs less to cross than to stay below is crossed", () => {
  const model = (factor) => {
    const tier = { inputTokensAbove: 32_000, input: 0.5 * factor, cacheRead: 0.05 * factor };
    return { contextWindow: 256_000, cost: { input: 0.5, cacheRead: 0.05, cacheWrite: 0, tiers: [tier] } };
  };
  assert.equal(termsOf(model(1.25), { enabled: false }).maxPromptTokens, undefined);
  assert.equal(termsOf(model(3)).maxPromptTokens, 31_360);
});

test("a model without a price of cache reads has its price steps, and the panel names them", async () => {
  const tiers = [{ inputTokensAbove: 272_000, input: 60, output: 270, cacheRead: 0, cacheWrite: 0 }];
  const model = { ...MODELS.gpt, cost: { input: 30, output: 180, cacheRead: 0, cacheWrite: 0, tiers } };
  const { maxPromptTokens, cache } = termsOf(model, { enabled: false });
  assert.deepEqual([maxPromptTokens, cache], [266_560, undefined]);
  const panel = await (await play(installed({}, { model }), 3, 20)).command("");
  assert.match(panel, /: \$30 a million tokens of input, the cache's are learned; × 2 above 272,000, so /);
});

test("requests stay below pi's trigger where that leaves half of the window, else its compaction is declined", () => {
  const modelOverrides = { "p/m": { reserveTokens: 2_000 } };
  for (const [window, compaction, ...expected] of [
    [60_000, undefined, 41_843, 43_616, false],
    [60_000, null, 41_843, 43_616, false],
    [32_768, undefined, 15_156, 16_384, false],
    [32_000, undefined, undefined, 15_616, true],
    [16_000, undefined, undefined, -384, true],
    [32_000, { reserveTokens: 4_000 }, 26_540, 28_000, false],
    [32_000, { reserveTokens: "many" }, undefined, 15_616, true],
    [32_000, { reserveTokens: 4_000, modelOverrides }, 28_500, 30_000, false],
    [32_000, { enabled: false }, undefined, undefined, false],
  ]) {
    const model = { contextWindow: window, provider: "p", id: "m" };
    const { maxPromptTokens, compactsAbove, declines } = termsOf(model, compaction);
    assert.deepEqual([maxPromptTokens, compactsAbove, declines], expected);
  }
});

test("a compaction after a refusal, a paused extension or overflow: keep is pi's, a needless one is declined", async () => {
  const how = { model: { ...MODELS.local, contextWindow: 16_000 }, overheadTokens: 2_000 };
  for (const [options, command, reason, compactions] of [
    [{}, "", "overflow", 1],
    [{}, "", "manual", 1],
    [{}, "", "threshold", 0],
    [{ overflow: "keep" }, "", "threshold", 1],
    [{}, "pause", "threshold", 1],
  ]) {
    const pi = await play(installed(options, how), 4, 40);
    await pi.command(command);
    await pi.compact(reason);
    assert.equal(pi.compactions, compactions, reason);
  }
});

test("the limit that a refusal named is shown, and holds until a larger prompt is accepted", async () => {
  const model = { ...MODELS.local, contextWindow: 200_000 };
  const pi = await play(installed({}, { model, overheadTokens: 2_000 }), 20, 60);
  const errorMessage =
    "400 request (40000 tokens) exceeds the available context size (16384 tokens), try increasing it";
  const { api, provider, id } = model;
  const refusal = { role: "assistant", content: [], stopReason: "error", errorMessage, api, provider };
  pi.add({ ...refusal, model: id, timestamp: Date.UTC(2026, 10, 2) });
  for (let i = 0; i < 2; i += 1) await pi.emit("context", { messages: structuredClone(pi.messages) });
  assert.match(
    await pi.command(""),
    /^The server refused a request as too long: its window counts as 16,384 tokens instead of 200,000\.$/m,
  );
  const status = await pi.command("status");
  assert.match(status, /^contextWindow +16384 +a refusal$/m);
  assert.match(status, /^reserveTokens +4096 +default$/m);
  // Its server was started again, with a larger window.
  const usage = { input: 20_000, output: 5, cacheRead: 0, cacheWrite: 0, totalTokens: 20_005 };
  const accepted = { ...refusal, stopReason: "stop", errorMessage: undefined, model: id, usage };
  pi.add({ ...accepted, timestamp: Date.UTC(2026, 10, 3) });
  await pi.emit("context", { messages: structuredClone(pi.messages) });
  assert.match(await pi.command("status"), /^contextWindow +200000 +pi's catalogue$/m);
});

test("a virtual model has the limits and the prices of the model that answered last", async () => {
  const pi = await play(installed({}, { model: MODELS.haiku }), 3, 20);
  pi.model = { provider: "router", id: "auto", api: "pi-virtual", contextWindow: 0, cost: MODELS.local.cost };
  assert.match(await pi.command("status"), /^contextWindow +1000000 +pi's catalogue$/m);
  assert.match(
    await pi.command(""),
    /^Prices of anthropic\/claude-haiku-5-5: \$0\.1 a million.*stay below 98,000/m,
  );
});

test("a handler that finds its context stale after waiting ends quietly", async () => {
  const pi = await play(installed(), 8, 60);
  const warming = { action: "warm", warmCost: 1, missCost: 2, continuationProbability: 1 };
  const late = [
    pi.emit("context", { messages: structuredClone(pi.messages) }),
    pi.emit("session_before_compact", { reason: "threshold", preparation: { messagesToSummarize: [] } }),
    pi.emit("cache_warming_decision", warming),
    pi.command("show"),
    pi.command("now"),
    pi.command(""),
  ];
  pi.replaceSession();
  await Promise.all(late);
  await pi.emit("session_shutdown");
});

test("after a restart the panel and the list of cuts are there before the first request", async () => {
  const before = await play(installed({ schedule: "everyCall" }), 12, 60);
  const after = installed({ schedule: "everyCall" });
  after.entries = before.entries;
  await after.start();
  const panel = await after.command("");
  assert.match(panel, /^No request since pi started\. The next one would hold about [\d,]+ tokens/);
  assert.ok(panel.includes(`\nThis session: pi has counted $${before.dollars.toFixed(3)}.`), panel);
  assert.doesNotMatch(panel, /Since pi started: /);
  assert.match(await after.command("show"), /^1 +bash show 0 +shortened/m);
});

test("/strata pause warns where the whole list has no room", async () => {
  const model = { ...MODELS.local, contextWindow: 16_000 };
  const small = await play(installed({}, { model, overheadTokens: 2_000 }), 2, 20);
  assert.doesNotMatch(await small.command("pause"), /Whole/);
  const large = await play(installed({}, { model, overheadTokens: 2_000 }), 30, 40);
  assert.match(
    await large.command("pause"),
    /^pi-strata paused: .* Unedited, the conversation has about [\d,]+ tokens, but there is room for 12,000: pi compacts it, or the provider refuses it\.$/,
  );
});

test("every row of a long list can be reached, and an original opens at its top", async () => {
  const pi = await play(installed({ schedule: "everyCall" }), 70, 60);
  const seen = [];
  for (let command = "show"; command !== undefined && seen[0] !== 1; ) {
    const text = await pi.command(command);
    const rows = Array.from(text.matchAll(/^(\d+) +bash show/gm), ([, nth]) => Number(nth));
    assert.ok(rows.length > 0, text);
    seen.unshift(...rows);
    command = /More: \/strata (show \d+-\d+)/.exec(text)?.[1];
  }
  const every = Array.from({ length: 63 }, (_, at) => at + 1);
  assert.deepEqual(seen, every);
  const reading = pi.command("show 1");
  const screen = await pi.reader();
  const [title, , first] = screen.lines();
  assert.match(title, /^ bash show 0: shortened, old tool result$/);
  const original = pi.messages.find(({ role }) => role === "toolResult").content[0].text.split("\n");
  assert.equal(first.trim(), original[0]);
  screen.press("pageDown");
  assert.notEqual(screen.lines()[2].trim(), original[0]);
  for (let i = 0; i < 20; i += 1) screen.press("pageDown");
  assert.equal(screen.lines().at(-3).trim(), original.at(-1));
  screen.press("cancel");
  assert.equal(await reading, "");
  const range = await pi.command("show 1-3");
  assert.match(range, /^Cuts 1 to 3 of 63, oldest first\. More: \/strata show 4-43\.$/m);
  const [, handle] = /^2 +bash show 1 .* ([0-9a-f]{8})$/m.exec(range);
  const byHandle = pi.command(`show ${handle}`);
  assert.match((await pi.reader()).lines()[0], /^ bash show 1: shortened/);
  (await pi.reader()).press("cancel");
  await byHandle;
  assert.match(await pi.command("show 99"), /There is no cut 99/);
});

test("from the first call on no request is above a price step that could be avoided, and the bill is the host's", async () => {
  for (const name of ["haiku", "gpt", "glm"]) {
    const model = MODELS[name];
    const pi = await play(installed({}, { model }), 120, 220);
    const step = model.cost.tiers?.[0].inputTokensAbove ?? Number.POSITIVE_INFINITY;
    const above = pi.calls.filter(({ prompt }) => prompt > step);
    assert.equal(above.length, 0, `${name}: ${above.length} of ${pi.calls.length} calls above ${step}`);
    const uncut = await play(new FakePi(undefined, { model }), 120, 220);
    assert.ok(uncut.calls.at(-1).prompt > 300_000 && pi.dollars < uncut.dollars, name);
    const { dollars } = await ledger(pi.messages);
    const isClose = Math.abs(dollars.billed / pi.dollars - 1) < 0.01;
    assert.ok(isClose, `${name}: ${dollars.billed} and ${pi.dollars}`);
    const panel = await pi.command("");
    assert.ok(panel.includes(`This session: pi has counted $${pi.dollars.toFixed(3)}.`), panel);
    assert.ok(panel.includes(`\nPrices of ${model.provider}/${model.id}: $`), panel);
    for (const told of [
      /^Without pi-strata this conversation would have cost about \$\d+\.\d{3} more\.$/m,
      /^Since pi started the provider's cache missed (once|\d+ times): \d+ × (an edit by the hook|the provider itself|the entry had expired)/m,
    ])
      assert.match(panel, told);
    assert.doesNotMatch(panel, NOTHING);
  }
});

test("cache misses and their causes outlive a compaction", async () => {
  const pi = await play(installed({ contextWindow: 30_000 }), 60, 60);
  const misses = async () => /cache missed .*/.exec(await pi.command(""))[0];
  const before = await misses();
  assert.match(before, /an edit by the hook/);
  const summary = { role: "compactionSummary", summary: "Much was read.", timestamp: Date.UTC(2026, 10, 1) };
  pi.entries.splice(0, 100, { type: "message", id: "summary", message: summary });
  await pi.emit("context", { messages: structuredClone(pi.messages) });
  assert.equal(await misses(), before);
});

test("without the catalogue's steps the same session passes one", async () => {
  const options = { maxPromptTokens: 1_000_000, economy: 100_000 };
  const pi = await play(installed(options, { model: MODELS.haiku }), 120, 220);
  assert.ok(pi.calls.some(({ prompt }) => prompt > 100_000));
});

test("a silent server of the user's own is within its window, and nobody names a price", async () => {
  const pi = await play(installed({}, { model: MODELS.local, isSilent: true }), 60, 120);
  assert.ok(pi.calls.every(({ prompt }) => prompt <= MODELS.local.contextWindow));
  const panel = await pi.command("");
  assert.match(
    panel,
    /^Prices of local\/qwen-on-this-machine: pi's catalogue names none; they are learned from the bills\.$/m,
  );
  assert.match(panel, /^This session: –, as pi has counted no dollars\.$/m);
  assert.doesNotMatch(panel, NOTHING);
});

test("what a catalogue entry gets wrong is left out, and the defaults hold", async () => {
  const { haiku } = MODELS;
  const [tier] = haiku.cost.tiers;
  const dearer = { ...tier, inputTokensAbove: 200_000, input: 1, cacheRead: 0.1 };
  const tiers = (list) => ({ ...haiku, cost: { ...haiku.cost, tiers: list } });
  for (const [name, model, told, cap] of [
    ["no cost", { ...haiku, cost: undefined }, /names none/],
    ["zero cost", { ...haiku, cost: MODELS.local.cost }, /names none/],
    ["cost of the wrong kind", { ...haiku, cost: "cheap" }, /names none/],
    ["tiers out of order", tiers([dearer, tier]), /stay below 98,000\.$/m, 98_000],
    ["tiers that are none", tiers([null, { inputTokensAbove: -1 }, tier]), /stay below 98,000\.$/m, 98_000],
    ["tiers of the wrong kind", tiers(7), /writes × 1\.25\.$/m],
    ["no window", { ...haiku, contextWindow: 0 }, /window of 200,000/, 98_000],
    ["no model", undefined, /Prices of unknown\/model/],
  ]) {
    assert.equal(termsOf(model, { enabled: false }).maxPromptTokens, cap, name);
    const pi = await play(installed({}, { model: haiku }), 3, 50);
    pi.model = model;
    await pi.emit("context", { messages: structuredClone(pi.messages) });
    const panel = await pi.command("");
    assert.match(panel, told, name);
    assert.doesNotMatch(panel, NOTHING, name);
  }
});

test("shrink leaves a fork that fits, and nothing where nothing has to go", async () => {
  const pi = await play(new FakePi(undefined, { model: MODELS.opus }), 40, 200);
  const messages = pi.messages.map((message) => ({ ...message, usage: undefined }));
  for (const tokens of [60_000, 20_000, 5_000]) {
    const fork = await shrink(messages, tokens);
    assert.ok(
      countTokens(fork) <= tokens && countTokens(fork) > 0.4 * tokens,
      `${countTokens(fork)} of ${tokens}`,
    );
    assert.deepEqual(validate(fork), []);
  }
  assert.equal(await shrink(messages, 1_000_000), messages);
});

test("shrink rejects for what it cannot shrink", async () => {
  const calls = { role: "assistant", content: null, tool_calls: [{ id: "1", type: "function" }] };
  for (const list of [undefined, 5, "text", [5], [null], [[]], [{ role: 5 }], [calls]])
    await assert.rejects(shrink(list, 100), { name: "TypeError", message: /^shrink: / });
  await assert.rejects(shrink([], 0), /^TypeError: shrink: tokens is 0; it must be a finite number above 0$/);
  await assert.rejects(shrink([], 9, { marker: 1 }), /^TypeError: shrink: option marker is 1/);
  const unreadable = Object.defineProperty({ role: "user" }, "content", {
    get() {
      throw new Error("no");
    },
  });
  await assert.rejects(shrink([unreadable], 100), { code: "ERR_INTERNAL", message: /^shrink: / });
});
