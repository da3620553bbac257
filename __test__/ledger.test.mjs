// The ledger against a provider that knows the true bill: what it reads back from usage must be what that one charged,
// its misses those that happened, for the causes there were, and the bill without the hook that of a loop without one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Bill, ledger, rowOf } from "pi-strata/ledger";
import { createTransformContext } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";
import { fieldsOf } from "./support/fields.mjs";
import { Loop, play } from "./support/live/loop.mjs";
import { Provider } from "./support/live/provider.mjs";
import { sharedHook, talk } from "./support/live/talk.mjs";
import { Scribe } from "./support/live/texts.mjs";
import { EXAMPLE } from "./support/recording.mjs";
import { dice } from "./support/transcripts.mjs";

const HOUR = 3_600_000;
const WINDOW = 64_000;

/** What was said in a session of `calls` calls; now and then an hour passes, or another model answers. */
function conversation(seed, calls, { pauses = 25, switches = 0 } = {}) {
  const roll = dice(seed);
  const scribe = new Scribe();
  const messages = [scribe.user(50)];
  for (let call = 0; call < calls; call += 1) {
    if (pauses > 0 && roll(pauses) === 0) scribe.now += HOUR;
    if (switches > 0 && roll(switches) === 0)
      scribe.model = scribe.model === "model-a" ? "model-b" : "model-a";
    if (roll(12) === 0) messages.push(scribe.says(100), scribe.user(60));
    const asks = scribe.asks(1, { says: roll(40) });
    messages.push(asks, ...scribe.results(asks, 100 + roll(1500)));
  }
  messages.push(scribe.says(50));
  return messages;
}

