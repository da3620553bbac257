// Recorded sessions, read line by line: pi's of every version, Claude Code's, and bare messages, on files small enough to read.

import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { readLines } from "../lib/cli/recording/lines.mjs";
import { sessionManager } from "./coding-agent/pi.mjs";
import { fieldsOf } from "./support/fields.mjs";
import { EXAMPLE } from "./support/recording.mjs";

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
const listed = (content) => ({ type: "message", message: { role: "user", content } });
const compacts = (id, parent, fields) => entry("compaction", id, parent, fields);
const edits = (id, parent, targetId, replacement) =>
  entry("context_edit", id, parent, { targetId, replacement });
const leaf = (targetId) => entry("leaf", "x", "b", { targetId });
const [a, b, c] = [said("a", null, "1"), said("b", "a", "2"), said("c", "a", "3")];

// Claude Code

const claude = (type, uuid, parentUuid, message, more) => ({
  ...{ parentUuid, isSidechain: false, type, message, uuid, timestamp: TIME },
  ...more,
});
const asks = (uuid, parent, content, more) => claude("user", uuid, parent, { role: "user", content }, more);
const brings = (uuid, parent, id, text) =>
  asks(uuid, parent, [{ type: "tool_result", tool_use_id: id, content: text }]);
const replies = (uuid, parent, id, block, output = 1) =>
  claude("assistant", uuid, parent, {
    ...{ id, role: "assistant", model: "claude-x", content: [block], stop_reason: null },
    usage: {
      input_tokens: 3,
      output_tokens: output,
      cache_read_input_tokens: 100,
      cache_creation_input_tokens: 20,
    },
  });
const text = (value) => ({ type: "text", text: value });
const call = (id) => ({ type: "tool_use", id, name: "Read", input: { file_path: id } });
const queued = (uuid, parent, attachment) => claude("attachment", uuid, parent, null, { attachment });
const side = claude("assistant", "s1", "a1", { id: "msg_s", content: [text("side")] }, { isSidechain: true });
const boundary = (compactMetadata, logicalParentUuid = "a1", uuid = "b1") => ({
  ...{ parentUuid: null, logicalParentUuid, type: "system", subtype: "compact_boundary", uuid },
  compactMetadata,
});
const sums = (uuid, parent) => asks(uuid, parent, [text("what was said")], { isCompactSummary: true });
const summary = sums("cs", "b1");

