// validate and repair through the built addon: one small transcript per rule, what is said about it and what is left.

import assert from "node:assert/strict";
import { test } from "node:test";
import { repair, validate } from "../index.js";
import { fieldsOf } from "./support/fields.mjs";
import { answer, call, image, result, spelled, text, thinking, user } from "./support/messages.mjs";

const ANTHROPIC = "anthropic-messages";
const GOOGLE = "google-generative-ai";
const said = text("x");
const half = "a\ud83d";
const two = (first, more) => [answer([said, call(first, more), call("b")]), result(first), result("b")];
const by = (api, content, more) => answer(content, { api, ...more });

/** Rule, transcript, index of the problem, positions that are left (and blocks, where a message is edited), the provider's API. */
const CASES = [
  ["orphan-result", spelled("u =a a"), 1, [0, 2]],
  ["late-result", spelled("u :a u =a"), 3, [0, 1, 3, 2]],
  ["duplicate-result", spelled("u :a =a =a"), 3, [0, 1, 2]],
  ["orphan-result", [user(), answer(":a", { stopReason: "aborted" }), result("a")], 2, [0, 1]],
  [
    "late-result",
    [user(), answer(":a"), answer(":a", { stopReason: "aborted" }), result("a")],
    3,
    [0, 1, 3, 2],
  ],
  ["unanswered-call", spelled("u :a u"), 1, [0, 2]],
  ["unanswered-call", [user(), answer([thinking(), said, call("a")]), user()], 1, [0, 2]],
  ["unanswered-call", [user(), answer([said, call("a"), call("b")]), result("b")], 1, [0, { 1: [0, 2] }, 2]],
  ["unanswered-call", [user(), answer([said, call("a\ud800")]), user()], 1, [0, { 1: [0] }, 2]],
  ["starts-with-reply", spelled(":a =a u"), 0, [2]],
  ["empty-message", [user(), answer([]), user()], 1, [0, 2]],
  ["empty-message", [user(), user(" \n")], 1, [0]],
  ["blank-text", [user([text(""), said])], 0, [{ 0: [1] }], ANTHROPIC],
  ["blank-text", [...spelled("u :a"), result("a", [text(""), image])], 2, [0, 1, { 2: [1] }], ANTHROPIC],
  ["lone-surrogate", [user(), ...two("a", { arguments: { half } })], 1, [0, { 1: [0, 2] }, 3]],
  ["lone-surrogate", [user(), ...two(half)], 1, [0, { 1: [0, 2] }, 3]],
  ["call-id-pattern", spelled("u :| =|"), 1, [0], ANTHROPIC],
  ["call-id-pattern", [user(), ...two("|")], 1, [0, { 1: [0, 2] }, 3], ANTHROPIC],
  ["duplicate-call-id", spelled("u :a =a :a =a"), 3, [0, 1, 2], ANTHROPIC],
  ["duplicate-call-id", [...spelled("u :a =a"), ...two("a")], 3, [0, 1, 2, { 3: [0, 2] }, 5], ANTHROPIC],
  ["text-after-call", [user(), answer([call("a"), said]), result("a")], 1, [0, { 1: [0] }, 2], ANTHROPIC],
  ["trailing-space", [user(), answer("x ")], 1, [0, 1], ANTHROPIC],
  ["thinking-alone", [user(), answer([thinking()]), user()], 1, [0, 2], ANTHROPIC],
  ["thinking-alone", [user(), by("openai-responses", [thinking()]), user()], 1, [0, 2], "openai-responses"],
  ["unsigned-call", [user(), by(GOOGLE, ":a", { model: "gemini-3-pro" }), result("a")], 1, [0], GOOGLE],
  ["call-after-reply", spelled("u a :a =a"), 2, [0, 2, 3], GOOGLE],
  ["ends-on-reply", spelled("u a"), 1, [0, 1], GOOGLE],
];

