// The constants of forgetting: the counts against a plain search of the texts, a session with known rates, and constants
// that are found again in what they make.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { fitted, fittedWithSpread, summed } from "../bench/fit/forgetting.mjs";
import { messagesIn } from "../bench/fit/formats.mjs";
import { measure } from "../bench/fit/measure.mjs";
import { SPAN, spansOf } from "../bench/needs/texts.mjs";
import { countTokens } from "../index.js";

const folder = mkdtempSync(join(tmpdir(), "pi-strata-fit-"));
after(() => rmSync(folder, { recursive: true }));

const user = (text) => ({ role: "user", content: text });
const says = (text) => ({ role: "assistant", content: [{ type: "text", text }] });
const calls = (id, name, given) => ({
  role: "assistant",
  content: [{ type: "toolCall", id, name, arguments: given }],
});
const returns = (id, text) => ({ role: "toolResult", toolCallId: id, content: [{ type: "text", text }] });
const near = (actual, expected) =>
  assert.ok(Math.abs(actual - expected) < 1e-9 * (1 + expected), `${actual} is not ${expected}`);

const LINE = "const answer = fortyTwo(questionOfAll);";

test("a line that is read, quoted three calls later and then gone has those counts at those ages", () => {
  const { lines, names } = measure([
    user("Mend it."),
    calls("a", "read", { path: "x" }),
    returns("a", LINE),
    says("one"),
    says("two"),
    says("three"),
    calls("b", "edit", { path: "x", oldText: LINE, newText: "const answer = 42 + nothingElse;" }),
    returns("b", "done"),
    says("end"),
  ]);
  const read = lines.get("read result, of 30 or fewer");
  assert.deepEqual([...read.inView.slice(0, 4)], [1, 1, 1, 1]);
  assert.deepEqual([...read.needed.slice(0, 4)], [0, 0, 0, 1]);
  assert.deepEqual([...read.awaited.slice(0, 4)], [1, 1, 1, 1]);
  assert.deepEqual([...lines.get("edit argument, of 30 or fewer").needed].filter(Boolean), []);
  // `fortyTwo` and `questionOfAll` come back in the edit; both age from when they were read.
  assert.deepEqual([...names.get("name, only in results").needed.slice(0, 4)], [0, 0, 0, 2]);
});

const WORDS = [
  "alpha beta gamma delta epsilon ",
  "one two three four five six seven ",
  "lorem ipsum dolor sit amet x ",
];
const part = fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }).map((words) => words.join(""));
const conversation = fc.array(fc.tuple(fc.constantFrom("says", "returns", "user"), part), { maxLength: 12 });

test("what is in view and what is needed are what a plain search finds", () => {
  fc.assert(
    fc.property(conversation, (parts) => {
      const messages = parts.map(([by, text], i) =>
        ({ says, user, returns: (said) => returns(`c${i}`, said) })[by](text),
      );
      const expected = searched(messages);
      const { spans } = measure(messages);
      for (const kind of ["own text", "other result", "user text"]) {
        const counts = summed([...spans].filter(([name]) => name.startsWith(kind)).map(([, count]) => count));
        for (let age = 0; age < messages.length; age += 1) {
          near(counts.inView[age] ?? 0, expected.get(`${kind} ${age} in view`) ?? 0);
          near(counts.needed[age] ?? 0, expected.get(`${kind} ${age} needed`) ?? 0);
        }
      }
    }),
  );
});

/** The same by looking, at each answer, for the last message that has a span. */
function searched(messages) {
  const found = new Map();
  const add = (name, value) => found.set(name, (found.get(name) ?? 0) + value);
  const textOf = ({ content }) => (typeof content === "string" ? content : content[0].text);
  const kinds = { assistant: "own text", toolResult: "other result", user: "user text" };
  const spansIn = (text) =>
    Array.from({ length: Math.max(0, text.length - SPAN + 1) }, (_, at) => text.slice(at, at + SPAN));
  const callsTo = (end) => messages.slice(0, end).filter(({ role }) => role === "assistant").length;
  for (const [i, message] of messages.entries()) {
    if (message.role !== "assistant") continue;
    const before = messages.slice(0, i);
    const newest = (span) => before.findLastIndex((one) => textOf(one).includes(span));
    const nameOf = (at) => `${kinds[messages[at].role]} ${callsTo(i) - callsTo(at + 1)}`;
    for (const span of new Set(before.flatMap((one) => spansIn(textOf(one))))) {
      const text = textOf(messages[newest(span)]);
      add(`${nameOf(newest(span))} in view`, countTokens(text) / text.length);
    }
    for (const span of spansOf(message)) if (newest(span) >= 0) add(`${nameOf(newest(span))} needed`, 1);
  }
  return found;
}

