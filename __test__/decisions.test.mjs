// What was decided: whole conversations in the closed loop, against what was sent in them before. Properties say what must
// hold of any decision; this says which ones we made, so that a change of structure changes none, and a change of a rule is
// seen in review as changed figures. `npm run decisions` writes them anew.

import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { createContextGuard, truncateToolResult } from "pi-strata/guard";
import { ledger } from "pi-strata/ledger";
import { Loop, play } from "../bench/live/loop.mjs";
import { Provider } from "../bench/live/provider.mjs";
import { createTransformContext, explain, repair, validate } from "../index.js";
import { loadSession } from "../lib/cli/session.mjs";
import { digest, Minutes } from "./support/decisions/minutes.mjs";
import { CLAUDE, GEMINI, GPT, workshop } from "./support/decisions/workshop.mjs";
import { compacted, contextTokens } from "./support/live/compaction.mjs";
import { playSession } from "./support/live/sessions.mjs";
import { textOf } from "./support/live/texts.mjs";
import { EXAMPLE, RECORDING } from "./support/recording.mjs";
import { conversation, dice } from "./support/transcripts.mjs";

const EXPECTED = new URL("expected/decisions.json", import.meta.url);
const IS_NEW = process.env.PI_STRATA_DECISIONS === "new";
/** Chances are weighed with the C library's `pow`, and two that are close may change places with its last bit. */
const SKIP =
  process.platform === "linux" && process.arch === "x64"
    ? false
    : "what is expected was written on Linux x64";
/** Every so many calls it is asked to explain what it would do. */
const EXPLAIN_EVERY = 16;
const APIS = [
  "anthropic-messages",
  "openai-completions",
  "openai-responses",
  "google-generative-ai",
  undefined,
];

const expected = existsSync(EXPECTED) ? JSON.parse(readFileSync(EXPECTED, "utf8")) : {};
const decided = {};

after(() => {
  if (IS_NEW) writeFileSync(EXPECTED, `${JSON.stringify(decided, undefined, 2)}\n`);
});

function decides(name, play) {
  test(name, { skip: SKIP }, async () => {
    decided[name] = await play();
    if (!IS_NEW) assert.deepEqual(decided[name], expected[name]);
  });
}

/**
 * Conversations about files, by what is special in each: what is said, the hook's options, the provider, the host. A new one
 * goes last, as each is told by its number.
 */
const WORKSHOPS = {
  "sticky, small window": {
    says: { calls: 110 },
    options: { schedule: "sticky" },
    provider: { contextWindow: 24_000, basePrompt: 2000 },
  },
  "sticky, thrifty, cheap reads, whole requests cached, recall": {
    says: { calls: 120, models: [GEMINI], hasRecall: true },
    options: { schedule: "sticky", economy: "thrifty", marker: "en", recall: true },
    provider: {
      contextWindow: 48_000,
      cache: "breakpoint",
      prices: { input: 1.25, read: 0.03125, write: 1.25, ttlSeconds: 300 },
    },
  },
  "sticky, faithful, two models in turn": {
    says: { calls: 120, models: [CLAUDE, GEMINI] },
    options: { schedule: "sticky", economy: "faithful", maxPromptTokens: 30_000 },
    provider: {
      contextWindow: 64_000,
      models: { [GEMINI.model]: { scale: 1.05, basePrompt: 5000, imageTokens: 300 } },
    },
  },
  "every call, not calibrated": {
    says: { calls: 70, models: [{ ...CLAUDE, api: "openai-completions", model: "some-model" }] },
    options: {
      schedule: "everyCall",
      calibrate: false,
      thinkingScope: "closedTurns",
      excludeTools: ["grep"],
      keepRecentToolResults: 3,
      keepRecentThinking: 2,
      keepRecentMessages: 8,
      summaryHeadLines: 2,
      summaryTailLines: 1,
      minSummaryChars: 300,
      summaryLineChars: 60,
    },
    provider: { contextWindow: 20_000, cache: "none", basePrompt: 500 },
  },
  "auto, a host that compacts and copies, in Chinese": {
    says: { calls: 120, isChinese: true },
    options: { marker: "auto" },
    provider: { contextWindow: 40_000, scale: 1.1 },
    host: { compactsAt: 20_000, view: structuredClone },
  },
  "sticky, protected messages, many images": {
    says: { calls: 90 },
    options: {
      schedule: "sticky",
      protect: (message) => message.role === "toolResult" && message.timestamp % 9000 === 0,
      keepRecentImages: 2,
      imageTokens: 800,
      overheadTokens: () => 3000,
      reserveTokens: 2000,
      highWater: 0.6,
      lowWater: 0.35,
      overflow: "keep",
    },
    provider: { contextWindow: 18_000, basePrompt: 3000 },
  },
  "sticky, GPT, a host that says its prices and changes the window": {
    says: { calls: 90, models: [GPT, CLAUDE] },
    options: { schedule: "sticky", cache: () => ({ read: 0.025, write: 1, ttlSeconds: 600 }) },
    provider: { contextWindow: 30_000 },
    host: { windows: [30_000, 16_000, 60_000] },
  },
  "sticky, a host that starts anew, edits and goes back": {
    says: { calls: 120, pauses: 8 },
    options: { schedule: "sticky", cache: { read: 0.1, write: 1.25, ttlSeconds: 3600 } },
    provider: { contextWindow: 36_000, prices: { input: 3, read: 0.3, write: 3.75, ttlSeconds: 3600 } },
    host: { restartsEvery: 25, changesEvery: 18 },
  },
  "sticky, a large window, long pauses": {
    says: { calls: 160, pauses: 12 },
    options: { schedule: "sticky" },
    provider: { contextWindow: 120_000 },
  },
  "sticky, reads that cost half of writing": {
    says: { calls: 120, pauses: 15, models: [{ ...CLAUDE, model: "another-model" }] },
    options: { schedule: "sticky", highWater: 0.9, lowWater: 0.15 },
    provider: { contextWindow: 50_000, prices: { input: 2, read: 1, write: 2, ttlSeconds: 300 } },
  },
  "sticky, thinking bound to what is before it": {
    says: { calls: 90, pauses: 15, models: [{ ...CLAUDE, model: "claude-opus-5-5" }] },
    options: { schedule: "sticky" },
    provider: { contextWindow: 30_000 },
  },
  "every call, a window for almost nothing": {
    says: { calls: 45 },
    options: { schedule: "everyCall", marker: (lines, chars) => `<${lines} of ${chars}>` },
    provider: { contextWindow: 5000, basePrompt: 200 },
  },
  "sticky, a window for almost nothing": {
    says: { calls: 60 },
    options: { schedule: "sticky" },
    provider: { contextWindow: 6000, basePrompt: 200 },
  },
  "sticky, more pictures than a request may hold": {
    says: {
      calls: 60,
      looks: 12,
      models: [{ ...CLAUDE, api: "mistral-conversations", model: "mistral-large" }],
    },
    options: { schedule: "sticky", keepRecentImages: 500, imageTokens: 100 },
    provider: { contextWindow: 60_000, imageTokens: 130 },
  },
  "every call, a host that writes usage down late": {
    says: { calls: 60 },
    options: { schedule: "everyCall" },
    provider: { contextWindow: 16_000, scale: 1.4, basePrompt: 3000, cache: "none" },
    host: { isLate: true },
  },
};

