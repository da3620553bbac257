// What an agent lives by stays whole in its newest state: instructions, the plan, what a memory brought.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext, explain } from "../index.js";
import { agentSession, REPORT } from "./support/agent-session.mjs";

const rows = (name, count) =>
  Array.from({ length: count }, (_, i) => `${name} ${i}: take ${name}${i * 7} before ${(i * 31) % 97}`).join(
    "\n",
  );
const todos = (round) =>
  JSON.stringify(Array.from({ length: 30 }, (_, i) => `[${i < round ? "x" : " "}] task ${i} of the plan`));

/** A session with a pause at its end that leaves no cache. */
const session = (steps, usage = REPORT) =>
  agentSession(steps, {
    answer: (i) => ({ usage: { ...usage, input: usage.input + 2000 * i } }),
    pauseMs: 3_600_000,
  });

const logs = Array.from({ length: 60 }, (_, i) => ["bash", { command: `make p${i}` }, rows(`log${i}_`, 120)]);
const STEPS = [
  ["bash", { command: "cat skills/report/SKILL.md" }, rows("rule", 60)],
  ["todo_write", { todos: todos(1) }, "saved"],
  ...logs.slice(0, 20),
  ["todo_write", { todos: todos(9) }, "saved"],
  ["memory_search", { query: "deploy" }, rows("note", 40)],
  ...logs.slice(20),
];
const OPTIONS = { marker: "en", economy: 30 };
const sent = (options) => createTransformContext({ ...OPTIONS, ...options })(session(STEPS));
const has = (messages, call) => messages.some(({ toolCallId }) => toolCallId === `call${call}`);
const whole = (messages, call) => {
  const result = messages.find(({ toolCallId }) => toolCallId === `call${call}`);
  return result?.content[0].text === STEPS[call][2];
};

test("rules, the newest todo list and memories stay whole where logs go", async () => {
  const out = await sent();
  assert.ok(whole(out, 0) && whole(out, 23), "the skill and the memory");
  assert.ok(has(out, 22), "the newest list");
  assert.ok(!whole(out, 3), "a log");
  const off = await sent({ keep: false });
  assert.ok(!whole(off, 0) && !whole(off, 23));
});

/** A script that writes back what it read, and more. */
const APPENDED = "s = open('AGENTS.md').read()\nopen('AGENTS.md', 'w').write(s + '- one more rule')";

test("an answer that failed or is short replaces no state, a newer state does", async () => {
  const read = ["read", { path: "AGENTS.md" }, rows("rule", 60)];
  const write = ["write", { path: "AGENTS.md", content: rows("new", 60) }, "File written"];
  for (const [later, isError, isWhole] of [
    [[...read.slice(0, 2), "Unchanged since it was read"], false, true],
    [[...read.slice(0, 2), rows("failure", 60)], true, true],
    [[...write.slice(0, 2), "The user rejected it"], true, true],
    [["bash", { command: `python3 - <<'PY'\n${APPENDED}\nPY` }, "done"], false, true],
    [write, false, false],
    [["write", { path: "AGENTS.md", content: "- one rule" }, "File written"], false, false],
    [[...read.slice(0, 2), rows("other", 60)], false, false],
  ]) {
    const list = session([read, ...logs.slice(0, 30), later, ...logs.slice(30)]);
    for (const message of list) if (message.toolCallId === "call31") message.isError = isError;
    const out = await createTransformContext(OPTIONS)(list);
    const first = out.find(({ toolCallId }) => toolCallId === "call0");
    assert.equal(first?.content[0].text === read[2], isWhole, later[2]);
  }
});

test("what was replaced stays replaced, and a whole version replaces its parts", async () => {
  const read = ["read", { path: "PLAN.md" }, rows("step", 60)];
  const part = ["read", { path: "PLAN.md", offset: 10, limit: 20 }, rows("part", 60)];
  const write = ["write", { path: "PLAN.md", content: "- one step" }, "File written"];
  const list = (count) => ["todo_write", { todos: rows("step", count) }, "saved"];
  for (const [first, ...later] of [
    [read, write, ["read", { path: "PLAN.md" }, "- one step"]],
    [part, write],
    [list(60), list(50), list(40), list(29)],
  ]) {
    const out = await createTransformContext(OPTIONS)(
      session([first, ...logs.slice(0, 30), ...later, ...logs.slice(30)]),
    );
    const shown = out.find(({ toolCallId }) => toolCallId === "call0")?.content[0].text;
    assert.ok(first[0] === "todo_write" ? !has(out, 0) : shown !== first[2], `${first[0]} ${later.length}`);
  }
});

