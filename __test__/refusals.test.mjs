// Requests refused for their length: an error's words are read, the limit that they name is learned, and the next request
// is smaller by what is needed. A provider that counts, caches and refuses stands at the other end.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { countTokens, createTransformContext } from "../index.js";
import { talk } from "./support/live/talk.mjs";
import { answer, call, result, thinking, user } from "./support/messages.mjs";
import { LINES, namedWordsOf, REFUSALS as WORDS, wordsOf } from "./support/refusals.mjs";

const require = createRequire(import.meta.url);
const { readRefusal } = require("../lib/hook/refusals.js");

const USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: {} };
/** An answer that failed with these words. */
const refused = (errorMessage, more) =>
  answer([], { stopReason: "error", usage: USAGE, errorMessage, ...more });

/** Words where the answer counts, too. */
const WITH_OUTPUT = namedWordsOf("too long with the answer, by endpoint");
const NUMBERLESS = wordsOf("too long, without a number").map((words) => words());
const OTHERS = ["", ...wordsOf("about something else").map((words) => words())];

test("the numbers that an error names are read by its words", () => {
  for (const [name, words] of Object.entries(WORDS)) {
    const { prompt, limit, excess } = readRefusal(words(71_234, 65_536));
    assert.ok(limit === 65_536 || excess === 5_698, `${name}: ${limit}, ${excess}`);
    assert.ok(prompt === undefined || prompt === 71_234, `${name}: ${prompt}`);
  }
  for (const [name, words] of Object.entries(WITH_OUTPUT)) {
    assert.deepEqual(
      { ...readRefusal(words(60_000, 65_536, 8_000)) },
      { prompt: 60_000, output: 8_000, limit: 65_536 },
      name,
    );
  }
  for (const words of wordsOf("a limit alone")) {
    const { prompt, limit } = readRefusal(words(0, 65_536));
    assert.deepEqual({ prompt, limit }, { prompt: undefined, limit: 65_536 }, words(0, 0));
  }
  const prefill =
    "Illegal param: prefill 9744 tokens exceed n_ctx_per_seq, try increasing total context size";
  assert.deepEqual({ ...readRefusal(prefill) }, { prompt: 9744 });
  for (const words of wordsOf("too long, in words that no rule was written from")) {
    const text = words(71_234, 65_536);
    assert.deepEqual({ ...readRefusal(text) }, { prompt: 71_234, limit: 65_536 }, text);
  }
  for (const words of NUMBERLESS)
    assert.deepEqual(Object.values(readRefusal(words) ?? { none: 0 }), [], words);
  for (const words of OTHERS) assert.equal(readRefusal(words), undefined, words);
  for (const words of wordsOf("too many images"))
    for (const images of [0, 7])
      assert.deepEqual({ ...readRefusal(words(0, images)) }, { images }, words(0, 7));
  for (const words of wordsOf("an image is"))
    assert.deepEqual({ ...readRefusal(words(0, 5_242_880)) }, { imageChars: 5_242_880 }, words(0, 0));
});

test("what a refusal without numbers is about is read by its words", () => {
  const titles = {
    "the length is": "length",
    "the body is": "body",
    "an image cannot": "images",
    "the thinking is": "thinking",
  };
  for (const [title, subject] of Object.entries(titles))
    for (const words of wordsOf(title)) assert.deepEqual({ ...readRefusal(words()) }, { subject }, words());
  for (const words of wordsOf("no image can"))
    assert.deepEqual(readRefusal(words()), { subject: "images", images: 0 }, words());
  const many = "image dimensions exceed max allowed size for many-image requests: 2000 pixels";
  assert.deepEqual(readRefusal(many), { images: 20 });
  const one = "this model only supports one image while more than one image requested";
  assert.deepEqual(readRefusal(one), { images: 1 });
});

test("an error reads the same inside JSON: its keys and types are no words of it", () => {
  for (const message of LINES) {
    const error = { message, type: "invalid_request_error", param: "messages" };
    for (const text of [
      `400 Bad Request ${JSON.stringify({ error })}`,
      JSON.stringify({ error: { message: "Provider error", metadata: { raw: JSON.stringify({ error }) } } }),
      `Error code: 400 - {'error': {'message': ${JSON.stringify(message)}, 'type': 'invalid_request_error'}}`,
    ])
      assert.deepEqual(readRefusal(text), readRefusal(message), text);
  }
});