/** Each case: its lines, the outline of its last context, and the numbers of the lines that could not be read. */
const CASES = {
  "pi's version 1 is a list without ids": [
    [{ type: "session", id: "s" }, listed("a"), { type: "thinking_level_change" }, listed("b")],
    ["user:a", "user:b"],
  ],
  "pi's version 1 counts kept entries by line": [
    [
      { type: "session", id: "s" },
      ...["a", "b"].map(listed),
      { type: "compaction", timestamp: TIME, summary: "S", firstKeptEntryIndex: 2, tokensBefore: 9 },
      listed("c"),
    ],
    ["compactionSummary:S", "user:b", "user:c"],
  ],
  "pi's version 1 keeps nothing from a line that holds no entry": [
    [{ type: "session", id: "s" }, listed("a"), { type: "compaction", summary: "S", firstKeptEntryIndex: 0 }],
    ["compactionSummary:S"],
  ],
  "pi's old role is renamed": [
    [{ type: "session", version: 2 }, said("a", null, "h", "hookMessage")],
    ["custom:h"],
  ],
  "an edit of nothing is nothing": [
    [HEADER, a, edits("b", "a", "", null), said("c", "b", "3")],
    ["user:1", "user:3"],
  ],
  "pi's leaf moves": [[HEADER, a, b, leaf("a")], ["user:1"]],
  "pi's leaf moves before the first entry": [[HEADER, a, b, leaf(null)], []],
  "pi's leaf moves on with what is added": [
    [HEADER, a, b, leaf("a"), c],
    ["user:1", "user:3"],
  ],
  "a loop of parents ends": [
    [HEADER, said("a", "b", "1"), b],
    ["user:1", "user:2"],
  ],
  "Claude Code's hook comes before its parent, the prompt": [
    [asks("u1", null, "first"), queued("h", "u2", {}), asks("u2", "u1", "second"), asks("u3", "h", "third")],
    ["user:first", "user:second", "user:third"],
  ],
  "a broken line of pi's costs its own message and no other": [
    [
      ...[HEADER, a, '{"type":"message","id":"b","par', said("c", "b", "3")],
      { type: "message", id: "d", parentId: "c" },
    ],
    ["user:1", "user:3"],
    [3, 5],
  ],
  "a broken line of Claude Code's costs its own message and no other": [
    [
      ...[asks("u1", null, "first"), '{"secret":"te', { type: "user", uuid: "u9", parentUuid: "u1" }],
      asks("u3", "u2", "third"),
    ],
    ["user:first", "user:third"],
    [2, 3],
  ],
  "parallel results off the path are found, and what was typed meanwhile follows them": [
    [
      ...[asks("u1", null, "go"), replies("a1", "u1", "msg_1", call("t1"))],
      ...[replies("a2", "a1", "msg_1", call("t2")), brings("r1", "a1", "t1", "one")],
      queued("q1", "r1", { type: "queued_command", prompt: "also this" }),
      ...[queued("q2", "q1", { type: "todo" }), brings("r2", "q2", "t2", "two")],
      replies("a3", "r2", "msg_2", text("done")),
    ],
    [
      ...["user:go", "assistant:t1+t2", "toolResult:one", "toolResult:two", "user:also this"],
      "assistant:done",
    ],
  ],
  "an abandoned branch and sidechains are left out": [
    [
      ...[asks("u1", null, "go"), replies("a1", "u1", "msg_1", call("t1"))],
      ...[brings("r1", "a1", "t1", "first try"), side, replies("a9", "r1", "msg_9", text("left"))],
      ...[brings("r2", "a1", "t1", "second try"), replies("a2", "r2", "msg_2", text("done"))],
    ],
    ["user:go", "assistant:t1", "toolResult:second try", "assistant:done"],
  ],
  "messages of another stack are read by its shape": [
    [
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "c1", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "c1", content: "found" },
    ],
    ["user:go", "assistant:c1", "toolResult:found"],
  ],
  "the items of a response are one answer": [
    [
      { role: "user", content: "go" },
      { type: "reasoning", summary: [{ type: "summary_text", text: "hm" }] },
      { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "found" },
      { type: "web_search_call", id: "w" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "done" }] },
      { type: "event" },
    ],
    [
      ...["user:go", "assistant:hm+c1", "toolResult:found"],
      'assistant:{"type":"web_search_call","id":"w"}+done',
    ],
    [7],
  ],
  "a sub-agent's own file is read": [[side], ["assistant:side"]],
  "meta lines and errors keep their kind, and a document counts as its JSON": [
    [
      asks("u1", null, "caveat", { isMeta: true }),
      asks("u2", "u1", [text("look"), { type: "document" }]),
      claude("assistant", "a1", "u2", { content: [text("529")] }, { isApiErrorMessage: true }),
    ],
    ["custom:caveat", 'user:look+{"type":"document"}', "assistant:529"],
  ],
  "Claude Code's compaction cuts off what it summarised": [
    [
      ...[asks("u1", null, "old"), replies("a1", "u1", "msg_1", text("old answer"))],
      ...[boundary({ preTokens: 155_000 }), summary, asks("u2", "cs", "new")],
    ],
    ["compactionSummary:what was said", "user:new"],
  ],
  "results that Claude Code cleared or replaced are what it sent instead": [
    [
      ...[asks("u1", null, "go"), replies("a1", "u1", "msg_1", call("t1")), brings("r1", "a1", "t1", "one")],
      {
        type: "content-replacement",
        replacements: [{ toolUseId: "t1", replacement: "start of one" }, {}, null],
      },
      ...[replies("a2", "r1", "msg_2", call("t2")), brings("r2", "a2", "t2", "two")],
      {
        ...{ type: "system", subtype: "microcompact_boundary", uuid: "b1", parentUuid: "r2" },
        microcompactMetadata: { compactedToolIds: ["t2", "t0"] },
      },
    ],
    [
      ...["user:go", "assistant:t1", "toolResult:start of one", "assistant:t2"],
      "toolResult:[Old tool result content cleared]",
    ],
  ],
  "what Claude Code's compaction preserved follows its summary": [
    [
      ...[asks("u1", null, "old"), asks("k1", "u1", "kept")],
      boundary({ preTokens: 9, preservedMessages: { uuids: ["k1"] } }),
      ...[summary, asks("u2", "k1", "new")],
    ],
    ["compactionSummary:what was said", "user:kept", "user:new"],
  ],
};