for (const [at, [name, { says, options, provider, host }]] of Object.entries(WORKSHOPS).entries()) {
  decides(name, () => playLive(workshop(at + 1, says), { options, provider, host }));
}

/** Plays it, asks now and then for explanations, and reads the bill back. */
async function playLive(said, { options, provider: settings, host = {} }) {
  const provider = new Provider(settings);
  const minutes = new Minutes();
  const explanations = [];
  const late = [];
  const loop = new Loop(provider, options, {
    tell: host.isLate && ((usage) => void late.push({ at: loop.messages.length, usage })),
    view: host.view,
    makeHook: host.restartsEvery && ((all) => startedAnew(all, host.restartsEvery)),
  });
  const beforeCall = () => {
    // Known by the next call but one.
    while (late.length > 1) {
      const { at, usage } = late.shift();
      loop.messages[at].usage = usage;
    }
    changeAsHost(loop, host);
  };
  for await (const record of play(said, loop, { beforeCall })) {
    minutes.note(record);
    if (record.call % EXPLAIN_EVERY === 0) {
      const asked = { ...options, contextWindow: provider.contextWindow };
      explanations.push(await explain(record.given, asked));
    }
  }
  const { messages } = loop;
  const book = await ledger(messages, { ...options, contextWindow: provider.contextWindow });
  const problems = APIS.map((api) => [validate(messages, api), repair(messages.slice(3), api).length]);
  return minutes.close({
    billed: book.dollars.billed,
    saved: book.dollars.saved,
    ledger: digest(book),
    explained: editsOf(explanations),
    explanations: digest(explanations),
    problems: digest(problems),
  });
}

/** How many edits of each layer were explained, by what they do, and how many lines were kept for which reason. */
function editsOf(explanations) {
  const edits = {};
  const kept = {};
  for (const { layer, action, kept: lines = [] } of explanations.flatMap((of) => of.edits)) {
    const name = `${layer} ${action}`;
    edits[name] = (edits[name] ?? 0) + 1;
    for (const { lines: count, why } of lines) kept[why] = (kept[why] ?? 0) + count;
  }
  return { edits, kept };
}

/** A host that makes its hook anew every so many calls. */
function startedAnew(options, every) {
  let hook;
  let calls = 0;
  return (messages) => {
    if (calls++ % every === 0) hook = createTransformContext(options);
    return hook(messages);
  };
}

