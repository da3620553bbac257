// What answers need and what of it is in view: the counts against a plain search of the texts, the last diff against files
// that are really edited, and the bench on a folder of sessions.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import fc from "fast-check";
import { changesOf, lastDiff } from "../bench/needs/changes.mjs";
import { emptyNeeds, needsUnder, Session, sharesOf } from "../bench/needs/measure.mjs";
import { SPAN, textOf } from "../bench/needs/texts.mjs";
import { recordingOf } from "../bench/recordings.mjs";
import { asPiFile } from "./support/session.mjs";

const folder = mkdtempSync(join(tmpdir(), "pi-strata-needs-"));
after(() => rmSync(folder, { recursive: true }));

const line = (file, n, version = 0) => `const value_${file}_${n} = compute(${n}, ${version});`;
const FILES = 3;
const LINES = 12;

/** A session over three files: each step reads a file, or replaces a line of one as it stands, or quotes one in words. */
function sessionOf(steps) {
  const files = Array.from({ length: FILES }, (_, file) =>
    Array.from({ length: LINES }, (_, n) => line(file, n)),
  );
  const start = files.map((lines) => [...lines]);
  const messages = [{ role: "user", content: "Look after the three files.", timestamp: 1 }];
  for (const [i, { kind, file, n, back, fails }] of steps.entries()) {
    const path = `src/file${file}.js`;
    const id = `call${i}`;
    const lines = files[file];
    const old = lines[n];
    const now = back ? start[file][n] : line(file, n, i + 1);
    const call = {
      read: { name: "read", arguments: { path } },
      edit: { name: "edit", arguments: { path, edits: [{ oldText: old, newText: now }] } },
      quote: { name: "bash", arguments: { command: `cat <<END\n${old}\nEND` } },
    }[kind];
    const isError = kind === "edit" && fails;
    if (kind === "edit" && !fails) lines[n] = now;
    messages.push({
      role: "assistant",
      content: [
        { type: "text", text: `step ${i}` },
        { type: "toolCall", id, ...call },
      ],
      timestamp: 2 * i + 2,
    });
    const text = kind === "read" ? lines.join("\n") : isError ? "no match" : `done with step ${i}`;
    messages.push({
      role: "toolResult",
      toolCallId: id,
      toolName: call.name,
      content: [{ type: "text", text }],
      isError,
      timestamp: 2 * i + 3,
    });
  }
  return { messages, start, files };
}

const steps = fc.array(
  fc.record({
    kind: fc.constantFrom("read", "edit", "quote"),
    file: fc.nat(FILES - 1),
    n: fc.nat(LINES - 1),
    back: fc.boolean(),
    fails: fc.boolean(),
  }),
  { minLength: 3, maxLength: 14 },
);

/** A policy that blanks some results and drops some pairs, for good. */
function forgetful(seed) {
  const blanked = new Map();
  const isIn = (id, share) => (Number.parseInt(id.slice(4), 10) * 7 + seed) % 5 < share;
  return async (messages) =>
    messages
      .slice(0, -2)
      .filter(({ role, content, toolCallId }) => {
        const id = role === "assistant" ? content.find(({ type }) => type === "toolCall")?.id : toolCallId;
        return id === undefined || !isIn(id, 1);
      })
      .map((message) => {
        if (message.role !== "toolResult" || !isIn(message.toolCallId, 3)) return message;
        if (!blanked.has(message))
          blanked.set(message, { ...message, content: [{ type: "text", text: "gone" }] });
        return blanked.get(message);
      })
      .concat(messages.slice(-2));
}

test("the counts are those of a plain search in the texts", async () => {
  await fc.assert(
    fc.asyncProperty(steps, fc.nat(4), async (given, seed) => {
      const { messages } = sessionOf(given);
      const session = new Session(messages);
      const needs = await needsUnder(forgetful(seed), session, recordingOf(messages), {
        contextWindow: 200_000,
      });
      const plain = await searched(messages, forgetful(seed), lastDiff(messages));
      for (const [name, value] of Object.entries(plain))
        assert.ok(Math.abs(needs[name] - value) < 1e-9, name);
    }),
    { numRuns: 60 },
  );
});

