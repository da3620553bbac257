// Recorded sessions, read line by line: pi's of every version, Claude Code's, and bare messages, on files small enough to read.

import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { readLines } from "../lib/cli/recording/lines.mjs";
import { sessionManager } from "./coding-agent/pi.mjs";
import { fieldsOf } from "./support/fields.mjs";
import { EXAMPLE } from "./support/recording.mjs";
import { sectionsOf, table } from "./support/tables.mjs";

const TIME = "2026-01-01T00:00:01.000Z";

const asText = (line) => (typeof line === "string" ? line : JSON.stringify(line));
const read = (...lines) => readLines([Buffer.from(lines.map(asText).join("\n"))]);
/** The messages that the next call would have; a converted block also knows its part, by a symbol. */
const contextOf = ({ messages }) => JSON.parse(JSON.stringify(messages));
const linesOf = ({ problems }) => problems.map(({ line }) => line);

/** Role and text, call ids or summary of each message that the next call would have before it. */
function outline(read) {
  const mark = (block) => block.text ?? block.id ?? block.thinking ?? "?";
  return contextOf(read).map(({ role, content, summary }) => {
    const said = content ?? summary;
    return `${role}:${Array.isArray(said) ? said.map(mark).join("+") : said}`;
  });
}

// pi

const HEADER = { type: "session", version: 3, id: "s", timestamp: TIME, cwd: "/p" };
const entry = (type, id, parentId, fields) => ({ type, id, parentId, timestamp: TIME, ...fields });
const said = (id, parentId, content, role = "user") =>
  entry("message", id, parentId, { message: { role, content, timestamp: 5 } });
const compacts = (id, parent, fields) => entry("compaction", id, parent, fields);
const edits = (id, parent, targetId, replacement) =>
  entry("context_edit", id, parent, { targetId, replacement });
const a = said("a", null, "1");

// Claude Code

const claude = (type, uuid, parentUuid, message, more) => ({
  ...{ parentUuid, isSidechain: false, type, message, uuid, timestamp: TIME },
  ...more,
});
const asks = (uuid, parent, content, more) => claude("user", uuid, parent, { role: "user", content }, more);
const text = (value) => ({ type: "text", text: value });

/** What a recording comes to, in the words of expected/recordings.txt. */
function factsOf(recording) {
  const unplayed = Object.entries(recording.unplayed).filter(([, count]) => count > 0);
  const unread = linesOf(recording);
  return [
    ["next", outline(recording)],
    ...recording.calls.map((call) => ["call", outline({ messages: recording.messagesBefore(call) })]),
    ...(unread.length > 0 ? [["unread lines", unread]] : []),
    ["not played", unplayed.map(([why, count]) => `${count} ${why}`)],
    ["stretches", fieldsOf(recording.stretches, "cause")],
  ].map(([name, values]) => `${name} > ${values.join(" | ")}`.trimEnd());
}

const nameOf = (row) => /^([a-z ]+) >/.exec(row)?.[1];
/** By title: the lines of a session, and facts about it. */
const CASES = Object.fromEntries(
  sectionsOf("recordings.txt").map(([what, rows]) => {
    const isFact = (row) => nameOf(row) !== undefined;
    return [what, { lines: rows.filter((row) => !isFact(row)), facts: rows.filter(isFact) }];
  }),
);

for (const [what, { lines, facts }] of Object.entries(CASES))
  test(what, async () => {
    const told = new Set(["unread lines", ...facts.map(nameOf)]);
    const found = factsOf(await read(...lines)).filter((fact) => told.has(nameOf(fact)));
    assert.deepEqual(found, facts);
  });

test("what Claude Code's compaction preserved is the very message that came, and its tokens are told", async () => {
  const of = (what) => read(...CASES[what].lines);
  const cut = await of("Claude Code's compaction cuts off what it summarised");
  assert.equal(contextOf(cut)[0].tokensBefore, 155_000);
  const kept = await of("what Claude Code's compaction preserved follows its summary");
  const [head, preserved] = kept.stretches.at(-1).opening;
  assert.ok(kept.all[preserved].content === "kept" && preserved < head);
});