function changeAsHost(loop, { compactsAt = Number.POSITIVE_INFINITY, windows, changesEvery }) {
  const { provider, calls, messages } = loop;
  if (windows !== undefined) provider.contextWindow = windows[Math.floor(calls / 20) % windows.length];
  const tokens = contextTokens(messages);
  if (tokens > compactsAt) {
    const summary = {
      role: "compactionSummary",
      summary: textOf(200, calls),
      tokensBefore: tokens,
      timestamp: messages.at(-1).timestamp + 1,
    };
    loop.messages = compacted(messages, compactsAt / 4, summary);
  }
  if (changesEvery === undefined || calls % changesEvery !== changesEvery - 1) return;
  const roll = dice(calls);
  const at = messages.findIndex(({ role }, index) => index > messages.length / 3 && role === "toolResult");
  if (roll(2) === 0) {
    const questions = messages.flatMap(({ role }, index) => (role === "user" ? [index] : []));
    loop.messages = messages.slice(0, 1 + questions.at(-2) || messages.length);
  } else if (at >= 0) {
    messages[at].content = [{ type: "text", text: textOf(150, calls) }];
    provider.forget(messages[at]);
  }
}

/** Generated hosts that compact, branch, edit and copy, and providers that lie: by the seeds of live-sessions. */
const LIVE_SEEDS = [
  ...Array.from({ length: 20 }, (_, seed) => 40 + seed),
  ...[900132, 901399, 905130, 907942, 910302, 912576, 2008242, 3004314],
];
const LIVE_CALLS = 50;

decides("hosts and providers of all kinds", async () => {
  const all = {};
  for (const seed of LIVE_SEEDS) {
    const minutes = new Minutes();
    await playSession(seed, LIVE_CALLS, { onCall: (record) => minutes.note(record) });
    const { tokensSent, sent, events } = minutes.close();
    all[seed] = `${tokensSent} tokens, sent ${sent}, told ${events}`;
  }
  return all;
});

const RECORDED = { example: EXAMPLE, ...(RECORDING !== EXAMPLE && { longer: RECORDING }) };

for (const [name, file] of Object.entries(RECORDED)) {
  for (const [contextWindow, schedule] of [
    [32_000, "sticky"],
    [100_000, "auto"],
  ]) {
    decides(`the ${name} recording, ${schedule} at ${contextWindow}`, async () => {
      const said = await loadSession(file);
      return playLive(said, { options: { schedule }, provider: { contextWindow } });
    });
  }
}

decides("what providers would refuse, and what is left of it", () => {
  const lists = Array.from({ length: 150 }, (_, seed) =>
    conversation(seed, { length: 30, noise: 4 + (seed % 12) }),
  );
  const found = APIS.map((api) => lists.map((list) => validate(list, api)));
  const left = APIS.map((api) => lists.map((list) => repair(list, api)));
  const byRule = {};
  for (const { rule } of found.flat(2)) byRule[rule] = (byRule[rule] ?? 0) + 1;
  return { byRule, found: digest(found), left: digest(left) };
});

decides("lists with all that can be wrong, at one call", async () => {
  const all = [];
  for (let seed = 0; seed < 120; seed += 1) {
    const roll = dice(seed);
    const events = [];
    const hook = createTransformContext({
      contextWindow: [700, 2500, 9000, 40_000][roll(4)],
      schedule: ["everyCall", "sticky"][roll(2)],
      overflow: ["shrink", "keep"][roll(2)],
      reserveTokens: 300 * roll(2),
      keepRecentMessages: 2 + roll(20),
      keepRecentToolResults: roll(7),
      keepRecentImages: roll(3),
      thinkingScope: ["all", "closedTurns"][roll(2)],
      minSummaryChars: 100 + roll(500),
      recall: roll(2) === 0,
      onEvent: (event) => events.push(event),
    });
    const list = conversation(seed, { length: 20 + roll(60), noise: roll(3) === 0 ? 15 : 0 });
    all.push([await hook(list), events]);
  }
  return { sent: digest(all.map(([sent]) => sent)), events: digest(all.map(([, events]) => events)) };
});

decides("the guard", async () => {
  const all = [];
  for (let seed = 0; seed < 80; seed += 1) {
    const roll = dice(seed);
    const events = [];
    const guard = createContextGuard({
      contextWindow: 1000 + roll(6000),
      reserveTokens: 100 * roll(5),
      maxToolResultChars: 200 + roll(3000),
      truncateHeadChars: roll(400),
      truncateTailChars: roll(400),
      counting: ["exact", "chars"][roll(2)],
      onEvent: (event) => events.push(event),
    });
    const list = conversation(seed, { length: 10 + roll(60), noise: roll(2) === 0 ? 20 : 0 });
    const cut = truncateToolResult(textOf(100 + roll(500), seed), { maxToolResultChars: 300 + roll(900) });
    all.push([await guard(list), events, cut]);
  }
  return { kept: digest(all.map(([kept]) => kept)), rest: digest(all.map(([, ...rest]) => rest)) };
});