/** Plays it; the records of all calls, and the list with the usage of what was really sent. */
async function live(said, { settings, options, makeHook }) {
  const loop = new Loop(new Provider({ contextWindow: WINDOW, basePrompt: 4000, ...settings }), options, {
    makeHook,
  });
  const records = [];
  for await (const record of play(said, loop)) records.push(record);
  return { records, messages: loop.messages };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const isClose = (one, other, share) =>
  Math.abs(one - other) <= share * Math.max(Math.abs(one), Math.abs(other));

const brief = (misses) => misses.map(({ call, cause, tokens }) => ({ call, cause, tokens }));

/** The misses there were, by what the provider and the loop know. */
function trueMisses(records, messages) {
  const answers = messages.flatMap((message, at) => (message.role === "assistant" && at > 0 ? [at] : []));
  const byModel = new Map();
  let latest;
  return records.flatMap((record, at) => {
    const { model, prompt, readTokens, before, unchanged } = record;
    const timeMs = messages[answers[at] - 1].timestamp;
    for (const last of byModel.values()) last.isEdited ||= unchanged < before.length;
    const own = byModel.get(model);
    const readable = Math.min((own ?? latest)?.prompt ?? 0, prompt);
    const tokens = readable - readTokens;
    const cause = causeOf(own, timeMs);
    latest = { prompt, timeMs, isEdited: false };
    byModel.set(model, latest);
    return tokens >= Math.max(1024, 0.05 * readable) ? [{ call: at + 1, cause, tokens }] : [];
  });
}

function causeOf(own, timeMs) {
  if (own === undefined) return "model";
  if (timeMs - own.timeMs > 300_000) return "expired";
  return own.isEdited ? "hook" : "provider";
}

for (const cache of ["prefix", "breakpoint"]) {
  for (const schedule of ["sticky", "everyCall", "auto"]) {
    test(`the bill of a live session, read back: ${cache} cache, ${schedule}`, async () => {
      const said = conversation(7, 160, { pauses: 30, switches: 60 });
      const options = { contextWindow: WINDOW, schedule };
      const { records, messages } = await live(said, { settings: { cache }, options });
      const settings = { cache, contextWindow: 1_000_000 };
      const whole = await live(said, { settings, makeHook: () => (list) => list });
      const book = await ledger(messages, options);
      const bill = (of) => sum(of.records.map(({ usage }) => usage.cost.total));
      assert.equal(book.calls, records.length);
      assert.ok(isClose(book.dollars.billed, bill({ records }), 1e-9), `billed ${book.dollars.billed}`);
      assert.equal(book.dollars.estimated, 0);
      const [read, sent] = ["readTokens", "prompt"].map((key) => sum(records.map((record) => record[key])));
      assert.ok(isClose(book.hitRate, read / sent, 1e-9));
      const expected = trueMisses(records, messages);
      for (const wanted of ["hook", "expired"]) assert.ok(expected.some(({ cause }) => cause === wanted));
      assert.deepEqual(brief(book.misses), brief(expected));
      const { withoutHook } = book.dollars;
      assert.ok(isClose(withoutHook, bill(whole), 0.02), `${withoutHook} without the hook`);
      const over = whole.records.filter(({ prompt }) => prompt > WINDOW).length;
      assert.ok(over > 0 && isClose(book.callsOverWindow, over, 0.02), `${book.callsOverWindow} of ${over}`);
      const moved = sum(book.moves.map(({ saved, cost }) => saved - cost));
      assert.ok(isClose(moved, book.dollars.saved, 1e-6), `${moved} of ${book.dollars.saved}`);
      assert.ok(book.moves.length > 0 && book.editedCalls > 0);
    });
  }
}

test("where the hook was not at work, nothing is put down to it", async () => {
  const said = conversation(5, 200, { pauses: 40 });
  const settings = { contextWindow: 1_000_000 };
  const { records, messages } = await live(said, { settings, makeHook: () => (list) => list });
  const book = await ledger(messages, { contextWindow: WINDOW, schedule: "sticky" });
  assert.ok(isClose(book.dollars.billed, sum(records.map(({ usage }) => usage.cost.total)), 1e-9));
  assert.equal(book.dollars.withoutHook, book.dollars.billed);
  assert.deepEqual([book.moves, book.editedCalls], [[], 0]);
  assert.deepEqual([...new Set(book.misses.map(({ cause }) => cause))], ["expired"]);
});

test("a miss is reported once, when the usage that shows it arrives", async () => {
  const said = conversation(7, 120, { pauses: 20 });
  const options = { contextWindow: WINDOW, schedule: "sticky" };
  const { records, messages } = await live(said, { options });
  const events = records.flatMap(({ call, events }) =>
    events.filter(({ type }) => type === "cacheMiss").map((event) => ({ ...event, call: call - 1 })),
  );
  const { misses } = await ledger(messages.slice(0, -1), options);
  assert.ok(events.length >= 3);
  assert.deepEqual(brief(events), brief(misses));
  for (const [at, { dollars }] of events.entries()) assert.ok(isClose(dollars, misses[at].dollars, 1e-3));
});

const missesOf = (records) =>
  records.flatMap(({ events }) => events).filter(({ type }) => type === "cacheMiss");

for (const [what, change] of [
  ["changes its first message", ([, ...rest], by) => [by.user(50), ...rest]],
  ["puts a message before all", (list, by) => [by.user(50), ...list]],
  ["cuts its list at the front", (list) => list.slice(4)],
  [
    "compacts to a summary and the newest messages",
    (list, by) => [by.summary(500, 30_000), ...list.slice(-9)],
  ],
  ["compacts to a summary", (_, by) => [by.summary(500, 30_000), by.user(2000)]],
]) {
  for (const view of [(list) => list, structuredClone]) {
    test(`a host that ${what} is told what it costs, by ${view === structuredClone ? "copies" : "its objects"}`, async () => {
      const { calls, rewrite } = talk({ basePrompt: 4000 }, {}, { view });
      const records = await calls(8, 900);
      for (let turn = 0; turn < 4; turn += 1) {
        rewrite(change);
        records.push(...(await calls(3, 900)));
      }
      const unread = ({ prompt, readTokens }, at) => Math.min(prompt, records[at].prompt) - readTokens;
      const missed = records
        .slice(1)
        .map(unread)
        .filter((tokens) => tokens >= 1024);
      assert.equal(missed.length, 4);
      assert.deepEqual(
        fieldsOf(missesOf(records), "cause", "tokens"),
        missed.map((tokens) => ["host", tokens]),
      );
    });
  }
}

test("of two lists that go on beside each other, none is told of the other's cost", async () => {
  const makeHook = sharedHook(createTransformContext);
  const scribe = new Scribe();
  const main = talk({ basePrompt: 4000 }, {}, { scribe, makeHook });
  await main.calls(8, 900);
  const opening = (by) => [by.user(50), ...main.loop.messages.slice(1)];
  const other = talk({ basePrompt: 4000 }, {}, { scribe, makeHook, opening });
  const records = [];
  for (let turn = 0; turn < 4; turn += 1) records.push(await other.call(900), await main.call(900));
  assert.deepEqual(missesOf(records), []);
  scribe.now += HOUR;
  records.push(...(await main.calls(3, 900)));
  assert.deepEqual(fieldsOf(missesOf(records), "cause"), ["expired"]);
});

test("a conversation that waits for an agent with the end of its list is told of its own miss", async () => {
  const makeHook = sharedHook(createTransformContext);
  const scribe = new Scribe();
  const main = talk({ basePrompt: 4000 }, {}, { scribe, makeHook });
  await main.calls(8, 900);
  const opening = () => main.loop.messages.slice(-4);
  await talk({ basePrompt: 4000 }, {}, { scribe, makeHook, opening }).calls(3, 900);
  scribe.now += HOUR;
  main.loop.messages.push(scribe.user(50));
  assert.deepEqual(fieldsOf(missesOf(await main.calls(3, 900)), "cause"), ["expired"]);
});

test("asking again for the same transcript reports no miss twice", async () => {
  const { messages } = await live(conversation(7, 60, { pauses: 4 }), { options: { schedule: "sticky" } });
  const events = [];
  const hook = createTransformContext({ schedule: "sticky", onEvent: (event) => events.push(event) });
  const end = messages.findLastIndex(({ usage }) => usage?.cacheRead === 0 && usage.cacheWrite > 5000) + 1;
  await hook(messages.slice(0, end - 3));
  await hook(messages.slice(0, end - 1));
  for (let time = 0; time < 3; time += 1) await hook(messages.slice(0, end));
  assert.equal(events.filter(({ type }) => type === "cacheMiss").length, 1);
});

test("a compaction is the host's change of the prefix", async () => {
  const { messages } = await live(conversation(9, 30, { pauses: 0 }), { options: {} });
  const scribe = new Scribe();
  scribe.now = messages.at(-1).timestamp;
  const opening = (by) => [by.summary(500, 30_000), ...messages.slice(-9), by.user(20)];
  const { calls, loop } = talk({ basePrompt: 4000 }, {}, { scribe, opening });
  await calls(3, 300);
  const { misses } = await ledger(loop.messages);
  assert.deepEqual(fieldsOf(misses, "cause"), ["host"]);
});

test("the bill of the example is the one that the documentation tells", async () => {
  const { dollars, misses } = await ledger((await loadSession(EXAMPLE)).messages);
  const page = readFileSync(new URL("../docs/how-it-works.md", import.meta.url), "utf8").replace(/\s+/g, " ");
  const [tokens, lost] = ["tokens", "dollars"].map((of) => sum(fieldsOf(misses, of)));
  const told = `\`dollars.billed\` is ${dollars.billed.toFixed(2)} with the answers. Three misses after a pause wrote ${tokens.toLocaleString("en-US")} tokens to the cache again, for $${lost.toFixed(2)}.`;
  assert.deepEqual(fieldsOf(misses, "cause"), ["expired", "expired", "expired"]);
  assert.ok(page.includes(told), told);
});

const priced = (messages, usageOf) =>
  messages.map((message, at) =>
    message.role === "assistant"
      ? { ...message, model: "claude-opus-4-5", usage: usageOf(message, at) }
      : message,
  );

test("costs of zero and absurd ones are no bill: prices that the host names stand in, else a dash", async () => {
  const { messages } = await live(conversation(2, 40, { pauses: 4 }), { options: {} });
  const told = await ledger(priced(messages, ({ usage }) => usage));
  assert.ok(told.dollars.billed > 0 && told.dollars.estimated === 0);
  for (const cost of [
    undefined,
    null,
    {},
    { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
    { input: -1, output: Number.NaN, cacheRead: 1e300, cacheWrite: Number.POSITIVE_INFINITY, total: 1e12 },
  ]) {
    const list = priced(messages, ({ usage }) => ({ ...usage, cost }));
    const unknown = await ledger(list);
    assert.deepEqual([unknown.dollars.billed, unknown.unpricedCalls], [undefined, unknown.calls]);
    assert.ok(unknown.tokens.prompt > 0 && unknown.misses.length > 0);
    assert.ok(unknown.misses.every(({ dollars }) => dollars === undefined));
    const named = await ledger(list, { prices: { input: 5 } });
    assert.ok(isClose(named.dollars.billed, told.dollars.billed, 1e-9), `${JSON.stringify(cost)}`);
    assert.deepEqual([named.dollars.estimated, named.unpricedCalls], [named.dollars.billed, 0]);
    assert.ok(named.misses.every(({ dollars }) => dollars > 0));
  }
  const totals = priced(messages, ({ usage }) => ({ ...usage, cost: { total: usage.cost.total } }));
  const { billed, estimated } = (await ledger(totals)).dollars;
  assert.ok(isClose(billed, told.dollars.billed, 1e-9) && estimated === 0);
});

test("a live bill of the hook's events is the bill read back", async () => {
  const said = conversation(7, 120, { pauses: 20, switches: 40 });
  const options = { contextWindow: WINDOW, schedule: "sticky" };
  const { records, messages } = await live(said, { options });
  const bill = new Bill({ contextWindow: WINDOW });
  const answers = messages.flatMap((message, at) => (message.role === "assistant" && at > 0 ? [at] : []));
  for (const [i, { events }] of records.entries()) {
    const sent = events.find(({ type }) => type === "transformed");
    bill.enter(rowOf(sent, messages[answers[i]], messages[answers[i] - 1].timestamp));
  }
  const withoutIndex = (rows) => rows.map(({ index, ...row }) => row);
  const { misses, moves, ...read } = await ledger(messages, options);
  const { misses: liveMisses, moves: liveMoves, ...told } = bill.report();
  assert.deepEqual(told, read);
  assert.deepEqual([liveMisses, liveMoves], [withoutIndex(misses), withoutIndex(moves)]);
  assert.deepEqual(bill.report().moves, liveMoves, "a report closes nothing");
});

test("tokens written for an hour cost twice the input, unless a bill has another price", () => {
  const dollarsOf = (usage, prices) =>
    new Bill({ prices }).enter({ model: "anthropic/claude-x", at: 0, usage: { cacheWrite: 1000, ...usage } })
      .dollars;
  for (const [cacheWrite1h, ratio] of [
    [undefined, 1.25],
    [Number.NaN, 1.25],
    [400, 1.55],
    [1000, 2],
    [9999, 2],
  ]) {
    assert.ok(isClose(dollarsOf({ cacheWrite1h }, { input: 5 }), 5e-3 * ratio, 1e-9));
    // The write's bill gives the price of input, and so that of what was read.
    const cost = { cacheWrite: 5e-3 * ratio };
    const bill = new Bill();
    const enter = (usage) => bill.enter({ model: "anthropic/claude-x", at: 0, usage }).input;
    enter({ cacheWrite: 1000, cacheWrite1h, cost });
    assert.ok(isClose(enter({ cacheRead: 1000 }), 5e-4, 1e-9));
  }
});

test("without sizes a bill tells usage and expiry", () => {
  const bill = new Bill({ prices: (model) => (model === "a/priced" ? { input: 2, output: 4 } : undefined) });
  const usage = { input: 1000, output: 100, cacheRead: 0, cacheWrite: 9000 };
  const enter = (more) => bill.enter({ model: "a/priced", at: 0, usage, ...more });
  assert.ok(isClose(enter().dollars, (1000 * 2 + 9000 * 2 + 100 * 4) / 1e6, 1e-9));
  const warm = enter({ at: 200_000, usage: { ...usage, cacheRead: 10_000, cacheWrite: 0 } });
  assert.equal(warm.miss, undefined);
  assert.equal(enter({ at: 600_000, tokensRaw: 10_000 }).miss.cause, "expired");
  assert.equal(enter({ at: 700_000, model: "b/free", tokensSent: 10_000 }).miss.cause, "model");
  const { dollars, unpricedCalls, moves, tokens } = bill.report();
  assert.deepEqual([unpricedCalls, moves, dollars.saved, tokens.saved], [1, [], 0, 0], "nor from one size");
  const unpublished = new Bill();
  for (const at of [0, 100_000]) unpublished.enter({ model: "google/gemini-x", at, usage });
  const after = (at) => unpublished.enter({ model: "google/gemini-x", at, usage }).miss.cause;
  assert.deepEqual([after(300_000), after(700_000)], ["provider", "expired"], "as if it lived five minutes");
  const kept = new Bill({ warmedAt: [250_000, 500_000] });
  kept.enter({ model: "google/gemini-x", at: 0, usage });
  const { miss } = kept.enter({ model: "google/gemini-x", at: 700_000, usage });
  assert.equal(miss.cause, "provider", "kept warm");
});

test("no usage at all, odd usage, and no messages", async () => {
  const empty = await ledger([]);
  assert.deepEqual(
    [empty.calls, empty.dollars.billed, empty.hitRate, empty.misses, empty.moves],
    [0, 0, 0, [], []],
  );
  const said = conversation(4, 12);
  const silent = await ledger(said);
  assert.deepEqual([silent.unreportedCalls, silent.dollars.billed], [silent.calls, 0]);
  const odd = [null, {}, 7, "x", { input: "9" }, { input: -5, cacheRead: Number.NaN }, { input: 1e300 }];
  for (const usage of odd) {
    const book = await ledger(priced(said, () => usage));
    assert.equal(book.unreportedCalls, book.calls, JSON.stringify(usage));
    assert.ok(Number.isFinite(book.dollars.billed));
  }
});

test("what an aborted answer was billed for counts, and it is no call of another model", async () => {
  const { messages } = await live(conversation(2, 20, { pauses: 0 }), { options: {} });
  const whole = await ledger(messages);
  const at = messages.findLastIndex(({ stopReason }) => stopReason === "stop");
  const aborted = messages.with(at, { ...messages[at], stopReason: "aborted" });
  const book = await ledger(aborted);
  assert.ok(isClose(book.dollars.billed, whole.dollars.billed, 1e-9));
  assert.deepEqual(book.misses, whole.misses);
});

test("options are checked", async () => {
  await assert.rejects(ledger("x"), /ledger: messages must be an array/);
  await assert.rejects(ledger([], { prices: { read: 1 } }), /prices/);
  await assert.rejects(ledger([], { nope: 1 }), /^TypeError: ledger: there is no option nope; .* prices$/);
  await assert.rejects(ledger([], 5), /options must be an object/);
});

test("a call that the hook passed on has a row of its usage alone", () => {
  const bill = new Bill({ prices: { input: 4, output: 0, cacheRead: 1, cacheWrite: 8 } });
  const usage = { input: 1_000_000, output: 0, cacheRead: 0, cacheWrite: 0 };
  bill.enter(rowOf(undefined, { role: "assistant", usage }, 0));
  const { calls, tokens, dollars } = bill.report();
  assert.deepEqual([calls, tokens.prompt, tokens.saved, dollars.saved], [1, 1_000_000, 0, 0]);
});
