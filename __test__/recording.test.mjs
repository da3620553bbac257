// Recorded sessions, read line by line: pi's of every version, Claude Code's, and bare messages, on files small enough to read.

import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { readLines } from "../lib/cli/recording/lines.mjs";

const EXAMPLE = fileURLToPath(new URL("../examples/session.jsonl", import.meta.url));
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

test("version 1 is a list without ids, and counts kept entries by line", async () => {
  const list = await read(
    { type: "session", id: "s" },
    { type: "message", timestamp: "2025-11-20T23:33:01.550Z", message: { role: "user", content: "a" } },
    { type: "thinking_level_change", timestamp: TIME },
    { type: "message", timestamp: TIME, message: { role: "assistant", content: null } },
  );
  assert.equal(list.format, "pi session, version 1");
  assert.deepEqual(outline(list), ["user:a", "assistant:"]);
  assert.equal(contextOf(list)[0].timestamp, 1_763_681_581_550);
  const compacted = await read(
    { type: "session", id: "s" },
    { type: "message", message: { role: "user", content: "a" } },
    { type: "message", message: { role: "user", content: "b" } },
    { type: "compaction", timestamp: TIME, summary: "S", firstKeptEntryIndex: 2, tokensBefore: 9 },
    { type: "message", message: { role: "user", content: "c" } },
  );
  assert.deepEqual(outline(compacted), ["compactionSummary:S", "user:b", "user:c"]);
  assert.equal(contextOf(compacted)[0].tokensBefore, 9);
});

test("a tree is followed from the last entry to its root; what was left is counted", async () => {
  const tree = await read(
    HEADER,
    said("a", null, "1"),
    said("c", "a", "2"),
    said("d", "c", "3", "assistant"),
    entry("branch_summary", "e", "a", { fromId: "d", summary: "B" }),
    entry("custom_message", "f", "e", { customType: "x", content: "N", display: true }),
    entry("label", "g", "f", { targetId: "a", label: "l" }),
  );
  assert.deepEqual(outline(tree), ["user:1", "branchSummary:B", "custom:N"]);
  assert.equal(tree.unplayed["on abandoned branches"], 1);
  const renamed = await read({ type: "session", version: 2 }, said("a", null, "h", "hookMessage"));
  assert.deepEqual([renamed.format, outline(renamed)], ["pi session, version 2", ["custom:h"]]);
});

test("the newest compaction replaces what it summarised, and folds system messages in", async () => {
  const both = await read(
    HEADER,
    said("a", null, "1"),
    said("y", "a", "old", "system"),
    said("b", "y", "2"),
    entry("compaction", "k", "b", { summary: "S1", firstKeptEntryId: "b", tokensBefore: 1 }),
    said("c", "k", "3"),
    entry("compaction", "l", "c", {
      summary: "S2",
      firstKeptEntryId: "y",
      systemMessage: { role: "system", content: "P" },
    }),
    said("d", "l", "4"),
  );
  assert.deepEqual(outline(both), ["system:P", "compactionSummary:S2", "user:2", "user:3", "user:4"]);
  assert.deepEqual(
    both.stretches.map(({ cause }) => cause),
    ["start", "compaction", "compaction"],
  );
});

test("context edits replace or remove, and the last one wins", async () => {
  const edit = (id, parent, targetId, replacement) =>
    entry("context_edit", id, parent, { targetId, replacement });
  const edited = await read(
    HEADER,
    said("a", null, "1"),
    said("b", "a", "2"),
    said("r", "b", [{ type: "text", text: "long" }], "assistant"),
    edit("e", "r", "a", { content: "first" }),
    edit("f", "e", "a", null),
    edit("g", "f", "r", { content: "short" }),
  );
  assert.deepEqual(outline(edited), ["user:2", "assistant:short"]);
});

test("a leaf entry moves the leaf until something is added; a loop of parents ends", async () => {
  const [a, b, c] = [said("a", null, "1"), said("b", "a", "2"), said("c", "a", "3")];
  const leaf = (targetId) => entry("leaf", "x", "b", { targetId });
  assert.deepEqual(outline(await read(HEADER, a, b, leaf("a"))), ["user:1"]);
  assert.deepEqual(outline(await read(HEADER, a, b, leaf(null))), []);
  assert.deepEqual(outline(await read(HEADER, a, b, leaf("a"), c)), ["user:1", "user:3"]);
  assert.deepEqual(outline(await read(HEADER, said("a", "b", "1"), said("b", "a", "2"))), [
    "user:1",
    "user:2",
  ]);
});