test("a part of a state and a short answer replace none", async () => {
  const read = ["read", { path: "AGENTS.md" }, rows("rule", 60)];
  const both = ["bash", { command: "cat AGENTS.md CLAUDE.md" }, rows("rule", 60)];
  const board = ["board", {}, rows("door", 60)];
  const plan = ["todo_write", { todos: rows("step", 60) }, "saved"];
  for (const [first, later] of [
    [board, ["board", {}, "unchanged"]],
    [plan, ["todo_write", { todos: "step 3 is done", merge: true }, "saved"]],
    [plan, ["todo_write", { todos: rows("step", 20), merge: true }, "saved"]],
    [read, ["show", { path: "AGENTS.md", around: "rule9" }, rows("rule", 20)]],
    [both, read],
  ]) {
    const list = session([first, ...logs.slice(0, 30), later, ...logs.slice(30)]);
    const out = await createTransformContext({ ...OPTIONS, keep: { tools: ["board"] } })(list);
    assert.ok(has(out, 0) && has(out, 31), first[0]);
    const shown = out.find(({ toolCallId }) => toolCallId === "call0").content[0].text;
    assert.equal(shown, first[2]);
  }
});

test("a host names more, and explain says what is kept", async () => {
  const named = { keep: { files: ["*.log"], tools: ["bash"] } };
  const steps = [["read", { path: "run.log" }, rows("event", 60)], ...logs];
  const out = await createTransformContext({ ...OPTIONS, ...named })(session(steps));
  assert.equal(out.find(({ toolCallId }) => toolCallId === "call0")?.content[0].text, steps[0][2]);
  const { kept } = await explain(session(STEPS), OPTIONS);
  assert.deepEqual(kept.map(({ why }) => why).toSorted(), [
    "keep: SKILL.md",
    "keep: memory_search",
    "keep: todo_write",
  ]);
  for (const keep of [{ file: ["a"] }, { files: ["docs/*.md"] }, { files: ["docs/"] }, { files: [""] }])
    assert.throws(() => createTransformContext({ keep }), /keep .*files and tools/);
});

test("under everyCall nothing is kept unless it is asked for", async () => {
  const every = { schedule: "everyCall", contextWindow: 1_000_000 };
  assert.ok(!whole(await sent(every), 0));
  assert.ok(whole(await sent({ ...every, keep: {} }), 0));
});

test("a tenth of the window is all that is kept, and a limit outranks it", async () => {
  const long = [["read", { path: "AGENTS.md" }, rows("rule", 3000)], ...logs];
  const out = await createTransformContext(OPTIONS)(session(long));
  assert.notEqual(out.find(({ toolCallId }) => toolCallId === "call0")?.content[0].text, long[0][2]);
  assert.ok(!whole(await sent({ maxPromptTokens: 8000 }), 0));
});

test("without any usage a first call is layers 1 to 3, word for word", async () => {
  const list = session(STEPS.slice(0, 30), {});
  const every = await createTransformContext({ schedule: "everyCall" })(list);
  assert.deepEqual(await createTransformContext({})(list), every);
  assert.notDeepEqual(every, list);
  const hook = createTransformContext({});
  for (let end = 1; end < 12; end += 2) {
    const part = list.slice(0, end);
    assert.deepEqual(await hook(part), await createTransformContext({ schedule: "everyCall" })(part));
  }
});

test("an explicit head and tail are the least that a cut by line shows", async () => {
  const tails = async (options) => {
    const out = await sent(options);
    const cut = out.filter(
      (message) =>
        message.role === "toolResult" && !STEPS.some(([, , text]) => text === message.content[0].text),
    );
    return cut.map(({ content }) => content[0].text.split("\n")).filter((lines) => lines.length > 1);
  };
  const cut = await tails({ summaryHeadLines: 4, summaryTailLines: 8, economy: 60 });
  assert.ok(cut.length > 0);
  for (const lines of cut) {
    assert.match(lines[3], / 3: take /);
    assert.match(lines.at(-8), / \d+: take /);
    assert.match(lines.at(-1), / \d+: take /);
  }
});
