// Input no well-behaved host would hand in. Every call resolves; with the input array itself where nothing better can
// be done.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createContextGuard } from "pi-strata/guard";
import { countTokens, createTransformContext } from "../index.js";
import { answer, call, result, text, thinking, user } from "./support/messages.mjs";

const tight = (options) =>
  createTransformContext({ schedule: "everyCall", contextWindow: 2000, reserveTokens: 100, ...options });

async function transformed(messages) {
  const failures = [];
  const sent = await tight({ onEvent: (event) => event.type === "failed" && failures.push(event.code) })(
    messages,
  );
  return { sent, failures };
}

/** Comes back as it was, without a failure. */
async function passes(messages) {
  const { sent, failures } = await transformed(messages);
  assert.equal(sent, messages);
  assert.deepEqual(failures, []);
}

test("no messages come back as they are", () => passes([]));

test("what is no array comes back, with one failure", async () => {
  for (const value of [undefined, null, 7, "text", {}, user("x"), new Map(), Symbol("s"), 7n, () => {}]) {
    const { sent, failures } = await transformed(value);
    assert.equal(sent, value);
    assert.deepEqual(failures, ["ERR_INVALID_INPUT"]);
  }
});

test("null, numbers, strings and holes among the messages pass", async () => {
  const messages = [user("go"), null, 7, "text", undefined, true, Symbol("s"), 7n, [], () => {}, {}];
  messages.length += 2;
  await passes(messages);
});

test("unknown roles and blocks pass", () =>
  passes([
    user("go"),
    { role: "app", payload: 1 },
    { role: "constructor", content: "x" },
    { role: "__proto__" },
    { role: Symbol("role") },
    { role: 7 },
    { role: {} },
    user([{ type: "app" }, { type: "toString" }, { type: 7 }, {}, null, 7, "text", []]),
  ]));

test("a role named like a property of every object is no system message", async () => {
  const messages = [user("go"), { role: "constructor", content: "word ".repeat(3000) }, user("x"), user("y")];
  const sent = await tight({ keepRecentMessages: 1 })(messages);
  assert.ok(!sent.includes(messages[1]));
});

test("content that is null, missing, a string, empty, a number or an object passes", async () => {
  for (const content of [null, undefined, "", "text", [], 7, {}, true, 7n, Symbol("s")]) {
    for (const role of ["system", "user", "assistant", "custom"])
      await passes([user("go"), { role, content }]);
    await passes([user("go"), answer(":a"), { ...result("a", ""), content }]);
  }
});

test("fields of the wrong type pass, wherever they are", async () => {
  for (const odd of [null, 7, {}, [], 7n, true, Symbol("s"), Number.NaN]) {
    await passes([
      { role: "system", content: "x", sections: odd, toolsAdded: odd },
      { role: "user", content: [text(odd)], timestamp: odd },
      answer(
        [text(odd), thinking(odd, odd), call("a", { name: odd, arguments: odd, thoughtSignature: odd })],
        { api: odd, provider: odd, model: odd, usage: odd, stopReason: odd },
      ),
      result("a", [text(odd)], { toolName: odd }),
      answer("done", {
        usage: { input: 10, output: odd, cacheWrite1h: odd, cost: { input: odd, cacheRead: odd } },
      }),
      { role: "bashExecution", command: odd, output: odd },
      { role: "branchSummary", summary: odd },
    ]);
  }
});

test("tool arguments that JSON cannot say pass", async () => {
  const cyclic = {};
  cyclic.self = cyclic;
  let deep = {};
  for (let i = 0; i < 10_000; i += 1) deep = { deep };
  const getter = Object.defineProperty({}, "x", {
    enumerable: true,
    get() {
      throw new Error("no");
    },
  });
  const odd = [cyclic, deep, getter, { big: 7n }, new Proxy({}, {}), { toJSON: () => undefined }];
  for (const parameters of odd)
    await passes([user("go"), answer([call("a", { arguments: parameters })]), result("a", "ok")]);
});

test("own __proto__ keys are carried, not obeyed", async () => {
  const text = JSON.stringify("line\n".repeat(500));
  const hostile = JSON.parse(
    `{"role":"toolResult","toolCallId":"a","toolName":"read","__proto__":{"polluted":true},"content":[{"type":"text","text":${text}}]}`,
  );
  const messages = [
    user("go"),
    answer([call("a", { arguments: JSON.parse('{"__proto__":{"polluted":true}}') })]),
    hostile,
    user("next"),
  ];
  const sent = await tight({ keepRecentToolResults: 0 })(messages);
  assert.notEqual(sent[2], hostile, "it was summarised");
  assert.deepEqual(
    Object.getOwnPropertyDescriptor(sent[2], "__proto__"),
    Object.getOwnPropertyDescriptor(hostile, "__proto__"),
  );
  assert.equal(Object.getPrototypeOf(sent[2]), Object.prototype);
  assert.equal({}.polluted, undefined);
});

