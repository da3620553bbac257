// The command-line tool as a user runs it: a process of its own, files, pipes, exit codes.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { countTokens } from "../index.js";

const CLI = fileURLToPath(new URL("../bin/pi-strata.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pi-strata-cli-"));
after(() => rmSync(folder, { recursive: true }));

function run(args, input = "") {
  return spawnSync(process.execPath, [CLI, ...args], { encoding: "utf8", input });
}

function fileOf(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

const LONG = Array.from({ length: 60 }, (_, i) => `line ${i} of a long result`).join("\n");

/** A pi session: one question, `calls` tool calls, an answer. */
function piSession(calls) {
  const messages = [{ role: "user", content: "go", timestamp: 1 }];
  for (let i = 0; i < calls; i += 1) {
    messages.push({
      role: "assistant",
      content: [{ type: "toolCall", id: `c${i}`, name: "read", arguments: {} }],
      timestamp: 2 * i + 2,
    });
    messages.push({
      role: "toolResult",
      toolCallId: `c${i}`,
      toolName: "read",
      content: [{ type: "text", text: LONG }],
      isError: false,
      timestamp: 2 * i + 3,
    });
  }
  messages.push({ role: "assistant", content: [{ type: "text", text: "done" }], timestamp: 99 });
  return messages;
}

function asPiFile(messages) {
  const header = { type: "session", id: "s", timestamp: "2026-01-01T00:00:00.000Z", cwd: "/" };
  const entries = messages.map((message) => ({ type: "message", timestamp: header.timestamp, message }));
  return [header, ...entries].map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

test("replays a session and says what each layer saved", () => {
  const messages = piSession(10);
  const { status, stdout, stderr } = run([
    "replay",
    "--json",
    "--schedule",
    "everyCall",
    fileOf("session.jsonl", asPiFile(messages)),
  ]);
  assert.equal(stderr, "");
  assert.equal(status, 0);
  const { calls, summary } = JSON.parse(stdout);
  assert.equal(calls.length, 11);
  assert.equal(calls.at(-1).tokensBefore, countTokens(messages.slice(0, -1)));
  assert.equal(calls.at(-1).tokensBefore - calls.at(-1).tokensAfter, calls.at(-1).saved.toolResults);
  assert.equal(summary.saved.toolResults, summary.tokensSent.before - summary.tokensSent.after);
  assert.ok(summary.saved.toolResults > 0);
});

test("prints a line per call, every n-th on demand, and a closing table", () => {
  const input = asPiFile(piSession(10));
  const all = run(["replay", "-"], input);
  const some = run(["replay", "--every", "5", "-"], input);
  const callLines = (text) => text.split("\n").filter((line) => /^ +\d+ /.test(line)).length;
  assert.equal(callLines(all.stdout), 11);
  assert.equal(callLines(some.stdout), 2);
  assert.match(some.stdout, /^session +pi session, version 1, 22 messages$/m);
  assert.match(some.stdout, /^model calls +11$/m);
  assert.ok(!(all.stdout + all.stderr).includes("\u001b"), "no terminal codes in a pipe");
});

test("a smaller window slides", () => {
  const { stdout } = run(["replay", "--json", "--context-window", "1500", "-"], asPiFile(piSession(30)));
  assert.ok(JSON.parse(stdout).summary.saved.window > 0);
});

test("a broken line is reported with its number and skipped", () => {
  const lines = asPiFile(piSession(2)).trimEnd().split("\n");
  lines.splice(3, 0, '{"type": "message", "mess');
  const { status, stdout, stderr } = run(["replay", "-"], lines.join("\n"));
  assert.equal(status, 0);
  assert.match(stderr, /^line 4 skipped: .+\n$/);
  assert.match(stdout, /^lines skipped +1$/m);
});

test("a Claude Code transcript replays", () => {
  const lines = [
    { type: "user", uuid: "1", parentUuid: null, message: { role: "user", content: "go" } },
    {
      type: "assistant",
      uuid: "2",
      parentUuid: "1",
      message: {
        id: "m1",
        role: "assistant",
        model: "claude-opus-4",
        content: [{ type: "text", text: "hello" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 3, output_tokens: 2 },
      },
    },
  ];
  const { status, stdout } = run(
    ["replay", "--json", "-"],
    lines.map((line) => JSON.stringify(line)).join("\n"),
  );
  assert.equal(status, 0);
  assert.equal(JSON.parse(stdout).format, "Claude Code transcript");
});

for (const [what, args, input, message] of [
  [
    "a missing file",
    ["replay", "/no/such/file"],
    "",
    /^Cannot read \/no\/such\/file: there is no such file\.\n$/,
  ],
  ["an empty file", ["replay", "-"], "", /^standard input is empty: .+\.\n$/],
  ["a file without messages", ["replay", "-"], '{"type":"session"}\n', /holds no messages: .+\.\n$/],
  ["a folder", ["replay", "/"], "", /^Cannot read \/: that is a folder\.\n$/],
  ["a wrong number", ["replay", "--every", "0", "-"], "", /must be a whole number above 0/],
  ["an unknown option", ["replay", "--nope", "-"], "", /unknown option/],
]) {
  test(`${what} is one clear sentence and exit code 2`, () => {
    const { status, stdout, stderr } = run(args, input);
    assert.equal(status, 2);
    assert.equal(stdout, "");
    assert.match(stderr, message);
    assert.equal(stderr.trimEnd().split("\n").length, 1);
  });
}

test("--help and --version end well", () => {
  for (const args of [["--help"], ["--version"], ["replay", "--help"]]) {
    const { status, stdout } = run(args);
    assert.equal(status, 0);
    assert.notEqual(stdout, "");
  }
});
