// Run by faults.test.mjs in a process of its own, with the addon that can be made to panic: `node fault-script.mjs
// 1000`. Panics at every step of everything that Node can ask of the addon, checks what the caller sees, and prints how many panics
// that were. If the process dies, so has the product.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { conversation } from "./transcripts.mjs";

const require = createRequire(import.meta.url);
const binding = require("../../lib/native/native.js").native();

let injected = 0;
const guard = require("pi-strata/guard");
const sessions = require("pi-strata/sessions");
const tokens = require("pi-strata/tokens");
const strata = require("../../index.js");
const { Batch } = require("../../lib/hook/snapshot.js");

const PANICS = Number(process.argv[2]);

/** True if the panic that was armed has happened; disarms. */
const hasFired = () => binding.armFault(-1) < 0;

/** Panics at the first step of `work`, then at the second, until it ends without one; `after` sees each failure. */
async function atEveryStep(work, after) {
  for (let step = 0; ; step += 1) {
    binding.armFault(step);
    const outcome = await (async () => work(step))().then(
      (value) => ({ value }),
      (error) => ({ error }),
    );
    if (!hasFired()) {
      assert.equal(outcome.error, undefined);
      return;
    }
    injected += 1;
    await after(outcome, step);
  }
}

function assertPlainError({ error }) {
  assert.ok(error instanceof Error);
  assert.ok(!`${error.message}${error.stack}`.includes("canary"));
}

const HOOKS = [
  { options: {}, length: 6 },
  { options: { contextWindow: 3000, reserveTokens: 100, keepRecentMessages: 4 }, length: 40 },
  { options: { contextWindow: 300, reserveTokens: 0, keepRecentMessages: 0 }, length: 24 },
  {
    options: { schedule: "sticky", contextWindow: 900, reserveTokens: 100, keepRecentMessages: 4 },
    length: 24,
  },
];

/** The hook resolves with its input and says so once; the next call does what a hook does that never failed. */
async function hookAt(seed, { options, length }) {
  const failures = [];
  const onEvent = (event) => event.type === "failed" && failures.push(event);
  const make = (more) => strata.createTransformContext({ schedule: "everyCall", ...options, ...more });
  const messages = conversation(seed, { length });
  const expected = await make()(messages);
  let hook;
  const work = () => {
    hook = make({ onEvent });
    return hook(messages);
  };
  await atEveryStep(work, async ({ value }) => {
    assert.equal(value, messages);
    assert.equal(failures.length, 1);
    assert.ok(!JSON.stringify(failures.pop()).includes("canary"));
    assert.deepEqual(await hook(messages), expected);
    assert.deepEqual(failures, []);
  });
}

/** The guard as a hook resolves with its input too. */
async function guardAt(seed) {
  const messages = conversation(seed, { length: 30 });
  const options = { contextWindow: 700, reserveTokens: 0, maxToolResultChars: 300 };
  const sizes = { truncateHeadChars: 20, truncateTailChars: 20 };
  const expected = await guard.createContextGuard({ ...options, ...sizes })(messages);
  let guarded;
  const work = () => {
    guarded = guard.createContextGuard({ ...options, ...sizes });
    return guarded(messages);
  };
  await atEveryStep(work, async ({ value }) => {
    assert.equal(value, messages);
    assert.deepEqual(await guarded(messages), expected);
  });
}

/** Whatever else can be asked fails with a plain error, and then works. */
async function questionsAt(seed) {
  const batch = new Batch();
  for (const message of conversation(seed, { length: 4 })) batch.add(message);
  const texts = { role: "user", content: "text" };
  const questions = [
    () => strata.countTokens("text"),
    () => strata.countTokens([texts]),
    () => strata.countTokensAsync("text"),
    () => strata.countTokensAsync([texts]),
    () => strata.isWithinTokenLimit("text", 9),
    () => tokens.getEncoding("cl100k_base").encode("text"),
    () => strata.validate(conversation(seed, { length: 9 })),
    () => strata.repair(conversation(seed, { length: 9, noise: 2 })),
    () => strata.explain(conversation(seed, { length: 9 })),
    () => guard.guardContext(conversation(seed, { length: 9 }), { contextWindow: 300, reserveTokens: 0 }),
    () => guard.estimateContextTokens([texts]),
    () => binding.callSubject("bash", '{"command":"ls"}'),
    () => binding.handles(batch),
    () => binding.countMessagesAsync(batch),
  ];
  for (const question of questions) await atEveryStep(question, assertPlainError);
}

/** The front doors made of several such steps: each call ends, in an answer or a plain error, and the next one works. */
async function frontDoorsAt(seed) {
  const said = (content) => ({ role: "user", content });
  const question = said("and now?");
  // A door without a listener warns on the console.
  const onEvent = () => {};
  const manager = new sessions.ContextManager({ maxMessages: 6, maxCompressedMessages: 2, onEvent });
  manager.addMessage("s", said("the first"));
  const memory = new sessions.RollingMemory({ contextWindow: 200, onEvent });
  const messages = conversation(seed, { length: 20 });
  const recall = strata.createRecallTool(() => messages);
  const doors = [
    // A session of its own each time: one that grows takes more steps at every try.
    (step) => manager.addMessage(`s${step}`, said("a message")),
    () => manager.compressContext("s"),
    () => manager.getMessages("s"),
    () => manager.getStats("s"),
    () => memory.beforePrompt(messages, question),
    () => memory.afterReply(messages),
    () => recall.execute("id", { handle: "none" }),
    () => tokens.getEncoding("cl100k_base").decode([9]),
  ];
  const ends = (outcome) => outcome.error === undefined || assertPlainError(outcome);
  for (const door of doors) await atEveryStep(door, ends);
}

for (let seed = 0; injected < PANICS; seed += 1) {
  for (const hook of HOOKS) await hookAt(seed, hook);
  await guardAt(seed);
  await questionsAt(seed);
  await frontDoorsAt(seed);
}
console.log(JSON.stringify({ injected }));