test("a text of any size and numbers out of range are read in bounded time, and make no sense of nonsense", () => {
  const start = performance.now();
  for (const part of ["x", "prompt ", "# > ", "9", "maximum context length 9999 requested 1 ", "exceeds "])
    readRefusal(part.repeat(1_000_000 / part.length));
  assert.ok(performance.now() - start < 2000);
  assert.deepEqual(readRefusal(`prompt is too long: ${"9".repeat(30)} tokens > 0 maximum`), {});
  assert.equal(
    readRefusal(`prompt is too long: 71234 tokens > 65536 maximum${" ".repeat(1_000_000)}`).limit,
    65_536,
  );
  assert.equal(readRefusal(undefined), undefined);
});

/** A conversation with a model that reads 60 long pages. */
function pages(mark = "c", model = "claude-opus-4-5") {
  const page = "a line of a long result that nobody asked for again\n".repeat(200);
  const list = [user(`go ${mark}`)];
  for (let i = 0; i < 60; i += 1)
    list.push(answer(`:${mark}${i}`, { model }), result(`${mark}${i}`, `${mark} ${i}\n${page}`));
  return list;
}

/** A conversation of so many calls, in which the user speaks too, before a provider that refuses in `words` what is over its limit. */
async function played({ words, limit, output = 0, calls, catalogue = 1_000_000 }) {
  const settings = { contextWindow: limit - output, basePrompt: 1500, scale: 1.2 };
  const more = { words: (tokens) => words(tokens, limit) };
  const { call, loop, scribe } = talk(settings, { contextWindow: catalogue }, more);
  const records = [];
  for (let number = 0; number < calls; number += 1) {
    const record = await call(limit / 40);
    const users = record.given.filter(({ role }) => role === "user");
    records.push({ ...record, hasUsers: users.every((message) => record.sent.includes(message)) });
    if (!record.isRefused && number % 6 === 5) loop.messages.push(scribe.user(12));
  }
  const refusals = records.flatMap(({ isRefused }, at) => (isRefused ? [at] : []));
  const learned = records.flatMap(({ events }) =>
    events.filter(({ type }) => type === "contextWindowLearned"),
  );
  assert.ok(records.every(({ hasUsers }) => hasUsers));
  return { records, refusals, learned, messages: loop.messages };
}

describe("the limit that a refusal names", () => {
  for (const [name, words] of Object.entries(WORDS)) {
    for (const limit of [8192, 32_768, 65_536, 200_000]) {
      test(`${name}, ${limit}: taken at the second try, nearly all of it used, and held`, async () => {
        const { records, refusals, learned } = await played({ words, limit, calls: 60 });
        assert.equal(refusals.length, 1, `refused at ${refusals}`);
        const { prompt } = records[refusals[0] + 1];
        assert.ok(prompt >= 0.85 * limit, `${prompt} of ${limit}`);
        assert.equal(learned.length, 1);
        assert.ok(Math.abs(learned[0].contextWindow / limit - 1) < 0.03);
        assert.deepEqual([learned[0].provider, learned[0].model], ["p", "model-a"]);
      });
    }
  }

  for (const [name, words] of Object.entries(WITH_OUTPUT)) {
    test(`${name}: the answer's share of it is kept free`, async () => {
      const output = 16_000;
      const said = (prompt, limit) => words(prompt, limit, output);
      const { records, refusals } = await played({ words: said, limit: 65_536, output, calls: 60 });
      assert.equal(refusals.length, 1);
      assert.ok(records[refusals[0] + 1].prompt >= 0.85 * (65_536 - output));
    });
  }

  test("holds in the hook's other conversations, and for this model alone", async () => {
    const hook = createTransformContext({ contextWindow: 200_000 });
    const first = pages("a", "m");
    await hook(first);
    const refusal = refused(WORDS.xAI(130_000, 40_000), { model: "m" });
    assert.ok(countTokens(await hook([...first, refusal])) < 40_000);
    assert.ok(countTokens(await hook(pages("b", "m"))) < 40_000, "the same model");
    const other = pages("c", "other");
    const alone = await createTransformContext({ contextWindow: 200_000 })(other);
    assert.deepEqual(await hook(other), alone, "another model");
  });
});

