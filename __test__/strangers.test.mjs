// What stands between a call and its results moves behind them, of two calls with one id the second goes, and a list that is
// not pi's comes back as it came: through the hook under both schedules, through repair, and on the wire of real pi.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTransformContext, explain, repair, validate } from "../index.js";
import { authors } from "./support/authors.mjs";
import { forEachPi } from "./support/each-pi.mjs";
import { fieldsOf } from "./support/fields.mjs";
import {
  answer,
  bash,
  call,
  custom,
  image,
  result,
  spelled,
  text,
  thinking,
  user,
} from "./support/messages.mjs";
import { printedBy } from "./support/root.mjs";
import { table } from "./support/tables.mjs";
import { judge } from "./support/wire/judge.mjs";
import { PiWire } from "./support/wire/pi.mjs";

const [claude] = authors;

/** Name, list, and the positions in the order of the request. */
const STRANGERS = table("strangers.json").map(([name, words, order]) => [name, spelled(words), order]);

/** Messages that pi does not send, or sends at no place of their own. */
const UNSENT = [
  { role: "notification", text: "x" },
  { ...bash, excludeFromContext: true },
  { role: "system", content: "x" },
];

const SCHEDULES = ["sticky", "everyCall"];

describe("a message between a call and its results", () => {
  for (const [name, messages, order] of STRANGERS) {
    const wanted = order.map((index) => messages[index]);

    test(`${name} moves behind the results, also by repair`, async () => {
      for (const schedule of SCHEDULES) {
        const events = [];
        const hook = createTransformContext({ schedule, onEvent: (event) => events.push(event) });
        const before = messages.slice();
        const sent = await hook(messages);
        assert.deepEqual(sent, wanted);
        for (const [i, message] of sent.entries()) assert.equal(message, wanted[i], "the same object");
        assert.deepEqual(messages, before, "the host's own list stays");
        const told = events.filter(({ type, after }) => type === "repaired" && after !== undefined);
        const moves = order.flatMap((index, at) =>
          at > 0 && index < Math.max(...order.slice(0, at)) ? [index] : [],
        );
        assert.deepEqual(told.map(({ index }) => index).sort(), moves.sort());
        assert.ok(told.every(({ rule }) => rule === "late-result"));
        assert.deepEqual(await hook(messages), wanted, "the same bytes at the next call");
        assert.deepEqual(await hook([...messages, user("next")]), [...wanted, user("next")]);
      }
      const { edits } = await explain(messages);
      const moved = edits.filter(({ action }) => action === "moveAfter");
      assert.ok(moved.length > 0 && moved.every(({ after, tokensSaved }) => after > 0 && tokensSaved === 0));
      for (const api of ["anthropic-messages", "openai-completions", "openai-responses"]) {
        assert.ok(validate(messages, api).some(({ rule }) => rule === "late-result"));
        assert.deepEqual(repair(messages, api), wanted);
        assert.deepEqual(validate(repair(messages, api), api), []);
      }
    });
  }

  test("what pi does not send stays in place", async () => {
    for (const message of UNSENT) {
      const messages = spelled("u :a x =a a u").with(2, message);
      assert.equal(await createTransformContext()(messages), messages);
      assert.equal(repair(messages), messages);
      const both = messages.toSpliced(3, 0, custom);
      assert.deepEqual(
        await createTransformContext()(both),
        [0, 1, 2, 4, 3, 5, 6].map((i) => both[i]),
      );
    }
  });

  test("the results are shortened as elsewhere", async () => {
    const long = "some line of output\n".repeat(400);
    const messages = [
      user(),
      answer(":a b"),
      user([image]),
      result("a", long),
      user(long),
      result("b", long),
    ];
    const options = { keepRecentToolResults: 0, schedule: "everyCall" };
    const later = [...messages, answer("done"), user("next")];
    const sent = await createTransformContext(options)(later);
    const roles = "user assistant toolResult toolResult user user assistant user";
    assert.equal(fieldsOf(sent, "role").join(" "), roles);
    assert.deepEqual([sent[4], sent[5]], [later[2], later[4]]);
    assert.ok(sent[2].content[0].text.length < long.length && sent[3].content[0].text.length < long.length);
  });

  test("a result that comes after its call went goes, too", async () => {
    for (const schedule of SCHEDULES) {
      const hook = createTransformContext({ contextWindow: 4000, schedule });
      const list = [user(), answer(":a b"), result("a", "word ".repeat(3000)), user("wait")];
      for (let i = 0; i < 20; i += 1) list.push(user(`more ${i} ${"word ".repeat(100)}`));
      await hook(list);
      list.push(answer("aside"), result("b"), user("next"));
      const sent = await hook(list);
      const called = new Set(
        sent.flatMap(({ role, content }) => (role === "assistant" ? content : [])).map(({ id }) => id),
      );
      const answered = sent.filter(({ role }) => role === "toolResult");
      assert.ok(
        answered.every(({ toolCallId }) => called.has(toolCallId)),
        schedule,
      );
    }
  });

  test("once the call is gone nothing moves", async () => {
    const old = [user(), answer(":a"), user("wait"), result("a", "word ".repeat(4000)), answer("ok")];
    const messages = [...old, ...Array.from({ length: 30 }, (_, i) => user(`question ${i}`))];
    const events = [];
    const options = { contextWindow: 4000, schedule: "everyCall", onEvent: (event) => events.push(event) };
    const sent = await createTransformContext(options)(messages);
    assert.ok(!sent.some(({ role }) => role === "toolResult"));
    assert.ok(!events.some(({ after }) => after !== undefined));
  });
});