test("an answer that used no tokens is no call, unless no answer reports any", async () => {
  const answers = (...all) =>
    all.map((usage, i) =>
      entry("message", `${i}`, i === 0 ? "a" : `${i - 1}`, {
        message: { role: "assistant", content: [], usage },
      }),
    );
  const [none, some] = [
    { input: 0, output: 0, cost: { total: 0 } },
    { input: 0, cacheRead: 5 },
  ];
  const playedOf = async (...usages) => {
    const { calls, unplayed, messages } = await read(HEADER, a, ...answers(...usages));
    assert.equal(messages.length, 1 + usages.length, "it stays in the list");
    return [fieldsOf(calls, "at"), unplayed["that used no tokens"]];
  };
  assert.deepEqual(await playedOf(none, some, none, undefined), [[2, 4], 2]);
  assert.deepEqual(await playedOf(none, undefined), [[1, 2], 0]);
});

test("a file's format and times are told as pi has them", async () => {
  const list = await read(
    { type: "session", id: "s" },
    { type: "message", timestamp: "2025-11-20T23:33:01.550Z", message: { role: "assistant", content: [] } },
  );
  assert.equal(list.format, "pi session, version 1");
  assert.deepEqual(contextOf(list), [{ role: "assistant", content: [], timestamp: 1_763_681_581_550 }]);
  const formats = ["pi's old role is renamed", "a sub-agent's own file is read"];
  const told = await Promise.all(formats.map(async (what) => (await read(...CASES[what].lines)).format));
  assert.deepEqual(told, ["pi session, version 2", "Claude Code transcript"]);
  const asked = said("1", null, "a");
  for (const later of [
    { kind: "header", v: 4 },
    { ...HEADER, version: 4 },
  ]) {
    const { format, problems } = await read(later, asked);
    assert.equal(format, "pi session, version 4");
    assert.deepEqual(problems, [
      { line: 1, message: "This version is not known: the file is read as version 3." },
    ]);
  }
});

test("times at which the cache was kept warm, and at which our extension cut, are read", async () => {
  const answer = (id, parent, model) =>
    entry("message", id, parent, { message: { role: "assistant", content: [], provider: "p", model } });
  const warm = (id, parent, model) =>
    entry("usage", id, parent, { kind: "cache_warm", provider: "p", model });
  const cut = (id, parent, customType, cutAt) => entry("custom", id, parent, { customType, data: { cutAt } });
  const { times, all } = await read(
    ...[HEADER, a, answer("b", "a", "m"), warm("c", "b", "m"), warm("d", "c", "other")],
    { ...warm("u", "d", "m"), timestamp: "soon" },
    ...[cut("e", "u", "pi-strata", 77), cut("f", "e", "other", 99), said("g", "f", "2")],
  );
  assert.deepEqual(times, { warmedAt: [Date.parse(TIME)], coldAt: [77] });
  assert.equal(all.length, 3, "they are links of the path");
});

test("lines of one response are one message in pi's shape", async () => {
  const { lines, messages } = table("claude-code-response.json");
  const session = await read(...lines);
  assert.deepEqual([session.problems, contextOf(session)], [[], messages]);
});

test("tokens that Claude Code has written for an hour are told", async () => {
  const usage = { input_tokens: 3, output_tokens: 1, cache_creation_input_tokens: 20 };
  for (const hour of [20, 0]) {
    const cache_creation = { ephemeral_5m_input_tokens: 20 - hour, ephemeral_1h_input_tokens: hour };
    const said = { id: "m", content: [text("a")], usage: { ...usage, cache_creation } };
    const [, answer] = contextOf(await read(asks("u1", null, "go"), claude("assistant", "a1", "u1", said)));
    assert.deepEqual([answer.usage.cacheWrite, answer.usage.cacheWrite1h ?? 0], [20, hour]);
  }
});

