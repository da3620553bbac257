// The command-line tool as a user runs it: a process of its own, files, pipes, exit codes.

import assert from "node:assert/strict";
import { constants } from "node:buffer";
import { spawn } from "node:child_process";
import { once } from "node:events";
import fs, { mkdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { countTokens, explain } from "../index.js";
import { textTable } from "../lib/cli/terminal.mjs";
import { CLI, dataOf, documentOf, fileOf, folder, run } from "./support/cli.mjs";
import { fieldsOf } from "./support/fields.mjs";
import * as made from "./support/messages.mjs";
import { EXAMPLE, RECORDING } from "./support/recording.mjs";
import { asPiFile, sessionWithTools } from "./support/session.mjs";
import { table } from "./support/tables.mjs";
import { VOCABULARIES } from "./support/vocabularies/index.mjs";

/** The text of a pi file of so many calls, with a compaction in the line `at` that kept what stands from line `kept` on. */
function compactedFile(calls, at, kept) {
  const lines = asPiFile(piSession(calls)).trimEnd().split("\n");
  const compaction = { type: "compaction", summary: "earlier", firstKeptEntryIndex: kept, tokensBefore: 1 };
  return lines.toSpliced(at, 0, JSON.stringify(compaction)).join("\n");
}

/** A session of which nothing was reported and nothing thought. */
function piSession(calls) {
  return sessionWithTools(calls).map(({ role, content, toolCallId, toolName, isError, timestamp }) => {
    const said = Array.isArray(content) ? content.filter(({ type }) => type !== "thinking") : content;
    const result = toolCallId === undefined ? {} : { toolCallId, toolName, isError };
    return { role, content: said, ...result, timestamp };
  });
}

test("without usage the sizes are those of the messages", () => {
  const messages = piSession(10);
  const { calls } = documentOf(["replay", "--schedule", "everyCall", "-"], asPiFile(messages));
  assert.equal(calls.length, 11);
  const { tokensBefore, tokensAfter, saved } = calls.at(-1);
  assert.equal(tokensBefore, countTokens(messages.slice(0, -1)));
  assert.ok(saved.toolResults > 0 && saved.toolResults === tokensBefore - tokensAfter);
});

test("prints a line per call, every n-th on demand, and a closing table", () => {
  const input = asPiFile(piSession(10));
  const all = run(["replay", "-"], input);
  const some = run(["replay", "--every", "5", "-"], input);
  const callLines = (text) => text.split("\n").filter((line) => /^ +\d+ /.test(line)).length;
  assert.equal(callLines(all.stdout), 11);
  assert.equal(callLines(some.stdout), 2);
  assert.match(some.stdout, /^format +pi session, version 1, 22 messages, 11 model calls$/m);
  assert.match(some.stdout, /^model calls +11$/m);
  assert.ok(!(all.stdout + all.stderr).includes("\u001b"), "no terminal codes in a pipe");
});

test("a broken line is reported with its number and skipped", () => {
  const lines = asPiFile(piSession(2)).trimEnd().split("\n");
  lines.splice(3, 0, '{"type": "message", "mess');
  const { status, stdout, stderr } = run(["replay", "-"], lines.join("\n"));
  assert.equal(status, 0);
  assert.match(stderr, /^line 4 skipped: .+\n$/);
  assert.match(stdout, /^lines skipped +1$/m);
});

test("explain says what one call would do, in figures and as JSON", () => {
  const messages = sessionWithTools(12);
  const file = fileOf("explain.jsonl", asPiFile(messages));
  const ask = (...args) => run(["explain", "--schedule", "everyCall", ...args, file]);
  const { edits, tokensBefore, tokensAfter, call } = JSON.parse(ask("--json", "--call", "10").stdout);
  assert.equal(call, 10);
  const cut = edits.filter(({ action }) => action === "summarize");
  assert.deepEqual(fieldsOf(cut, "message"), [3, 5, 7], "counted from 1, as the report does");
  const saved = edits.reduce((sum, { tokensSaved }) => sum + tokensSaved, 0);
  assert.equal(saved, tokensBefore - tokensAfter);
  assert.match(ask("--call", "10").stdout, /^#3 toolResult read +1 +summarize +[\d,]+ +\S/m);
  assert.match(ask("--call", "1").stdout, /Nothing is edited\.\n$/);
  const first = run(["explain", "--call", "1", EXAMPLE]).stdout;
  assert.match(first, /^pays back +nothing could be removed now$/m);
  assert.equal(JSON.parse(ask("--json").stdout).call, 13);
});

test("count tells the tokens of each file and of all", () => {
  const files = [fileOf("a.txt", "hello world"), fileOf("b.txt", "\ufeff你好 <|endoftext|>")];
  const tokens = ["hello world", "\ufeff你好 <|endoftext|>"].map((text) => countTokens(text));
  const total = tokens[0] + tokens[1];
  const { status, stdout } = run(["count", "--json", ...files]);
  assert.equal(status, 0);
  const counted = JSON.parse(stdout);
  assert.deepEqual(
    counted.files.map((file) => [file.file, file.tokens]),
    files.map((file, i) => [file, tokens[i]]),
  );
  assert.equal(counted.total, total);
  assert.match(run(["count", ...files]).stdout, new RegExp(`^total +${total} +\\d+$`, "m"));
});

test("UTF-16 with a byte order mark is read as what it says", () => {
  const utf16 = (text) => Buffer.from(`\ufeff${text}`, "utf16le");
  for (const swapped of [false, true]) {
    const bytes = (text) => (swapped ? utf16(text).swap16() : utf16(text));
    const file = fileOf("utf16.txt", bytes("你好 world"));
    assert.equal(documentOf(["count", file]).total, countTokens("\ufeff你好 world"));
    const session = fileOf("utf16.jsonl", bytes(asPiFile(piSession(3))));
    assert.equal(documentOf(["replay", session]).calls.length, 4);
  }
});

test("a full disk is one clear sentence", { skip: !fs.existsSync("/dev/full") }, () => {
  const { status, stderr } = run(["--help"], "", { stdio: ["pipe", fs.openSync("/dev/full", "w"), "pipe"] });
  assert.deepEqual([status, stderr.trimEnd().split("\n").length], [1, 1], stderr);
});

test("count goes by an open model's file, and says what is wrong with one", () => {
  const { file } = VOCABULARIES.qwen3;
  assert.match(run(["count", "--tokenizer", file], "第12345个 token").stdout, /^- +8 +17$/m);
  const { status, stderr } = run(["count", "--tokenizer", EXAMPLE], "a");
  assert.equal(status, 2);
  assert.match(stderr, /session\.jsonl: line \d+, column \d+: /);
  assert.equal(run(["count", "--tokenizer", file, "--model", "gpt-4o"], "a").status, 2);
  const byModel = run(["count", "--json", "--model", "gpt-4o"], "größer 日本語").stdout;
  assert.equal(JSON.parse(byModel).total, countTokens("größer 日本語", { model: "gpt-4o" }));
});

test("count reads standard input, and goes on after a file it cannot read", () => {
  const long = fileOf("long.txt", "");
  truncateSync(long, constants.MAX_STRING_LENGTH + 1);
  const { status, stdout, stderr } = run(["count", "/no/such/*", "/no/such/file", long, "-"], "hello world");
  rmSync(long);
  assert.equal(status, 2);
  const [pattern, ...told] = stderr.trimEnd().split("\n");
  assert.match(pattern, /^No file matches |patterns need Node 22/);
  assert.deepEqual(told, [
    "Cannot read /no/such/file: there is no such file or folder; check the path.",
    `Cannot read ${long}: it is too long for one string; split it.`,
  ]);
  assert.match(stdout, /^- +2 +11$/m);
});

test("count names a broken link among a pattern's files, and counts the others", {
  skip: fs.globSync === undefined && "patterns need Node 22",
}, () => {
  mkdirSync(join(folder, "links"));
  fileOf("links/a.txt", "hello world");
  symlinkSync("/no/such/file", join(folder, "links", "b.txt"));
  const { status, stdout, stderr } = run(["count", join(folder, "links", "*")]);
  assert.equal(status, 2);
  assert.match(stderr, /^Cannot read .+b\.txt: there is no such file or folder; check the path\.\n$/);
  assert.match(stdout, /a\.txt +2 +11$/m);
});

test("what the layers saved adds up to what was sent less, at each call and over all", () => {
  for (const schedule of ["everyCall", "sticky"]) {
    const args = ["replay", "--json", "--schedule", schedule, "--context-window", "24000", EXAMPLE];
    const { calls, summary } = JSON.parse(run(args).stdout);
    const sum = (saved) => Object.values(saved).reduce((total, tokens) => total + tokens, 0);
    for (const { saved, tokensBefore, tokensAfter } of calls)
      assert.equal(sum(saved), tokensBefore - tokensAfter);
    assert.equal(sum(summary.saved), summary.tokensSent.before - summary.tokensSent.after);
    assert.ok(summary.saved.window > 0, "a smaller window slides");
  }
});

test("every recorded call is played, also before a compaction, and those of sub-agents are counted", () => {
  const compacted = compactedFile(10, 12, 9);
  const { calls } = documentOf(["replay", "-"], compacted);
  // 11 lines of messages before it, of which three were kept beside the summary.
  assert.deepEqual(fieldsOf(calls, "messagesBefore"), [1, 3, 5, 7, 9, 4, 6, 8, 10, 12, 14]);
  const { stdout } = run(["replay", "-"], compacted);
  assert.match(stdout, /^model calls +11$/m);
  assert.match(stdout, /^recorded compactions +1$/m);

  const said = (uuid, more) => ({ type: "assistant", uuid, message: { id: uuid, content: "x" }, ...more });
  const asked = { type: "user", uuid: "u", parentUuid: null, message: { content: "go" } };
  const claude = [
    asked,
    said("a", { parentUuid: "u" }),
    said("side", { parentUuid: "u", isSidechain: true }),
  ];
  const { stdout: told } = run(["replay", "-"], claude.map((line) => JSON.stringify(line)).join("\n"));
  assert.match(told, /^format +Claude Code transcript, 2 messages, 1 model call$/m);
  assert.match(told, /^not played +1 call made by sub-agents$/m);
});

test("the report and the replay are one run: the same calls, sizes and dollars, before compactions too", () => {
  const html = join(folder, "one-run.html");
  for (const file of [fileOf("compacted.jsonl", compactedFile(10, 12, 9)), EXAMPLE, RECORDING]) {
    const played = (...args) => {
      const { calls, summary } = documentOf(["replay", ...args, file]);
      const { totalMs, blockedMs, ...figures } = summary;
      return { calls: calls.map(({ totalMs, blockedMs, ...call }) => call), figures };
    };
    const alone = played();
    assert.deepEqual(played("--html", html), alone);
    const page = readFileSync(html, "utf8");
    const data = dataOf(page);
    const [none] = data.policies;
    const ours = data.policies.find(({ name }) => name === data.ours);
    const { tokensSent, peakTokens, callsOverWindow, cost } = alone.figures;
    const { cache, after, prices } = cost;
    for (const [policy, when] of [
      [none, "before"],
      [ours, "after"],
    ])
      assert.deepEqual(
        [policy.calls, policy.tokens, policy.peak, policy.overflows, policy.dollars[cache]],
        [alone.calls.length, tokensSent[when], peakTokens[when], callsOverWindow[when], cost[when]],
      );
    const reported = data.calls.map(({ totalMs, blockedMs, ...call }) => call);
    assert.deepEqual(reported, alone.calls);
    assert.deepEqual([data.cache, data.prices], [cache, prices]);
    const table = run(["replay", "--every", "99999", file]).stdout.replace(/\s+/g, " ");
    assert.ok(table.includes(`${ours.tokens.toLocaleString("en-US")} (`), table);
    const isPriced = prices.unit === "dollars";
    assert.ok(
      table.includes(isPriced ? `→ $${after.toFixed(2)} (` : "as no price is known: tokens are weighed"),
      table,
    );
    assert.equal(table.includes("$"), isPriced);
  }
});

test("what no provider would have taken is not compared with", () => {
  const told = run(["replay", "--context-window", "40000", EXAMPLE]).stdout.replace(/\s+/g, " ");
  assert.match(told, /impossible without the hook: \d+ calls over the window/);
});

test("what a provider took was not over the window", () => {
  for (const [input, window] of [
    [200_000, 200_000],
    [200_001, 1_000_000],
    [1_200_000, 1_200_000],
  ]) {
    const file = asPiFile([made.user(), made.answer("a", { usage: { input, output: 1 } })]);
    const told = run(["replay", "-"], file).stdout.replace(/\s+/g, " ");
    assert.ok(told.includes(`window ${window.toLocaleString("en-US")} tokens`), told);
    assert.match(told, /calls over the window 0 → 0/);
  }
});

test("the last column of a table wraps below itself", (t) => {
  const { columns } = process.stdout;
  process.stdout.columns = 30;
  t.after(() => {
    process.stdout.columns = columns;
  });
  const rows = [["1", "one two three four five six seven"]];
  const prose = textTable(["a", "why"], rows, { hasProse: true });
  assert.equal(stripVTControlCharacters(prose), "a  why\n1  one two three four five six\n   seven");
});

test("where no lifetime is published the cache outlives a pause, as the hook takes it", async () => {
  let [at, prompt] = [0, 3000];
  const steps = Array.from({ length: 42 }, (_, i) => {
    at += i === 40 ? 600_000 : 20_000;
    const usage = { input: 900, cacheRead: prompt, cacheWrite: 0, output: 30 };
    prompt += 900;
    const by = { provider: "deepseek", model: "deepseek-chat", usage, timestamp: at };
    const rows = Array.from({ length: 130 }, (_, row) => `ok ${row} of ${i} passed`).join("\n");
    return [made.answer(`:c${i}`, by), made.result(`c${i}`, rows, { timestamp: at + 500 })];
  });
  const messages = [made.user("go", { timestamp: 0 }), ...steps.flat()];
  const file = fileOf("deepseek.jsonl", asPiFile(messages));
  const { schedule, tokensAfter, tokensBefore } = documentOf(["explain", file]);
  assert.equal(schedule.why, (await explain(messages.slice(0, -2))).schedule.why);
  assert.equal(tokensAfter, tokensBefore);
  assert.match(run(["replay", file]).stdout.replace(/\s+/g, " "), /an entry lives through every pause/);
});

test("explain finds a call before a compaction, and numbers its messages as the recording does", () => {
  const file = fileOf("compacted.jsonl", compactedFile(12, 8, 5));
  const ask = (call) => documentOf(["explain", "--schedule", "everyCall", "--call", call, file]).edits;
  assert.deepEqual(ask("3"), []);
  const numbers = ask("12").map(({ message }) => message);
  assert.deepEqual(numbers.slice(0, 2), [5, 7], "kept from before the compaction, numbered as it came");
  // The report has the same numbers, also behind messages that were in no request.
  const html = join(folder, "numbers.html");
  const unseen = fileOf("unseen.jsonl", compactedFile(12, 8, 8));
  const { edits } = documentOf(["explain", "--schedule", "everyCall", unseen]);
  run(["replay", "--schedule", "everyCall", "--html", html, unseen]);
  const { calls, changes } = dataOf(readFileSync(html, "utf8"));
  const shown = changes.filter(({ to }) => to === calls.length).map(({ message }) => message + 1);
  assert.ok(edits.length > 0);
  assert.deepEqual(
    shown.sort((a, b) => a - b),
    fieldsOf(edits, "message").sort((a, b) => a - b),
  );
});

test("explain's document numbers what stays and what moves as it numbers the edits", () => {
  const rules = [made.answer([made.call("k", { arguments: { path: "SKILL.md" } })]), made.result("k")];
  const file = fileOf(
    "moved.jsonl",
    asPiFile([made.user(), ...rules, ...made.spelled(":a x =a"), made.answer("x")]),
  );
  const { kept, edits } = documentOf(["explain", "--keep", '{"files":["SKILL.md"]}', file]);
  assert.deepEqual(kept, [{ message: 3, why: "keep: SKILL.md" }]);
  const [{ message, of, action, after }] = edits;
  assert.deepEqual([message, of, action, after], [5, "custom", "moveAfter", 6]);
  const { stdout } = run(["explain", "--keep", '{"files":["SKILL.md"]}', file]);
  assert.match(stdout, /^stays whole +#3 \(keep: SKILL\.md\)$/m);
});

test("a reader that stops reading is no failure", async () => {
  const child = spawn(process.execPath, [CLI, "replay", EXAMPLE]);
  let complaints = "";
  child.stderr.on("data", (text) => {
    complaints += text;
  });
  await once(child.stdout, "data");
  child.stdout.destroy();
  const [code] = await once(child, "exit");
  assert.deepEqual([code, complaints], [0, ""]);
});

test("colours only where they are wanted", () => {
  const env = { ...process.env, FORCE_COLOR: "1" };
  delete env.NO_COLOR;
  const count = (variables) => run(["count"], "a", { env: variables }).stdout;
  assert.ok(count(env).includes("\u001b["));
  assert.ok(!count({ ...env, FORCE_COLOR: "0" }).includes("\u001b["));
  assert.ok(!count({ ...env, FORCE_COLOR: undefined, NO_COLOR: "1" }).includes("\u001b["));
});

/** What the texts of expected/cli-mistakes.json name. */
const options = join(folder, "wrong-options.json");
const oneCall = asPiFile(piSession(1));
const named = { folder, example: EXAMPLE, oneCall, session: fileOf("mine.jsonl", oneCall), options };

for (const [what, { args, says, input, options: text }] of Object.entries(
  table("cli-mistakes.json", named),
)) {
  test(`${what} is one clear sentence and exit code 2`, () => {
    if (text !== undefined) writeFileSync(options, text);
    const { status, stdout, stderr } = run(args, input);
    assert.equal(status, 2);
    assert.equal(stdout, "");
    assert.match(stderr, new RegExp(says));
    assert.equal(stderr.trimEnd().split("\n").length, 1);
  });
}

test("--help shows examples that parse, and says what the exit codes mean", () => {
  const helps = [["--help"], ["replay", "--help"], []].map((args) => run(args));
  const [{ stdout: help }] = helps;
  assert.ok(helps.every(({ status, stdout }) => status === 0 && stdout === help));
  const examples = Array.from(help.matchAll(/^ {2}(?:.*\| )?pi-strata (.*?)(?: \| .*)?$/gm), ([, line]) =>
    line.split(" "),
  );
  assert.ok(examples.length >= 5, help);
  for (const [name, ...args] of examples) {
    assert.match(help, new RegExp(`^${name} \\[`, "m"));
    for (const option of args.filter((argument) => argument.startsWith("--")))
      assert.match(help, new RegExp(`${option}\\b`), `${name} ${option}`);
  }
  assert.match(help, /Exit codes: 0 .* 2 .*\b1 /s);
  for (const line of help.split("\n")) assert.ok(line.length <= 80, line);
});

test("--version says which", () => {
  const { status, stdout } = run(["--version"]);
  assert.equal(status, 0);
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/);
});