for (const [what, [lines, expected, broken = []]] of Object.entries(CASES))
  test(what, async () => {
    const session = await read(...lines);
    assert.deepEqual([outline(session), linesOf(session)], [expected, broken]);
  });

test("what is not played is counted, compactions are told, and a preserved message is the very one that came", async () => {
  const of = (what) => read(...CASES[what][0]);
  const branches = await read(HEADER, a, said("d", "a", "2", "assistant"), c);
  assert.equal(branches.unplayed["on abandoned branches"], 1);
  const sides = await of("an abandoned branch and sidechains are left out");
  assert.deepEqual(Object.values(sides.unplayed), [1, 1, 0]);
  const progress = (uuid, parent, id) =>
    claude("progress", uuid, parent, undefined, {
      data: { type: "agent_progress", message: { type: "assistant", message: { id } } },
    });
  const reported = await read(
    ...[
      asks("u1", null, "go"),
      progress("p1", "u1", "s1"),
      progress("p2", "p1", "s1"),
      progress("p3", "p2", "s2"),
    ],
    replies("a1", "p3", "msg_1", text("done")),
  );
  assert.deepEqual([reported.calls.length, reported.unplayed["made by sub-agents"]], [1, 2]);
  const compaction = { summary: "S", firstKeptEntryId: "b", tokensBefore: 1 };
  const twice = await read(
    ...[HEADER, a, b, compacts("k", "b", compaction), said("d", "k", "3")],
    ...[compacts("l", "d", compaction), said("e", "l", "4")],
  );
  assert.deepEqual(fieldsOf(twice.stretches, "cause"), ["start", "compaction", "compaction"]);
  const cut = await of("Claude Code's compaction cuts off what it summarised");
  assert.equal(contextOf(cut)[0].tokensBefore, 155_000);
  const kept = await of("what Claude Code's compaction preserved follows its summary");
  const [head, preserved] = kept.stretches.at(-1).opening;
  assert.ok(kept.all[preserved].content === "kept" && preserved < head);
});