test("of an answer with the server's own calls the request's prompt is told, not the sum", async () => {
  const prompt = { input_tokens: 3, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 };
  const usage = {
    ...{ input_tokens: 5, cache_read_input_tokens: 220, cache_creation_input_tokens: 30, output_tokens: 9 },
    iterations: [
      { type: "message", ...prompt, output_tokens: 4 },
      { type: "advisor_message", input_tokens: 123, output_tokens: 50 },
      { type: "message", ...prompt, cache_read_input_tokens: 120, output_tokens: 5 },
    ],
  };
  const said = { id: "m", content: [text("a")], usage };
  const [, answer] = contextOf(await read(asks("u1", null, "go"), claude("assistant", "a1", "u1", said)));
  assert.deepEqual(answer.usage, { input: 3, output: 9, cacheRead: 100, cacheWrite: 20, totalTokens: 132 });
});

test("a call of great depth is read", async () => {
  const call = { type: "tool_use", id: "t", name: "Bash", input: "DEEP" };
  const line = JSON.stringify(claude("assistant", "a1", "u1", { id: "m", content: [call] }));
  const deep = line.replace('"DEEP"', `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`);
  const { messages } = await read(asks("u1", null, "go"), deep);
  assert.deepEqual(fieldsOf(messages, "role"), ["user", "assistant"]);
});

test("a line that cannot be read is not quoted", async () => {
  for (const line of ['{"secret":"te', '{"secret":nope}', "7", "null"]) {
    const { problems } = await read(HEADER, line);
    assert.match(problems[0].message, /^[^\n]+\.$/);
    assert.doesNotMatch(problems[0].message, /secret|nope/);
  }
});

test("a message that Cursor recorded is read with its content", async () => {
  const content = [{ type: "text", text: "a" }];
  const recorded = ["user", "assistant"].map((role) => ({ role, message: { content } }));
  const session = await read(...recorded);
  assert.deepEqual(fieldsOf(contextOf(session), "content"), [content, content]);
  assert.equal(session.calls.length, 1);
});

test("bare messages are read from a JSON file as from lines; one that is no JSON is one problem", async () => {
  const messages = [
    { role: "user", content: "a" },
    { role: "x", odd: [1.5] },
  ];
  for (const whole of [messages, { model: "m", messages }])
    for (const indent of [0, 2]) {
      const file = await readLines([Buffer.from(`\ufeff ${JSON.stringify(whole, null, indent)}\r\n`)]);
      assert.deepEqual([contextOf(file), file.problems, file.format], [messages, [], "messages"]);
    }
  assert.deepEqual(contextOf(await read(...messages)), messages);
  const odd = await readLines([Buffer.from('\n[{"role":"user"},\n3,\n{"role":"user"},\n{}]')]);
  assert.deepEqual([contextOf(odd).length, linesOf(odd)], [2, [2, 2]]);
  for (const file of ['[{"role":"user"},\n', '[{"role":"user"}', "[", '[{"role":"user"}] x'])
    assert.deepEqual(linesOf(await readLines([Buffer.from(file)])), [1], file);
  for (const blank of ["", "\n\n", "\ufeff", " \r\n\t\r\n"])
    assert.deepEqual((await readLines([Buffer.from(blank)])).problems, []);
});

test("a file is the same in chunks of any size, broken UTF-8 and all", async () => {
  const file = Buffer.concat([
    Buffer.from(`${JSON.stringify({ role: "user", content: "你好" })}\n{"role":"x","content":"a`),
    Buffer.from([0xff]),
    Buffer.from('"}'),
  ]);
  const whole = contextOf(await readLines([file]));
  assert.deepEqual(fieldsOf(whole, "content"), ["你好", "a\ufffd"]);
  for (const size of [1, 2, 7]) {
    const chunks = Array.from({ length: Math.ceil(file.length / size) }, (_, i) =>
      file.subarray(i * size, (i + 1) * size),
    );
    assert.deepEqual(contextOf(await readLines(chunks)), whole);
  }
});