await forEachPi(async (version) => {
  const wire = await PiWire.load(version);
  test(`on the wire of pi ${version} the real result answers the call`, async () => {
    for (const [name, messages] of STRANGERS) {
      const judged = async (list) => {
        const reported = list.map((message) => ({ ...message, usage: {} }));
        return judge(claude.api, await wire.payloadOf(claude, reported));
      };
      const sent = await createTransformContext()(messages);
      assert.ok((await judged(messages)).length > 0, name);
      assert.deepEqual(await judged(sent), [], name);
    }
  });
});

describe("two calls of one id in one answer", () => {
  const content = [text("I look"), call("a"), call("a", { name: "unknown" }), call("b")];
  const results = [result("a", "real"), result("a", "aborted"), result("b")];
  const messages = [user(), answer(content), ...results, user("next")];
  const called = { ...messages[1], content: content.toSpliced(2, 1) };
  const wanted = messages.with(1, called).toSpliced(3, 1);

  test("the second goes with its result, under both schedules", async () => {
    for (const schedule of SCHEDULES) {
      const events = [];
      const hook = createTransformContext({ schedule, onEvent: (event) => events.push(event) });
      assert.deepEqual(await hook(messages), wanted);
      assert.deepEqual(await hook(messages), wanted);
      const rules = events
        .filter(({ type }) => type === "repaired")
        .map(({ index, rule }) => `${index} ${rule}`);
      assert.deepEqual(rules.slice(2), ["1 duplicate-call-id", "3 orphan-result"]);
    }
    const { edits } = await explain(messages);
    const [edit] = edits.filter(({ action }) => action === "dropCalls");
    assert.ok(edit.index === 1 && edit.tokensSaved > 0);
  });

  test("it goes with the thinking, too", async () => {
    const list = [
      ...messages.with(1, answer([thinking(), ...content])),
      answer([thinking(), text("ok")]),
      user(),
    ];
    const [, edited] = await createTransformContext({ schedule: "everyCall" })(list);
    assert.deepEqual(edited.content, content.toSpliced(2, 1));
  });

  test("repair drops only the second call, on every wire", () => {
    for (const api of [
      "anthropic-messages",
      "openai-completions",
      "openai-responses",
      "google-generative-ai",
    ]) {
      assert.ok(
        validate(messages, api).some(({ rule, index }) => rule === "duplicate-call-id" && index === 1),
      );
      assert.deepEqual(repair(messages, api), wanted);
    }
  });
});

/** What cannot be read behind a mark changes nothing. */
const unreadable = {
  get type() {
    throw new Error("unreadable");
  },
};

/** A list of each other shape, by the mark that shows it. */
const FOREIGN = {
  ...table("foreign-shapes.json"),
  'field "_getType"': [{ content: "q", _getType: () => "human" }],
  'block "tool_use"': [user(), { role: "assistant", content: [{ type: "tool_use", id: "a" }, unreadable] }],
};

describe("a list of another shape", () => {
  for (const [mark, opening] of Object.entries(FOREIGN)) {
    test(`${mark}: comes back as it came, with one event`, async () => {
      const long = user("word ".repeat(3000));
      const list = [
        ...Array.from({ length: 30 }, () => long),
        ...opening,
        ...Array.from({ length: 30 }, () => long),
      ];
      for (const schedule of SCHEDULES) {
        const events = [];
        const options = { schedule, contextWindow: 20_000, onEvent: (event) => events.push(event) };
        assert.equal(await createTransformContext(options)(list), list);
        assert.deepEqual(fieldsOf(events, "type", "mark"), [["unknownShape", mark]]);
        assert.match(events[0].message, / go through |nothing reads /);
      }
      assert.deepEqual(validate(list), []);
      assert.equal(repair(list), list);
    });
  }

  test("a conversation of pi's goes on when the stranger is gone", async () => {
    const hook = createTransformContext({ contextWindow: 4000, onEvent: () => {} });
    const list = Array.from({ length: 40 }, () => user("word ".repeat(400)));
    const sent = await hook(list);
    assert.ok(sent.length < list.length);
    const foreign = [...list, { role: "tool", content: "x" }];
    assert.equal(await hook(foreign), foreign);
    assert.deepEqual(await hook(list), sent);
  });

  test("unknown roles, fields and blocks are pi's", async () => {
    const content = [{ type: "chart", toolUse: 1 }, { type: "toolResult" }];
    const list = [user(), { role: "app", type: "note", content, details: { parts: 1 } }, user("next")];
    const events = [];
    assert.equal(await createTransformContext({ onEvent: (event) => events.push(event.type) })(list), list);
    assert.deepEqual(events, ["transformed"]);
  });

  test("without a listener the process is warned once", () => {
    const script = `
      const { createTransformContext, repair } = require("./index.js");
      process.on("warning", ({ name, code }) => console.log(name, code));
      const list = [{ role: "tool", content: "x" }];
      const hook = createTransformContext();
      hook(list).then(() => hook(list)).then(() => createTransformContext()(list)).then(() => repair(repair(list)));`;
    const said = printedBy(script, "--no-warnings");
    assert.equal(said, "PiStrataWarning unknownShape\nPiStrataWarning unknownShape\n");
  });
});