test("each call around a compaction has its messages, in every form in which Claude Code writes what it preserved", async () => {
  const old = [asks("u1", null, "old"), replies("a1", "u1", "m1", text("answer")), asks("k1", "a1", "kept")];
  const last = replies("k2", "k1", "m2", text("kept answer"));
  const next = (id, parent) => [asks(`${id}1`, parent, id), replies(`${id}2`, `${id}1`, id, text("done"))];
  const before = [["user:old"], ["user:old", "assistant:answer", "user:kept"]];
  const kept = ["user:kept", "assistant:kept answer"];
  const behind = (...messages) => ["compactionSummary:what was said", ...messages];
  const segment = { preservedSegment: { headUuid: "k1", tailUuid: "k2" } };
  const listed = (...allUuids) => ({ preservedMessages: { allUuids } });
  const compacted = [...old, last, boundary(listed("k1", "k2"), "k2"), summary];
  const forms = {
    "a segment": [
      [...old, last, boundary(segment, "k2"), summary, ...next("n", "k2")],
      [...before, behind(...kept, "user:n")],
    ],
    "a prompt that was sent again": [
      [...compacted, ...next("m", "k2"), ...next("n", "k2")],
      [...before, behind(...kept, "user:n")],
      1,
    ],
    "a line that is written behind the summary": [
      [...old, boundary(listed("k2"), "k2"), summary, { ...last, parentUuid: "cs" }, ...next("n", "k2")],
      [...before, behind("assistant:kept answer", "user:n")],
    ],
    "a second compaction, which hangs on copies of lines before the first": [
      [
        ...[...compacted, ...next("n", "k2"), ...old, queued("h1", "k1", { type: "hook" })],
        ...[boundary(listed("n2", "h1"), "h1", "b2"), sums("cs2", "b2"), ...next("o", "h1")],
      ],
      [...before, behind(...kept, "user:n"), behind("assistant:done", "user:o")],
    ],
  };
  for (const [what, [lines, expected, abandoned = 0]] of Object.entries(forms)) {
    const recording = await read(...lines);
    const contexts = recording.calls.map((call) => outline({ messages: recording.messagesBefore(call) }));
    assert.deepEqual(contexts, expected, what);
    assert.equal(recording.unplayed["on abandoned branches"], abandoned, what);
  }
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
  const told = await Promise.all(formats.map(async (what) => (await read(...CASES[what][0])).format));
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
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AA" } };
  const answer = [{ type: "tool_result", tool_use_id: "t1", is_error: true, content: [text("no"), image] }];
  const session = await read(
    { type: "summary", summary: "A title", leafUuid: "z" },
    { type: "file-history-snapshot", messageId: "m", snapshot: {} },
    asks("u1", null, "hello"),
    replies("a1", "u1", "msg_1", { type: "thinking", thinking: "hm", signature: "sig" }),
    replies("a2", "a1", "msg_1", { type: "redacted_thinking", data: "xx" }),
    replies("a3", "a2", "msg_1", call("t1"), 40),
    asks("r1", "a3", answer),
    claude("assistant", "a4", "r1", { content: [text("529")] }, { isApiErrorMessage: true }),
  );
  const timestamp = Date.parse(TIME);
  const origin = { api: "anthropic-messages", provider: "anthropic", timestamp };
  assert.deepEqual(session.problems, []);
  assert.deepEqual(contextOf(session), [
    { role: "user", content: "hello", timestamp },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", thinkingSignature: "sig" },
        { type: "thinking", thinking: "[Reasoning redacted]", thinkingSignature: "xx" },
        { type: "toolCall", id: "t1", name: "Read", arguments: { file_path: "t1" } },
      ],
      ...{ ...origin, model: "claude-x", stopReason: "toolUse" },
      usage: { input: 3, output: 40, cacheRead: 100, cacheWrite: 20, totalTokens: 163 },
    },
    {
      ...{ role: "toolResult", toolCallId: "t1", toolName: "Read", isError: true, timestamp },
      content: [text("no"), { type: "image", data: "AA", mimeType: "image/png" }],
    },
    {
      ...{ role: "assistant", content: [text("529")], ...origin, model: "unknown" },
      ...{ stopReason: "error", errorMessage: "529" },
    },
  ]);
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

test("bare messages are read from an array as from lines; an array that is no JSON is one problem", async () => {
  const messages = [
    { role: "user", content: "a" },
    { role: "x", odd: [1.5] },
  ];
  const array = await readLines([Buffer.from(`\ufeff ${JSON.stringify(messages)}\r\n`)]);
  assert.deepEqual([contextOf(array), array.problems, array.format], [messages, [], "messages"]);
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