test("version 4 is a log of records", async () => {
  const record = (kind, fields) => ({ kind, ...fields });
  const tip = (value) => record("value", { op: "set", namespace: "pi.branch.tip", key: "main", value });
  const log = await read(
    { v: 4, kind: "header", id: "s", cwd: "/p" },
    JSON.stringify([record("entry", said("a", null, "1")), tip("a")]),
    record(
      "entry",
      entry("compaction", "b", "a", { summary: "S", retainedTail: [{ role: "user", content: "1" }] }),
    ),
    record("entry", said("c", "a", "lost")),
    tip("b"),
    record("usage", { id: "u" }),
  );
  assert.deepEqual([log.format, outline(log)], ["pi session, version 4", ["compactionSummary:S", "user:1"]]);
});

test("times at which the cache was kept warm, and at which our extension cut, are read", async () => {
  const answer = (id, parent, model) =>
    entry("message", id, parent, { message: { role: "assistant", content: [], provider: "p", model } });
  const warm = (id, parent, model) =>
    entry("usage", id, parent, { kind: "cache_warm", provider: "p", model });
  const { times, length } = await read(
    HEADER,
    said("a", null, "1"),
    answer("b", "a", "m"),
    warm("c", "b", "m"),
    warm("d", "c", "other"),
    entry("custom", "e", "d", { customType: "pi-strata", data: { cutAt: 77 } }),
    entry("custom", "f", "e", { customType: "other", data: { cutAt: 99 } }),
    said("g", "f", "2"),
  );
  assert.deepEqual(times, { warmedAt: [Date.parse(TIME)], coldAt: [77] });
  assert.equal(length, 3, "they are links of the path");
});

// Claude Code

const claude = (type, uuid, parentUuid, message, more) => ({
  ...{ parentUuid, isSidechain: false, type, message, uuid, timestamp: TIME },
  ...more,
});
const asks = (uuid, parent, content) => claude("user", uuid, parent, { role: "user", content });
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
  );
  assert.deepEqual([session.format, session.problems], ["Claude Code transcript", []]);
  const timestamp = Date.parse(TIME);
  assert.deepEqual(contextOf(session), [
    { role: "user", content: "hello", timestamp },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", thinkingSignature: "sig" },
        { type: "thinking", thinking: "[Reasoning redacted]", thinkingSignature: "xx" },
        { type: "toolCall", id: "t1", name: "Read", arguments: { file_path: "t1" } },
      ],
      ...{
        api: "anthropic-messages",
        provider: "anthropic",
        model: "claude-x",
        stopReason: "toolUse",
        timestamp,
      },
      usage: { input: 3, output: 40, cacheRead: 100, cacheWrite: 20, totalTokens: 163 },
    },
    {
      ...{ role: "toolResult", toolCallId: "t1", toolName: "Read", isError: true, timestamp },
      content: [text("no"), { type: "image", data: "AA", mimeType: "image/png" }],
    },
  ]);
});

test("parallel results off the path are found, and what was typed meanwhile follows them", async () => {
  const queued = { attachment: { type: "queued_command", prompt: "also this" } };
  const session = await read(
    asks("u1", null, "go"),
    replies("a1", "u1", "msg_1", call("t1")),
    replies("a2", "a1", "msg_1", call("t2")),
    brings("r1", "a1", "t1", "one"),
    claude("attachment", "q1", "r1", null, queued),
    claude("attachment", "q2", "q1", null, { attachment: { type: "todo" } }),
    brings("r2", "q2", "t2", "two"),
    replies("a3", "r2", "msg_2", text("done")),
  );
  const expected = [
    "user:go",
    "assistant:t1+t2",
    "toolResult:one",
    "toolResult:two",
    "user:also this",
    "assistant:done",
  ];
  assert.deepEqual(outline(session), expected);
});

test("an abandoned branch and sidechains are left out, and counted", async () => {
  const side = claude(
    "assistant",
    "s1",
    "a1",
    { id: "msg_s", content: [text("side")] },
    { isSidechain: true },
  );
  const session = await read(
    asks("u1", null, "go"),
    replies("a1", "u1", "msg_1", call("t1")),
    brings("r1", "a1", "t1", "first try"),
    side,
    replies("a9", "r1", "msg_9", text("left")),
    brings("r2", "a1", "t1", "second try"),
    replies("a2", "r2", "msg_2", text("done")),
  );
  assert.deepEqual(outline(session), ["user:go", "assistant:t1", "toolResult:second try", "assistant:done"]);
  assert.deepEqual(Object.values(session.unplayed), [1, 1]);
  assert.deepEqual(outline(await read(side)), ["assistant:side"], "a sub-agent's own file");
});

test("meta lines and errors keep their kind", async () => {
  const session = await read(
    claude("user", "u1", null, { role: "user", content: "caveat" }, { isMeta: true }),
    asks("u2", "u1", [text("look"), { type: "document" }]),
    claude("assistant", "a1", "u2", { content: [text("529")] }, { isApiErrorMessage: true }),
  );
  const document = JSON.stringify({ type: "document", source: {} });
  assert.deepEqual(outline(session), ["custom:caveat", `user:look+${document}`, "assistant:529"]);
  const { stopReason, errorMessage } = contextOf(session).at(-1);
  assert.deepEqual([stopReason, errorMessage], ["error", "529"]);
});