test("constants are found again in the counts they make, from any age on", () => {
  const inView = Array.from({ length: 300 }, (_, age) => 1e5 / (1 + age));
  for (const halfLife of [1, 10, 100]) {
    const events = inView.map((count, age) => (0.04 * count) / (1 + age / halfLife));
    for (const least of [0, 3]) {
      const found = fitted(inView, events, least);
      assert.ok(Math.abs(found.chance / 0.04 - 1) < 1e-6 && Math.abs(found.halfLife / halfLife - 1) < 1e-6);
    }
  }
  assert.equal(fitted([1, 1], [0, 0]).chance, 0);
});

test("the spread is that of the repositories: none among equal ones", () => {
  const counts = (chance) => ({
    inView: [1000, 1000],
    needed: [chance * 1000, chance * 900],
    awaited: [0, 0],
  });
  const spreadOf = (chances) => fittedWithSpread(chances.map(counts), "needed").spread.chance;
  const [low, high] = spreadOf([0.1, 0.1, 0.1]);
  near(low, high);
  const [least, most] = spreadOf([0.01, 0.1, 0.3]);
  assert.ok(least < 0.1 && most > 0.15);
});

const jsonLines = (records) => records.map((record) => JSON.stringify(record)).join("\n");
const args = JSON.stringify({ path: "x" });
const item = (payload) => ({ type: "response_item", payload });
const FILES = {
  codex: jsonLines([
    item({ type: "message", role: "developer", content: [{ text: "rules" }] }),
    item({ type: "message", role: "user", content: [{ type: "input_text", text: "go" }] }),
    item({ type: "message", role: "assistant", content: [{ type: "output_text", text: "I read" }] }),
    item({ type: "function_call", name: "read", arguments: args, call_id: "a" }),
    item({ type: "function_call_output", call_id: "a", output: JSON.stringify({ output: "text" }) }),
  ]),
  chat: JSON.stringify({
    messages: [
      { role: "system", content: "rules" },
      { role: "user", content: [{ type: "text", text: "go" }] },
      { role: "assistant", content: "I read" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "a", function: { name: "read", arguments: args } }],
      },
      { role: "tool", tool_call_id: "a", content: "text" },
    ],
  }),
  anthropic: jsonLines([
    { role: "user", content: "go" },
    { role: "assistant", content: [{ type: "text", text: "I read" }] },
    { role: "assistant", content: [{ type: "tool_use", id: "a", name: "read", input: { path: "x" } }] },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "text" }] }],
    },
  ]),
  opencode: JSON.stringify({
    messages: [
      { info: { role: "user" }, parts: [{ type: "text", text: "go" }] },
      {
        info: { role: "assistant" },
        parts: [
          { type: "step-start" },
          { type: "text", text: "I read" },
          { type: "tool", callID: "a", tool: "read", state: { input: { path: "x" }, output: "text" } },
        ],
      },
    ],
  }),
  gemini: JSON.stringify({
    messages: [
      { type: "user", content: "go" },
      {
        type: "gemini",
        content: "I read",
        toolCalls: [
          {
            id: "a",
            name: "read",
            args: { path: "x" },
            result: [{ functionResponse: { response: { output: "text" } } }],
          },
        ],
      },
    ],
  }),
  managed: jsonLines([
    { raw: { type: "user.message", content: [{ text: "go" }] } },
    { raw: { type: "agent.message", content: [{ text: "I read" }] } },
    { raw: { type: "agent.tool_use", id: "a", name: "read", input: { path: "x" } } },
    { raw: { type: "agent.tool_result", tool_use_id: "a", content: [{ text: "text" }] } },
  ]),
};

for (const [format, file] of Object.entries(FILES)) {
  test(`reads ${format}`, async () => {
    const path = join(folder, format);
    writeFileSync(path, file);
    assert.deepEqual(await messagesIn(path, format), [
      { role: "user", content: [{ type: "text", text: "go" }] },
      {
        role: "assistant",
        content: [
          { type: "text", text: "I read" },
          { type: "toolCall", id: "a", name: "read", arguments: { path: "x" } },
        ],
      },
      { role: "toolResult", toolCallId: "a", content: [{ type: "text", text: "text" }] },
    ]);
  });
}
