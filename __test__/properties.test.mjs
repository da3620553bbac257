// The hook's contract over generated calls, through the built addon: it never rejects, never changes what it was
// given, hands back the same objects, and what went in valid comes out valid. 100 000 calls a run; more by
// PI_STRATA_CALLS.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countTokens, createTransformContext, repair, validate } from "../index.js";
import { deepFreeze } from "./support/generate.mjs";
import { conversation, dice } from "./support/transcripts.mjs";

const CALLS = Number(process.env.PI_STRATA_CALLS ?? 100_000);
/** Calls under way at once. */
const WIDTH = 32;
/** Every so many calls the costly checks run too: a deep copy of the input and a count of the output. */
const DEEP_EVERY = 50;

const OPTIONS = [
  {},
  { contextWindow: 3000, reserveTokens: 200, keepRecentMessages: 4, keepRecentToolResults: 2 },
  { contextWindow: 600, reserveTokens: 0, thinkingScope: "closedTurns", marker: "en" },
  { contextWindow: 8000, overflow: "keep", keepRecentThinking: 0, excludeTools: ["bash"] },
  { contextWindow: () => 1500, reserveTokens: 100, keepRecentMessages: 0, minSummaryChars: 0 },
];

test(`${CALLS} generated calls`, async (t) => {
  const failures = [];
  const hooks = OPTIONS.map((options) =>
    createTransformContext({
      schedule: "everyCall",
      ...options,
      onEvent: (event) => event.type === "failed" && failures.push(event),
    }),
  );
  const reached = { edited: 0, valid: 0 };
  let seed = 0;
  const worker = async () => {
    while (seed < CALLS) await checkCall(seed++, hooks, reached);
  };
  await Promise.all(Array.from({ length: WIDTH }, worker));
  assert.deepEqual(failures, []);
  const { edited, valid } = reached;
  assert.ok(edited > CALLS / 10 && valid > CALLS / 10, "the generator reaches what is to be tested");
  t.diagnostic(`${CALLS} calls, ${edited} edited, ${valid} valid inputs, 0 rejected, 0 inputs changed`);
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
    let from = 0;
    for (const message of mended) {
      const at = messages.findIndex((original, i) => i >= from && isFrom(message, original));
      assert.notEqual(at, -1, `seed ${seed}: order is kept and nothing is added`);
      from = at + 1;
    }
  }
});

async function checkCall(call, hooks, reached) {
  const roll = dice(call ^ 0x5bd1e995);
  const length = roll(200) === 0 ? 400 : 1 + roll(24);
  const noise = roll(2) === 0 ? 0 : 2 + roll(40);
  const messages = deepFreeze(conversation(call, { length, noise }));
  const isDeep = call % DEEP_EVERY === 0;
  const copy = isDeep ? structuredClone(messages) : undefined;
  const wasValid = validate(messages).length === 0;
  const sent = await hooks[roll(hooks.length)](messages);
  reached.edited += Number(sent !== messages);
  reached.valid += Number(wasValid);
  checkSame(messages, sent, call);
  if (wasValid) assert.deepEqual(validate(sent), [], `call ${call}`);
  if (!isDeep) return;
  assert.deepEqual(messages, copy, `call ${call} changed its input`);
  assert.ok(countTokens(sent.filter(isObject)) <= countTokens(messages.filter(isObject)), `call ${call}`);
}

/** Same objects where nothing is edited; else a copy that differs in `content` alone. */
function checkSame(messages, sent, call) {
  if (sent.length === messages.length && sent.every((message, i) => message === messages[i])) {
    assert.equal(sent, messages, `call ${call}: the same array`);
    return;
  }
  let from = 0;
  for (const message of sent) {
    const at = messages.findIndex((original, i) => i >= from && isFrom(message, original));
    assert.notEqual(at, -1, `call ${call}: order is kept and nothing is added`);
    from = at + 1;
    if (message === messages[at]) continue;
    assert.deepEqual(Object.keys(message), Object.keys(messages[at]));
    for (const key of Object.keys(message)) {
      if (key !== "content") assert.equal(message[key], messages[at][key], `call ${call}: ${key}`);
    }
  }
}

/** Generated messages are known by their `details`; what is no message, by itself. */
function isFrom(message, original) {
  return message === original || (isObject(message?.details) && message.details === original?.details);
}

function isObject(value) {
  return typeof value === "object" && value !== null;
}

function apiOf(messages) {
  return messages.findLast((message) => message?.role === "assistant")?.api;
}
