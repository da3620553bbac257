// validate and repair through the built addon: one small transcript per rule, what is said about it and what is left.

import assert from "node:assert/strict";
import { test } from "node:test";
import { repair, validate } from "../index.js";

const user = (content = "go") => ({ role: "user", content });
const call = (id, rest) => ({ type: "toolCall", id, name: "read", arguments: {}, ...rest });
const text = (value) => ({ type: "text", text: value });
const thinking = { type: "thinking", thinking: "hm", thinkingSignature: "sig" };
const assistant = (content, rest) => ({ role: "assistant", content, stopReason: "stop", ...rest });
const result = (id, value = "ok") => ({
  role: "toolResult",
  toolCallId: id,
  toolName: "read",
  content: [text(value)],
});

const ANTHROPIC = "anthropic-messages";
const GOOGLE = "google-generative-ai";

/** rule, transcript, api, index of the problem, positions that are left (and blocks, where a message is edited). */
const CASES = [
  ["orphan-result", [user(), result("a"), assistant([text("x")])], undefined, 1, [0, 2]],
  ["late-result", [user(), assistant([call("a")]), user("stop"), result("a")], undefined, 3, [0, 1, 3, 2]],
  ["duplicate-result", [user(), assistant([call("a")]), result("a"), result("a")], undefined, 3, [0, 1, 2]],
  [
    "orphan-result",
    [user(), assistant([call("a")], { stopReason: "aborted" }), result("a")],
    undefined,
    2,
    [0, 1],
  ],
  ["unanswered-call", [user(), assistant([call("a")]), user()], undefined, 1, [0, 2]],
  ["unanswered-call", [user(), assistant([thinking, text("x"), call("a")]), user()], undefined, 1, [0, 2]],
  [
    "unanswered-call",
    [user(), assistant([text("x"), call("a"), call("b")]), result("b")],
    undefined,
    1,
    [0, { 1: [0, 2] }, 2],
  ],
  ["starts-with-reply", [assistant([call("a")]), result("a"), user()], undefined, 0, [2]],
  ["empty-message", [user(), assistant([]), user()], undefined, 1, [0, 2]],
  ["empty-message", [user(), user(" \n")], undefined, 1, [0]],
  ["blank-text", [user([text(""), text("x")])], ANTHROPIC, 0, [{ 0: [1] }]],
  ["call-id-pattern", [user(), assistant([call("a|b")]), result("a|b")], ANTHROPIC, 1, [0]],
  [
    "duplicate-call-id",
    [user(), assistant([call("a")]), result("a"), assistant([call("a")]), result("a")],
    ANTHROPIC,
    3,
    [0, 1, 2],
  ],
  [
    "text-after-call",
    [user(), assistant([call("a"), text("x")]), result("a")],
    ANTHROPIC,
    1,
    [0, { 1: [0] }, 2],
  ],
  ["trailing-space", [user(), assistant([text("x ")])], ANTHROPIC, 1, [0, 1]],
  ["thinking-alone", [user(), assistant([thinking]), user()], ANTHROPIC, 1, [0, 2]],
  ["thinking-alone", [user(), assistant([thinking]), user()], "openai-responses", 1, [0, 2]],
  ["unsigned-call", [user(), assistant([call("a")], { model: "gemini-3-pro" }), result("a")], GOOGLE, 1, [0]],
  [
    "call-after-reply",
    [user(), assistant([text("x")]), assistant([call("a")]), result("a")],
    GOOGLE,
    2,
    [0, 2, 3],
  ],
  ["ends-on-reply", [user(), assistant([text("x")])], GOOGLE, 1, [0, 1]],
];

for (const [rule, messages, api, index, left] of CASES) {
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
  const half = "a\ud83d";
  const messages = [user(half), assistant([call("a", { arguments: { half } })]), result("a")];
  assert.deepEqual(
    validate(messages).map(({ index, rule }) => [index, rule]),
    [
      [0, "lone-surrogate"],
      [1, "lone-surrogate"],
    ],
  );
  assert.deepEqual(repair(messages), [user("a\ufffd")]);
  assert.deepEqual(repair([user([text(half), text("b")])]), [user([text("a\ufffd"), text("b")])]);
  assert.deepEqual(validate([user("😀")]), []);
});

test("the newest assistant's api decides where none is named", () => {
  const messages = [user(), assistant([call("a|b")], { api: ANTHROPIC }), result("a|b")];
  assert.deepEqual(
    validate(messages).map(({ rule }) => rule),
    ["call-id-pattern"],
  );
  assert.deepEqual(validate(messages, "openai-responses"), []);
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
  "orphans after one assistant": [user(), assistant([text("x")]), ...many((i) => result(`o${i}`))],
  "user messages": many(() => user()),
  "messages of unknown roles after a call": [
    user(),
    assistant([call("a")]),
    ...many(() => ({ role: "app" })),
  ],
  "calls of one message, answered from the last to the first": [
    user(),
    assistant(many((i) => call(`c${i}`))),
    ...many((i) => result(`c${MANY - 1 - i}`)),
  ],
  "unanswered calls of one message": [user(), assistant([text("x"), ...many((i) => call(`c${i}`))]), user()],
  "results of a call that comes first": [
    assistant(many((i) => call(`c${i}`))),
    ...many((i) => result(`c${i}`)),
  ],
};

for (const [name, messages] of Object.entries(LONG)) {
  test(`${MANY} ${name} take a time that grows with their number`, { timeout: 30_000 }, () => {
    const problems = validate(messages);
    const mended = repair(messages);
    assert.equal(mended === messages, problems.length === 0);
    assert.deepEqual(validate(mended), []);
  });
}