test("a compaction cuts off what it summarised, and what it preserved follows its summary", async () => {
  const boundary = (metadata) => ({
    ...{ parentUuid: null, logicalParentUuid: "a1", type: "system", subtype: "compact_boundary", uuid: "b1" },
    compactMetadata: metadata,
  });
  const summary = claude(
    "user",
    "cs",
    "b1",
    { content: [text("what was said")] },
    { isCompactSummary: true },
  );
  const cut = await read(
    asks("u1", null, "old"),
    replies("a1", "u1", "msg_1", text("old answer")),
    boundary({ preTokens: 155_000 }),
    summary,
    asks("u2", "cs", "new"),
  );
  assert.deepEqual(outline(cut), ["compactionSummary:what was said", "user:new"]);
  assert.equal(contextOf(cut)[0].tokensBefore, 155_000);
  const kept = await read(
    asks("u1", null, "old"),
    asks("k1", "u1", "kept"),
    boundary({ preTokens: 9, preservedMessages: { uuids: ["k1"] } }),
    summary,
    asks("u2", "k1", "new"),
  );
  assert.deepEqual(outline(kept), ["compactionSummary:what was said", "user:kept", "user:new"]);
  const { opening } = kept.stretches.at(-1);
  assert.equal(kept.message(opening.at(-1)).content, "kept");
  assert.ok(opening.at(-1) < opening[0], "it is the very message that came before");
});

// Both

test("a broken line is reported by its number, costs its own message and no other, and is not quoted", async () => {
  const user = (id, parent) => said(id, parent, id);
  const pi = await read(HEADER, user("a", null), '{"type":"message","id":"b","par', user("c", "b"), {
    type: "message",
    id: "d",
    parentId: "c",
  });
  assert.deepEqual(
    [outline(pi), linesOf(pi)],
    [
      ["user:a", "user:c"],
      [3, 5],
    ],
  );
  const other = await read(
    asks("u1", null, "first"),
    '{"secret":"te',
    { type: "user", uuid: "u9", parentUuid: "u1" },
    asks("u3", "u2", "third"),
  );
  assert.deepEqual(
    [outline(other), linesOf(other)],
    [
      ["user:first", "user:third"],
      [2, 3],
    ],
  );
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
  assert.deepEqual(
    whole.map(({ content }) => content),
    ["你好", "a\ufffd"],
  );
  for (const size of [1, 2, 7]) {
    const chunks = Array.from({ length: Math.ceil(file.length / size) }, (_, i) =>
      file.subarray(i * size, (i + 1) * size),
    );
    assert.deepEqual(contextOf(await readLines(chunks)), whole);
  }
});

/** A line of a session without branches: a compaction, an edit or a message, by what was rolled. */
function rolledLine([kind, at, other], index) {
  const [id, parent] = [String(index), index === 0 ? null : String(index - 1)];
  const target = String(at % (index + 1));
  if (kind === 0) return entry("compaction", id, parent, { summary: `S${index}`, firstKeptEntryId: target });
  const replacement = other % 3 > 0 ? { content: `edited by ${index}` } : null;
  if (kind === 1) return entry("context_edit", id, parent, { targetId: target, replacement });
  return said(id, parent, [text(id)], kind % 2 === 0 ? "user" : "assistant");
}

test("any lines are survived, and each pi call has the context it was made with", async () => {
  const kinds = fc.array(fc.tuple(fc.nat(7), fc.nat(40), fc.nat(5)), { minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(kinds, async (rolls) => {
      const lines = [HEADER, ...rolls.map(rolledLine)];
      const recording = await read(...lines);
      const answers = lines.flatMap(({ message }, at) => (message?.role === "assistant" ? [at] : []));
      const contexts = await Promise.all(
        answers.map(async (at) => contextOf(await read(...lines.slice(0, at)))),
      );
      assert.deepEqual(
        recording.calls.map((call) => recording.messagesBefore(call)),
        contexts.filter(({ length }) => length > 0),
      );
    }),
    { numRuns: 200 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(fc.oneof(fc.json(), fc.string())), async (lines) => {
      const { messages, problems } = await read(...lines);
      assert.ok(messages.every(({ role }) => typeof role === "string"));
      assert.ok(problems.every(({ message }) => message.endsWith(".")));
    }),
    { numRuns: 300 },
  );
});

test("the recorded example is read whole", async () => {
  const session = await readLines(createReadStream(EXAMPLE));
  assert.deepEqual([session.format, session.problems], ["pi session, version 3", []]);
  assert.ok(contextOf(session).length >= 150);
});
