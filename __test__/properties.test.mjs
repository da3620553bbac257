// The hook's contract over generated calls, through the built addon: it never rejects, never changes what it was given, hands
// back the same objects, and what went in valid comes out valid. The layers do what the rules say. 5 000 calls a run; more by
// PI_STRATA_CALLS, others by PI_STRATA_FIRST, the seed of the first.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, createTransformContext, repair, validate } from "../index.js";
import { layers } from "./support/oracle.mjs";
import { pairs } from "./support/request-rules.mjs";
import { conversation, deepFreeze, dice, isPis } from "./support/transcripts.mjs";

const CALLS = Number(process.env.PI_STRATA_CALLS ?? 5_000);
const FIRST = Number(process.env.PI_STRATA_FIRST ?? 0);
/** Calls under way at once. */
const WIDTH = 32;
/** Every so many calls the costly checks run too: a deep copy of the input, a hook of its own, a count of the output. */
const DEEP_EVERY = 50;
/** Transcripts that the layers are held against the oracle with. */
const ORACLES = Math.ceil(CALLS / 5);
/** Milliseconds between the beginnings of two conversations, more than one takes. */
const MS_APART = 10_000_000;

/** Calls that once came out wrong: a message of an unknown role opens the conversation, or one that is never sent. */
const FOUND = [172_752, 627_971, 979_923];

const OPTIONS = [
  {},
  { contextWindow: 3000, reserveTokens: 200, keepRecentMessages: 4, keepRecentToolResults: 2 },
  { contextWindow: 600, reserveTokens: 0, thinkingScope: "closedTurns", marker: "en" },
  { contextWindow: 8000, overflow: "keep", keepRecentThinking: 0, excludeTools: ["bash"] },
  { contextWindow: () => 1500, reserveTokens: 100, keepRecentMessages: 0, minSummaryChars: 0 },
  { schedule: "sticky", contextWindow: 2500, reserveTokens: 200, keepRecentMessages: 4 },
  { schedule: "sticky", contextWindow: 500, reserveTokens: 0, economy: "thrifty", cache: { ttlSeconds: 1 } },
];