/** An entry of a tree: what it is, where it hangs, and what it names are by what was rolled. */
function rolledEntry([kind, at, other, third], index) {
  const [id, target] = [String(index), String(other % (index + 1))];
  const parent = index === 0 ? null : String(at % 3 > 0 ? index - 1 : other % index);
  const systemMessage = third === 0 ? { role: "system", content: "P" } : undefined;
  if (kind === 0)
    return compacts(id, parent, {
      summary: `S${id}`,
      firstKeptEntryId: target,
      tokensBefore: 1,
      systemMessage,
    });
  if (kind === 1) return edits(id, parent, target, third % 3 > 0 ? { content: `edited by ${id}` } : null);
  if (kind === 2) return entry("branch_summary", id, parent, { summary: `B${id}`, fromId: target });
  if (kind === 3) return entry("custom_message", id, parent, { customType: "x", content: id, display: true });
  return said(id, parent, [text(id)], ["system", "user", "assistant"][kind % 3]);
}

test("each call of a pi session has the context that pi itself builds", async () => {
  const { buildSessionContext } = await sessionManager();
  // pi edits what was said, and nothing else.
  const isSaid = ({ type, message }) => type === "custom_message" || (message && message.role !== "system");
  const asAllowed = (each, _, all) =>
    each.targetId === undefined || isSaid(all[each.targetId]) ? each : entry("label", each.id, each.parentId);
  const roll = fc.tuple(fc.nat(12), fc.nat(40), fc.nat(40), fc.nat(5));
  const property = fc.asyncProperty(fc.array(roll, { minLength: 1, maxLength: 20 }), async (rolls) => {
    const entries = rolls.map(rolledEntry).map(asAllowed);
    const told = (list) =>
      JSON.stringify(list.map(({ role, content, summary }) => [role, content ?? summary]));
    const recording = await read(HEADER, ...entries);
    assert.equal(told(recording.messages), told(buildSessionContext(entries).messages));
    for (const call of recording.calls) {
      const [{ text: id }] = recording.all[call.at].content;
      const { parentId } = entries.find((each) => each.id === id);
      assert.equal(
        told(recording.messagesBefore(call)),
        told(buildSessionContext(entries, parentId).messages),
      );
    }
  });
  await fc.assert(property, { numRuns: 500 });
});

/** A line with the fields that the recorders write, and anything in them. */
const oddLine = (() => {
  const type = fc.constantFrom(
    ..."session message compaction context_edit custom_message branch_summary leaf custom".split(" "),
    ..."user assistant system attachment usage".split(" "),
  );
  const block = fc.record({ type: fc.constantFrom("text", "tool_use", "tool_result", "thinking", "image") });
  const any = fc.oneof(fc.jsonValue(), fc.constantFrom("0", "1", null), fc.array(block));
  const role = fc.constantFrom("user", "assistant", 5);
  const message = fc.record({ role, content: any, usage: any, id: any });
  const names = [
    "id uuid parentId parentUuid logicalParentUuid targetId replacement summary kind version",
    "firstKeptEntryId firstKeptEntryIndex attachment isSidechain compactMetadata timestamp",
    "content data",
  ];
  const fields = Object.fromEntries(names.flatMap((some) => some.split(" ")).map((name) => [name, any]));
  const known = { isCompactSummary: fc.boolean(), subtype: fc.constantFrom("compact_boundary", 1) };
  return fc.record(
    { ...fields, ...known, type, message: fc.oneof(message, any) },
    { requiredKeys: ["type", "message"] },
  );
})();

test("any lines are survived", async () => {
  const property = fc.asyncProperty(fc.array(fc.oneof(fc.json(), fc.string(), oddLine)), async (lines) => {
    const { messages, problems } = await read(...lines);
    assert.ok(messages.every(({ role }) => typeof role === "string"));
    assert.ok(problems.every(({ message }) => message.endsWith(".")));
  });
  await fc.assert(property, { numRuns: 1000 });
});

test("the recorded example is read whole", async () => {
  const session = await readLines(createReadStream(EXAMPLE));
  assert.deepEqual([session.format, session.problems], ["pi session, version 3", []]);
  assert.ok(contextOf(session).length >= 150);
});