test("messages of a class keep their prototype", async () => {
  class Message {
    constructor(fields) {
      Object.assign(this, fields);
    }
  }
  const messages = [user("go"), answer(":a"), new Message(result("a", "line\n".repeat(500))), user("next")];
  const sent = await tight({ keepRecentToolResults: 0 })(messages);
  assert.ok(sent[2] !== messages[2] && sent[2] instanceof Message);
});

test("100 MB of text are cut to the window", { timeout: 300_000 }, async () => {
  const line = `${"The quick brown fox jumps over the lazy dog. 快速的棕色狐狸。".repeat(20)}\n`;
  const text = line.repeat(Math.ceil((100 * 1024 * 1024) / Buffer.byteLength(line)));
  const messages = [user("go"), answer(":a"), result("a", text), user("next")];
  const { sent, failures } = await transformed(messages);
  assert.deepEqual(failures, []);
  assert.ok(countTokens(sent) <= 1900);
});

test("an aborted signal, and things that are no signal", async () => {
  const messages = [user("go"), result("orphan", "x")];
  assert.equal(await tight()(messages, AbortSignal.abort()), messages);
  const addEventListener = () => {};
  const removeEventListener = throwing(new Error("no"));
  const unremovable = { aborted: false, addEventListener, removeEventListener };
  for (const signal of [null, 7, "text", {}, { aborted: false }, { addEventListener }, unremovable]) {
    assert.deepEqual(await tight()(messages, signal), [messages[0]]);
  }
  const hostile = {
    get aborted() {
      throw new Error("no");
    },
  };
  for (const signal of [hostile, { ...unremovable, addEventListener: removeEventListener }])
    assert.equal(await tight()(messages, signal), messages);
});

/** More results than stay whole. */
const NINE = [
  user(),
  ...Array.from({ length: 9 }, (_, i) => [answer(`:c${i}`), result(`c${i}`, "line\n".repeat(400))]).flat(),
];
const throwing = (error) => () => {
  throw error;
};

/** A function of the host's that fails: `[option, what it does, the function, the event's words]`. */
const FAILING = [
  ...Object.entries({
    "returned undefined": () => undefined,
    "returned 0": () => 0,
    "returned NaN": () => Number.NaN,
    "returned -1": () => -1,
    "returned a string": () => "200000",
    "threw an error": () => undefined.contextWindow,
  }).map(([cause, contextWindow]) => [
    "contextWindow",
    contextWindow,
    `option contextWindow: the function ${cause}; a window of 200000 tokens stands in`,
  ]),
  ["marker", throwing(new Error("secret")), "threw an error"],
  ["marker", () => 7, "7"],
  ["marker", () => " ", "a blank text"],
  ["marker", async () => "cut", "an object"],
  ["protect", async () => false, "promise"],
];

for (const [option, value, words] of FAILING) {
  test(`${option} as ${value}: the default stands in, and one event says so`, async () => {
    const events = [];
    const onEvent = (event) => events.push(event);
    const hook = createTransformContext({ [option]: value, schedule: "everyCall", onEvent });
    // The built-in markers beside a function are those of "auto".
    const builtIn = option === "marker" ? { marker: "auto" } : {};
    const plain = await createTransformContext({ schedule: "everyCall", ...builtIn })(NINE);
    assert.notEqual(plain, NINE);
    for (let i = 0; i < 3; i += 1) assert.deepEqual(await hook(NINE), plain);
    const [told, ...more] = events.filter(({ type }) => /Unknown|Failed|failed/.test(type));
    assert.deepEqual([told.type, told.option, more], ["optionFailed", option, []]);
    assert.ok(told.message.includes(words) && !told.message.includes("secret"), told.message);
    assert.equal(events.filter(({ type }) => type === "transformed").length, 3);
  });
}

test("a guard whose contextWindow() names none takes 200 000, too", async () => {
  const events = [];
  const guard = createContextGuard({ contextWindow: () => 0, onEvent: (event) => events.push(event) });
  const messages = [user(), answer(":a"), result("a", "x".repeat(60_000))];
  assert.notEqual(await guard(messages), messages);
  assert.match(events[0].message, /^Context guard: option contextWindow: the function returned 0/);
});