test(`${CALLS} generated calls keep the hook's contract`, async (t) => {
  const failures = [];
  const makeHook = (options) =>
    createTransformContext({
      schedule: "everyCall",
      ...options,
      onEvent: (event) => event.type === "failed" && failures.push(event),
    });
  const hooks = OPTIONS.map((options) => ({ hook: makeHook(options), fresh: () => makeHook(options) }));
  const reached = { edited: 0, sound: 0 };
  for (const call of FOUND) await checkCall(call, hooks, reached);
  let seed = FIRST;
  const worker = async () => {
    while (seed < FIRST + CALLS) await checkCall(seed++, hooks, reached);
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
  assert.deepEqual(failures, []);
  const { edited, sound } = reached;
  assert.ok(edited > CALLS / 10 && sound > CALLS / 10, "the generator reaches what is to be tested");
  t.diagnostic(`${CALLS} calls, ${edited} edited, ${sound} of sound input; 0 rejected, 0 inputs changed`);
});

test("the layers do what the rules say, in a list that grew as in a new one, and tell its size", async () => {
  for (let seed = FIRST; seed < FIRST + ORACLES; seed += 1) {
    const roll = dice(seed ^ 0x9e3779b9);
    const limits = {
      contextWindow: [500, 3000, 12_000, 1e6][roll(4)],
      contextRatio: [0.1, 0.75, 1][roll(3)],
      keepRecentToolResults: roll(8),
      keepRecentThinking: roll(3),
      keepRecentMessages: roll(30),
      thinkingScope: ["all", "closedTurns"][roll(2)],
      minSummaryChars: [500, 500, 1000][roll(3)],
      maxPromptTokens: [undefined, 400, 2000][roll(3)],
    };
    let told;
    const onEvent = (event) => (told = event.type === "transformed" ? event : told);
    const fixed = { schedule: "everyCall", overflow: "keep", calibrate: false, keepRecentImages: 1000 };
    const hook = createTransformContext({ ...limits, ...fixed, onEvent });
    const messages = deepFreeze(conversation(seed, { length: 1 + roll(80) }));
    for (let earlier = roll(3); earlier > 0; earlier -= 1)
      await hook(messages.slice(0, 1 + roll(messages.length)));
    const sent = await hook(messages);
    const count = (message) => (isPis(message) ? countTokens(message) : 0);
    assert.deepEqual(sent, layers(messages, limits, count), `seed ${seed}`);
    const sizes = [messages, sent].map((list) => countTokens(list.filter(isPis)));
    assert.deepEqual([told.tokensBefore, told.tokensAfter], sizes, `seed ${seed}`);
    // What was sent and comes back as input is small enough, and its summaries are summaries.
    assert.deepEqual(
      await createTransformContext({ ...limits, ...fixed })(sent),
      sent,
      `seed ${seed}: a second pass`,
    );
  }
});

test("repair makes generated transcripts valid and touches nothing else", () => {
  const waits = new Set(["trailing-space", "ends-on-reply"]);
  for (let seed = 0; seed < 3000; seed += 1) {
    const messages = deepFreeze(conversation(seed, { length: 1 + (seed % 60), noise: seed % 30 }));
    const mended = repair(messages);
    if (validate(messages).every(({ rule }) => waits.has(rule)))
      assert.equal(mended, messages, `seed ${seed}`);
    assert.deepEqual(
      validate(mended, apiOf(messages)).filter(({ rule }) => !waits.has(rule)),
      [],
      `seed ${seed}`,
    );
    assert.equal(repair(mended), mended, `seed ${seed}: a second repair finds nothing`);
    checkOrder(messages, mended, `seed ${seed}`);
    checkSound(messages, mended, `seed ${seed}`);
  }
});

test("validate finds lost, late and double results and calls without one, as rules written apart do", () => {
  const rules = /^(orphan|late|duplicate)-result$|^unanswered-call$|^starts-with-reply$/;
  let broken = 0;
  for (let seed = 0; seed < 1000; seed += 1) {
    const list = conversation(seed, { length: 1 + (seed % 60), noise: 20 + (seed % 40) })
      .filter((message) => /^(user|assistant|toolResult|system)$/.test(message?.role))
      .map((message) => (isObject(message.content) ? message : { ...message, content: "said" }));
    // A call at the very end still waits for its result there.
    list.push({ role: "user", content: "next" });
    const found = validate(list, "unknown-api").filter(({ rule }) => rules.test(rule));
    assert.equal(found.length > 0, pairs(list).length > 0, `seed ${seed}`);
    broken += Number(found.length > 0);
  }
  assert.ok(broken > 300 && broken < 700, `${broken} are broken`);
});

/** What no problem names, itself or in its group, stays the same object; unless the opening goes, or Gemini's turns meet. */
function checkSound(messages, mended, name) {
  const named = new Set(validate(messages).map(({ index }) => messages[index]));
  const opener = messages.find((message) => message?.role !== "system");
  if (opener?.role !== "user" || named.has(opener) || apiOf(messages) === "google-generative-ai") return;
  const ids = new Set([...named].flatMap(idsOf));
  const kept = new Set(mended);
  for (const message of messages)
    if (!named.has(message) && !idsOf(message).some((id) => ids.has(id)))
      assert.ok(kept.has(message), `${name}: a sound ${message?.role} is gone`);
}

function idsOf(message) {
  if (message?.role === "toolResult") return [message.toolCallId];
  return message?.role === "assistant" ? message.content.flatMap(({ id }) => id ?? []) : [];
}

async function checkCall(call, hooks, reached) {
  const roll = dice(call ^ 0x5bd1e995);
  const length = roll(200) === 0 ? 400 : 1 + roll(24);
  const noise = roll(2) === 0 ? 0 : 2 + roll(40);
  const messages = deepFreeze(conversation(call, { length, noise }).map((message) => datedBy(call, message)));
  const isDeep = call % DEEP_EVERY === 0;
  const copy = isDeep ? structuredClone(messages) : undefined;
  const { hook, fresh } = hooks[roll(hooks.length)];
  const sent = await hook(messages);
  reached.edited += Number(sent !== messages);
  reached.sound += Number(noise === 0);
  checkSame(messages, sent, call);
  if (noise === 0) checkKept(messages, sent, call);
  const isBroken = sent !== messages && validate(sent).length > 0;
  if (isBroken || (isDeep && noise === 0))
    assert.equal(validate(messages).length > 0, isBroken, `call ${call}`);
  if (!isDeep) return;
  assert.deepEqual(messages, copy, `call ${call} changed its input`);
  // A hook learns how a model counts from all its conversations: these two know no other.
  const [one, other] = [await fresh()(copy), await fresh()(messages)];
  assert.deepEqual(one, other, `call ${call}: the same content gives the same`);
  assert.ok(countTokens(sent.filter(isObject)) <= countTokens(messages.filter(isObject)), `call ${call}`);
}

/** System messages, the first question and the last one stay. */
function checkKept(messages, sent, call) {
  const kept = new Set(sent.map(({ details }) => details));
  const users = messages.filter(({ role }) => role === "user");
  const system = messages.filter(({ role }) => role === "system");
  for (const message of [...system, ...users.slice(0, 1), ...users.slice(-1)])
    assert.ok(kept.has(message.details), `call ${call}: ${message.role} is gone`);
}

/** Conversations of one hook are not of the same milliseconds: by equal messages a host's copies are known. */
function datedBy(call, message) {
  if (typeof message?.timestamp !== "number") return message;
  return { ...message, timestamp: message.timestamp + call * MS_APART };
}

/** Fields of a message's text, some by role. */
const TEXTS = ["content", "command", "output", "summary"];

/** Same objects where nothing is edited; else a copy that differs in texts alone, and is no longer. */
function checkSame(messages, sent, call) {
  if (sent.length === messages.length && sent.every((message, i) => message === messages[i])) {
    assert.equal(sent, messages, `call ${call}: the same array`);
    return;
  }
  for (const [i, original] of checkOrder(messages, sent, `call ${call}`).entries()) {
    const message = sent[i];
    if (message === original) continue;
    assert.deepEqual(Object.keys(message), Object.keys(original));
    assert.ok(lengthOf(message) <= lengthOf(original), `call ${call}: longer`);
    for (const key of Object.keys(message)) {
      if (!TEXTS.includes(key)) assert.equal(message[key], original[key], `call ${call}: ${key}`);
    }
  }
}

/**
 * What each message of `sent` was. Nothing is added and the order is kept, but that a result goes before what stood between
 * its call and it.
 */
function checkOrder(messages, sent, name) {
  const places = [];
  const taken = new Set();
  let last = -1;
  for (const message of sent) {
    const isIt = (original, i) => !taken.has(i) && isFrom(message, original);
    const inOrder = messages.findIndex((original, i) => i > last && isIt(original, i));
    const at = inOrder === -1 ? messages.findIndex(isIt) : inOrder;
    assert.notEqual(at, -1, `${name}: nothing is added`);
    for (const before of places.filter((place) => place > at)) {
      const { role, toolCallId } = messages[before];
      const isCalled = messages
        .slice(0, at)
        .some((original) => original?.role === "assistant" && idsOf(original).includes(toolCallId));
      assert.ok(role === "toolResult" && isCalled, `${name}: order is kept (${before} before ${at})`);
    }
    taken.add(at);
    places.push(at);
    last = Math.max(last, at);
  }
  return places.map((at) => messages[at]);
}

/** Generated messages are known by their `details`; what is no message, by itself. */
function isFrom(message, original) {
  return message === original || (isObject(message?.details) && message.details === original?.details);
}

function isObject(value) {
  return typeof value === "object" && value !== null;
}

/** Characters of a message's text, an image taken for more than any line that stands for it. */
function lengthOf(message) {
  const blocks = TEXTS.flatMap((field) => message[field] ?? "");
  const lengths = blocks.map((block) =>
    block?.type === "image" ? 100 : ((block.text ?? block).length ?? 0),
  );
  return lengths.reduce((sum, length) => sum + length, 0);
}

function apiOf(messages) {
  return messages.findLast((message) => message?.role === "assistant")?.api;
}