for (const [rule, messages, index, left, api] of CASES) {
  test(`${rule} over ${messages.map(({ role }) => role).join(", ")}`, () => {
    const problem = validate(messages, api).find((candidate) => candidate.rule === rule);
    assert.equal(problem?.index, index);
    assert.ok(problem.message.length > 10);
    const expected = left.map((entry) => {
      if (typeof entry === "number") return messages[entry];
      const [[at, blocks]] = Object.entries(entry);
      return { ...messages[at], content: blocks.map((block) => messages[at].content[block]) };
    });
    const mended = repair(messages, api);
    assert.deepEqual(mended, expected);
    for (const [i, entry] of left.entries()) {
      if (typeof entry === "number") assert.equal(mended[i], messages[entry], "the same object");
    }
    if (left.every((entry, at) => entry === at) && left.length === messages.length)
      assert.equal(mended, messages);
  });
}

test("a lone surrogate is replaced in texts, and takes calls with it", () => {
  const messages = [user(half), answer([call("a", { arguments: { half } })]), result("a")];
  assert.deepEqual(fieldsOf(validate(messages), "index", "rule"), [
    [0, "lone-surrogate"],
    [1, "lone-surrogate"],
  ]);
  assert.deepEqual(repair(messages), [user("a\ufffd")]);
  assert.deepEqual(repair([user([text(half), text("b")])]), [user([text("a\ufffd"), text("b")])]);
  assert.deepEqual(validate([user("😀")]), []);
});

test("a result that bears a mark of unsent messages is sent, as pi sends it", () => {
  const marked = [spelled("u :a =a :b =b")].flatMap(([ask, call, result, ...rest]) => [
    ask,
    call,
    { ...result, excludeFromContext: true, stopReason: "error" },
    ...rest,
  ]);
  assert.deepEqual(validate(marked, GOOGLE), []);
  assert.equal(repair(marked, GOOGLE), marked);
});

test("the newest assistant's api decides where none is named", () => {
  const messages = [user(), answer(":a|b"), result("a|b")];
  assert.deepEqual(fieldsOf(validate(messages), "rule"), ["call-id-pattern"]);
  assert.deepEqual(validate(messages, "openai-responses"), []);
  const switched = [user(), by("openai-responses", ":a|b"), result("a|b"), user(), answer("x")];
  assert.deepEqual(validate(switched), [], "pi rewrites the ids of another model");
});

test("what cannot be read breaks no rule, and no array is a TypeError", () => {
  const unreadable = Object.defineProperty({}, "role", {
    get() {
      throw new Error("no");
    },
  });
  const messages = [user(), null, 7, "text", unreadable, { role: "app" }, {}];
  assert.deepEqual(validate(messages), []);
  assert.equal(repair(messages), messages);
  for (const bad of [undefined, null, "text", {}]) {
    assert.throws(() => validate(bad), TypeError);
    assert.throws(() => repair(bad), TypeError);
  }
  assert.throws(() => validate([], 7), TypeError);
});

/** Time that grows with the square of these would pass the limit many times over. */
const MANY = 100_000;
const many = (make) => Array.from({ length: MANY }, (_, i) => make(i));

const LONG = {
  "orphans after one assistant": [user(), answer("x"), ...many((i) => result(`o${i}`))],
  "user messages": many(() => user()),
  "messages of unknown roles after a call": [user(), answer(":a"), ...many(() => ({ role: "app" }))],
  "calls of one message, answered from the last to the first": [
    user(),
    answer(many((i) => call(`c${i}`))),
    ...many((i) => result(`c${MANY - 1 - i}`)),
  ],
  "unanswered calls of one message": [user(), answer([text("x"), ...many((i) => call(`c${i}`))]), user()],
  "results of a call that comes first": [answer(many((i) => call(`c${i}`))), ...many((i) => result(`c${i}`))],
};

for (const [name, messages] of Object.entries(LONG)) {
  test(`${MANY} ${name} take a time that grows with their number`, { timeout: 30_000 }, () => {
    const problems = validate(messages);
    const mended = repair(messages);
    assert.equal(mended === messages, problems.length === 0);
    assert.deepEqual(validate(mended), []);
  });
}