async function searched(messages, policy, touched) {
  const counts = {};
  const add = (name, value) => {
    counts[name] = (counts[name] ?? 0) + value;
  };
  const stands = (list, text) => list.some((message) => textOf(message).includes(text));
  const callsIn = (list) => list.filter(({ role }) => role === "assistant").length;
  for (const [i, answer] of messages.entries()) {
    if (answer.role !== "assistant") continue;
    const before = messages.slice(0, i);
    const sent = await policy(before);
    const old = answer.content.flatMap((block) => block.arguments?.edits ?? []);
    const quoted = {
      spans: spansIn(textOf(answer)),
      edits: old.map(({ oldText }) => oldText),
      touched: touched.get(i) ?? [],
    };
    for (const [name, texts] of Object.entries(quoted)) {
      const known = texts.filter((text) => stands(before, text));
      add(name, known.length);
      add(`${name}InView`, known.filter((text) => stands(sent, text)).length);
    }
    add("calls", 1);
    add("earlierCalls", callsIn(before) > 0 ? callsIn(sent) / callsIn(before) : 1);
  }
  return counts;
}

function spansIn(text) {
  const starts = Array.from(
    { length: Math.max(0, Math.floor((text.length - SPAN) / 12) + 1) },
    (_, i) => 12 * i,
  );
  return starts.map((at) => text.slice(at, at + SPAN)).filter((span) => /\S{3}/.test(span));
}

test("the last diff is that of the files as they are left", () => {
  fc.assert(
    fc.property(steps, (given) => {
      const { messages, start, files } = sessionOf(given);
      const removed = start.flatMap((lines, file) => lines.filter((one) => !files[file].includes(one)));
      const told = Array.from(lastDiff(messages).values()).flat();
      assert.deepEqual(told.sort(), removed.sort());
      const known = removed.slice(0, 1).map((one) => `-${one}\n`);
      const diff = `--- a/file\n+++ b/file\n@@ -1 +1 @@\n${known}+something else altogether\n`;
      const named = Array.from(lastDiff(messages, diff).values()).flat();
      assert.deepEqual(named, removed.slice(0, 1));
    }),
  );
});

test("changes are found in the shapes of each agent's edits", () => {
  const change = { path: "a.js", old: "old line", new: "new line" };
  const cases = [
    [{ path: "a.js", oldText: "old line", newText: "new line" }, [change]],
    [{ file_path: "a.js", old_string: "old line", new_string: "new line" }, [change]],
    [
      {
        path: "a.js",
        edits: [
          { oldText: "old line", newText: "new line" },
          { oldText: "b", newText: "" },
        ],
      },
      [change, { path: "a.js", old: "b", new: "" }],
    ],
    [
      {
        input:
          "*** Begin Patch\n*** Update File: a.js\n@@ one\n kept\n-old line\n+new line\n*** Add File: b.js\n+all new\n*** End Patch",
      },
      [{ path: "a.js", old: "kept\nold line\n", new: "kept\nnew line\n" }],
    ],
    [{ path: "a.js", content: "whole" }, []],
    [null, []],
  ];
  for (const [given, expected] of cases) assert.deepEqual(changesOf({ arguments: given }), expected);
});

test("what was never needed is in view", () => {
  const shares = sharesOf(emptyNeeds());
  assert.deepEqual(shares, { tokensPerCall: 1, copied: 1, edits: 1, earlierCalls: 1, lastDiff: 1 });
});

test("the bench tells of a folder of sessions, with a diff beside one of them", () => {
  const step = (kind, n) => ({ kind, file: 0, n, back: false, fails: false });
  const { messages } = sessionOf([step("read", 0), step("edit", 3), step("edit", 5)]);
  writeFileSync(join(folder, "one.jsonl"), asPiFile(messages));
  writeFileSync(join(folder, "one.diff"), `-${line(0, 3)}\n`);
  writeFileSync(join(folder, "two.jsonl"), asPiFile(messages));
  const args = ["bench/needs.mjs", folder, "--each"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: new URL("..", import.meta.url),
    encoding: "utf8",
  });
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^one\.jsonl: 3 calls, \d+ copied spans, 2 edits, 1 lines of the last diff$/m);
  assert.match(stdout, /^two\.jsonl: 3 calls, \d+ copied spans, 2 edits, 2 lines of the last diff$/m);
  assert.match(stdout, /^all: 6 calls, \d+ copied spans, 4 edits, 3 lines of the last diff$/m);
  for (const policy of [
    "no compression",
    "sticky, balanced",
    "pi's own compaction",
    "cold only",
    "compacted as recorded",
  ])
    assert.match(stdout, new RegExp(`^${policy} +[\\d,]+ +100\\.0 % +100\\.0 % +100\\.0 % +100\\.0 %$`, "m"));
});