test("a refusal is obeyed where the provider's counts are not learned", async () => {
  const list = pages();
  for (const [schedule, limit] of [
    ["sticky", 40_000],
    ["everyCall", 40_000],
    ["sticky", 130_000],
  ]) {
    const hook = createTransformContext({ contextWindow: 200_000, calibrate: false, schedule });
    const before = countTokens(await hook(list));
    const refusal = refused(WORDS.xAI(Math.max(before, limit + 10), limit), { timestamp: 1 });
    const after = countTokens(await hook([...list, refusal]));
    assert.ok(after < Math.min(limit, 0.85 * before), `${after} after ${before}`);
  }
});

test("after a refusal a reserve that the host set is kept free of the learned window", async () => {
  const list = pages();
  for (const schedule of ["sticky", "everyCall"]) {
    const options = { contextWindow: 200_000, reserveTokens: 20_000, keepRecentToolResults: 60 };
    const hook = createTransformContext({ ...options, calibrate: false, schedule });
    const before = countTokens(await hook(list));
    const refusal = refused(WORDS.xAI(before, 60_000), { timestamp: 1 });
    const after = countTokens(await hook([...list, refusal]));
    assert.ok(after <= 40_000, `${after} under ${schedule}`);
  }
});

test("a refusal without a number makes the next request a fifth smaller, and what is accepted then bounds the belief", async () => {
  for (const text of NUMBERLESS) {
    const setting = { words: () => text, limit: 40_000, calls: 60, catalogue: 200_000 };
    const { records, refusals } = await played(setting);
    assert.equal(refusals.length, 1, text);
    const [before, after] = records.slice(refusals[0]);
    const share = after.prompt / before.prompt;
    assert.ok(share > 0.74 && share < 0.82, `${after.prompt} after ${before.prompt}`);
  }
});

test("after an error about anything else the next request is the same", async () => {
  const { messages } = await played({ words: WORDS.OpenAI, limit: 500_000, calls: 30 });
  for (const errorMessage of OTHERS) {
    const hook = createTransformContext({ contextWindow: 100_000 });
    const sent = await hook(messages.slice());
    const failed = refused(errorMessage);
    const again = await hook([...messages, failed]);
    assert.deepEqual(
      again.filter((message) => message !== failed),
      sent,
      errorMessage,
    );
  }
});

for (const schedule of ["sticky", "everyCall"]) {
  test(`${schedule}: thinking that its provider refuses leaves, that of others and what comes later stay`, async () => {
    const hook = createTransformContext({ schedule, keepRecentThinking: 100 });
    const list = [user()];
    const [words] = wordsOf("the thinking is");
    const thoughts = async () => {
      const sent = await hook(list);
      return sent.flatMap(({ content }) => Array.from(content).flatMap((block) => block.thinking ?? []));
    };
    for (let i = 0; i < 6; i += 1) {
      list.push(
        answer([thinking(`thought ${i}`), call(`c${i}`)], { model: i < 2 ? "other" : "claude" }),
        result(`c${i}`),
      );
    }
    assert.equal((await thoughts()).length, 6);
    list.push(refused(words(), { model: "claude" }), user("go on"));
    assert.deepEqual(await thoughts(), ["thought 0", "thought 1"]);
    list.push(answer([thinking("new"), call("c9")], { model: "claude" }), result("c9"));
    assert.deepEqual(await thoughts(), ["thought 0", "thought 1", "new"]);
  });

  test(`${schedule}: refused thinking stays away, whatever an extension adds to each request`, async () => {
    const hook = createTransformContext({ schedule, keepRecentThinking: 100 });
    const [words] = wordsOf("the thinking is");
    const list = [
      user(),
      answer([thinking("thought"), call("c")]),
      result("c"),
      refused(words()),
      user("go on"),
    ];
    for (let i = 0; i < 3; i += 1) {
      const sent = await hook([...list, user(`reminder ${i}`)]);
      assert.doesNotMatch(JSON.stringify(sent), /thought/);
    }
  });

  test(`${schedule}: protected thinking stays even if its provider refuses it`, async () => {
    const protect = ({ content }) => JSON.stringify(content).includes("thought 1");
    const hook = createTransformContext({ schedule, keepRecentThinking: 100, protect });
    const thought = (i) => [answer([thinking(`thought ${i}`), call(`c${i}`)]), result(`c${i}`)];
    const [words] = wordsOf("the thinking is");
    const list = [user(), ...thought(0), ...thought(1), refused(words()), user("go on")];
    assert.deepEqual(JSON.stringify(await hook(list)).match(/thought \d/g), ["thought 1"]);
  });
}
