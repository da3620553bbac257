// The command line in its first minutes: on a terminal, on sessions of one's own, and on what other tools wrote.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { writeReport } from "../lib/cli/report/report.mjs";
import { CLI, dataOf, documentOf, fileOf, folder, run } from "./support/cli.mjs";
import { fieldsOf } from "./support/fields.mjs";
import * as made from "./support/messages.mjs";
import { EXAMPLE } from "./support/recording.mjs";
import { asPiFile, sessionWithTools } from "./support/session.mjs";

const PACKAGE = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const hasTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
/** What a command writes to a terminal of so many columns. */
function onTerminal(args, columns) {
  const command = [process.execPath, CLI, ...args].join(" ");
  const { stdout } = spawnSync("script", ["-qec", `stty cols ${columns} rows 50; ${command}`, "/dev/null"], {
    encoding: "utf8",
    env: { ...process.env, TERM: "xterm", NO_COLOR: "1" },
  });
  return stdout.replaceAll("\r\n", "\n");
}

/** The characters that move a cursor, but for line feeds. */
const controlsIn = (text) => [...text].filter((letter) => /\p{Cc}/u.test(letter) && letter !== "\n");

for (const columns of [80, 120]) {
  test(`rows on a terminal of ${columns} columns stand as they are in a pipe`, { skip: !hasTerminal }, () => {
    const args = ["replay", "--every", "20", EXAMPLE];
    const screen = onTerminal(args, columns);
    assert.deepEqual(controlsIn(screen), [], "nothing moves the cursor or writes over a row");
    const lines = screen.split("\n");
    assert.ok(lines.every((line) => [...line].length <= columns));
    const withoutTimes = (text) =>
      text.replace(/ +[\d.]+$/gm, "").replace(/^(time per|main thread).*$/gm, "");
    if (columns === 80) assert.equal(withoutTimes(screen), withoutTimes(run(args).stdout));
  });
}

test("a replay says first which prices and which cache it goes by", () => {
  const opening = (args, file = EXAMPLE) =>
    run(["replay", "--every", "99999", ...args, file])
      .stdout.split("\n\n")[0]
      .replace(/\s+/g, " ");
  assert.match(
    opening([]),
    /prices \$3 per million tokens of input, as the session was billed; cache reads × 0\.1, writes × 1\.25 cache whole earlier requests are read \(breakpoint cache\); an entry lives 300 s/,
  );
  const hourly = readFileSync(EXAMPLE, "utf8").replace(/"cacheWrite":(\d+)/g, '"cacheWrite1h":$1,$&');
  const file = fileOf("hourly.jsonl", hourly);
  assert.match(opening(["--price", "4"], file), /writes × 2 .* an entry lives 3,600 s/);
  assert.match(opening(["--cache", '{"read":0.2}'], file), /reads × 0\.2, .* an entry lives 3,600 s/);
  assert.match(opening(["--price", "4,20"]), /prices \$4 per million tokens of input, as --price names it/);
  const free = fileOf(
    "free.jsonl",
    readFileSync(EXAMPLE, "utf8").replace(/"cost":\{[^}]*\}/g, '"cost":{"total":0}'),
  );
  assert.match(
    opening([], free),
    /as no price is known: tokens are weighed, cache reads × 0\.1, writes × 1\.25/,
  );
  const { stdout } = run(["replay", "--every", "99999", free]);
  assert.doesNotMatch(stdout, /\$/, "no dollars without a price");
  assert.match(stdout, /^cost of the input, all calls +[\d,]+ tokens → [\d,]+ tokens/m);
});

test("each call is priced as its own model was billed, and reads the cache of that model", () => {
  let sum = 0;
  const messages = billed(40, (message, count) => {
    const [model, price] = count < 22 ? ["claude-haiku-4-5", 1e-6] : ["claude-opus-4-5", 5e-6];
    const { cacheRead, cacheWrite } = message.usage;
    const read = count === 22 ? 0 : cacheRead;
    const usage = { input: 0, output: 0, cacheRead: read, cacheWrite: cacheWrite + cacheRead - read };
    const cost = { cacheRead: read * price * 0.1, cacheWrite: usage.cacheWrite * price * 1.25 };
    sum += cost.cacheRead + cost.cacheWrite;
    return { ...message, model, usage: { ...usage, cost } };
  });
  const file = fileOf("two-models.jsonl", asPiFile(messages));
  const { prices, before, reported } = documentOf(["replay", file]).summary.cost;
  assert.ok(Math.abs(before / sum - 1) < 0.02, `${before} and ${sum}`);
  assert.ok(Math.abs(reported / sum - 1) < 1e-9, `${reported} and ${sum}`);
  assert.match(
    run(["replay", file]).stdout,
    new RegExp(`^ {2}as it was reported +\\$${sum.toFixed(2)}; `, "m"),
  );
  const range = prices.range.input.map((price) => Math.round(price));
  assert.deepEqual(range, [1, 5]);
  assert.match(run(["replay", file]).stdout, /^prices +\$1 to \$5 per million tokens of input/m);
});

test("calls that were billed at nothing stay free beside paid ones", () => {
  let sum = 0;
  const messages = billed(40, (message, count) => {
    if (count % 8 < 7) return { ...message, model: "qwen3", usage: { ...message.usage, cost: { total: 0 } } };
    const { cacheRead, cacheWrite } = message.usage;
    const cost = { input: (cacheRead + cacheWrite) * 1e-6 };
    sum += cost.input;
    const usage = { input: cacheRead + cacheWrite, output: 9, cacheRead: 0, cacheWrite: 0, cost };
    return { ...message, model: "deepseek-chat", usage };
  });
  const file = fileOf("free-and-paid.jsonl", asPiFile(messages));
  const { prices, before } = documentOf(["replay", "--cache", '{"read":1,"write":1}', file]).summary.cost;
  assert.ok(Math.abs(before / sum - 1) < 0.02, `${before} and ${sum}`);
  assert.equal(prices.model, "anthropic/deepseek-chat");
  assert.match(run(["replay", file]).stdout, /^prices +\$0 to \$1 per million tokens of input/m);
});

test("every option of the hook is one of the command line, and those of a file are too", () => {
  const summary = (...args) => documentOf(["replay", ...args, EXAMPLE]).summary;
  const own = summary("--economy", "thrifty", "--keep-recent-tool-results", "2").tokensSent.after;
  const options = fileOf("options.json", JSON.stringify({ economy: "thrifty", keepRecentToolResults: 2 }));
  assert.equal(summary("--options", options).tokensSent.after, own);
  assert.notEqual(summary().tokensSent.after, own);
  // Windows' own editors write a byte order mark.
  const marked = fileOf("marked.json", `\ufeff${JSON.stringify({ economy: "thrifty" })}`);
  const kept = ["--keep-recent-tool-results", "2", "--exclude-tools"];
  const [names, list] = ["read,bash", '["read", "bash"]'].map(
    (tools) => summary("--options", marked, ...kept, tools).tokensSent.after,
  );
  assert.ok(names === list && names > own);
  const explained = (...args) => documentOf(["explain", ...args, EXAMPLE]);
  assert.equal(explained("--options", options, "--schedule", "everyCall").schedule.mode, "everyCall");
});

test("without a file the newest session is taken, of a folder the newest in it", () => {
  const home = mkdtempSync(join(folder, "home-"));
  const pi = join(home, ".pi", "agent", "sessions", "--project--");
  const claude = join(home, ".claude", "projects", "project");
  const place = (where, name, calls, seconds) => {
    mkdirSync(where, { recursive: true });
    const path = join(where, name);
    writeFileSync(path, asPiFile(sessionWithTools(calls)));
    utimesSync(path, seconds, seconds);
    return path;
  };
  const [old, newest] = [place(pi, "old.jsonl", 1, 1000), place(claude, "new.jsonl", 2, 2000)];
  // Claude Code writes the sessions of its sub-agents beside its own.
  place(claude, "agent-cb4ad2c6.jsonl", 1, 3000);
  const onlyAgents = place(join(home, "agents"), "agent-cb4ad2c6.jsonl", 1, 3000);
  const moved = place(join(home, "moved"), "pi.jsonl", 1, 3000);
  const env = {
    ...process.env,
    HOME: home,
    USERPROFILE: home,
    PI_CODING_AGENT_DIR: "",
    PI_CODING_AGENT_SESSION_DIR: undefined,
    CLAUDE_CONFIG_DIR: undefined,
  };
  const sessionOf = (...args) => documentOf(["replay", ...args], "", { env }).session;
  assert.deepEqual(
    [sessionOf(), sessionOf(claude), sessionOf(pi), sessionOf(join(home, ".pi"), "--price", "1")],
    [newest, newest, old, old],
  );
  assert.equal(sessionOf(join(home, "agents")), onlyAgents);
  env.PI_CODING_AGENT_SESSION_DIR = "~/moved";
  assert.equal(sessionOf(), moved);
  const none = run(["explain", mkdtempSync(join(folder, "empty-"))]);
  assert.deepEqual([none.status, none.stdout], [2, ""]);
  assert.match(none.stderr, /^There is no session \(\*\.jsonl\) in .+; name a file\.\n$/);
});

/** A session of `claude` calls, each a minute after the other, that read what the one before wrote; `change` edits each answer. */
function billed(calls, change = (answer) => answer) {
  const messages = [{ role: "user", content: "go on", timestamp: 1e12 }];
  let prompt = 8000;
  for (let call = 0; call < calls; call += 1) {
    const timestamp = 1e12 + 60_000 * (call + 1);
    const [cacheRead, cacheWrite] = call === 0 ? [0, prompt] : [prompt - 4000, 4000];
    const usage = { input: 0, output: 9, cacheRead, cacheWrite };
    const block = made.call(`c${call}`, { arguments: { path: `f${call}` } });
    const text = `line of file ${call}\n`.repeat(800);
    messages.push(
      change(made.answer([block], { model: "claude-x", usage, stopReason: "toolUse", timestamp }), call),
      made.result(`c${call}`, text, { timestamp: timestamp + 1000 }),
    );
    prompt += 4000;
  }
  return messages;
}

test("a session that was sent without some of its messages is taken with them, and that is said", () => {
  const whole = billed(30);
  const usage = { input: 0, output: 9, cacheRead: 20_000, cacheWrite: 4_000 };
  const messages = billed(30, (message, count) => (count < 15 ? message : { ...message, usage }));
  const file = fileOf("pruned.jsonl", asPiFile(messages));
  const html = join(folder, "pruned.html");
  const { summary, oddCalls } = documentOf(["replay", "--html", html, file]);
  const known = documentOf(["replay", fileOf("whole.jsonl", asPiFile(whole))]).summary.tokensSent.before;
  assert.ok(Math.abs(summary.tokensSent.before / known - 1) < 0.05);
  assert.equal(dataOf(readFileSync(html, "utf8")).oddCalls, oddCalls.length);
  assert.ok(oddCalls.length > 5 && oddCalls.every(({ reported, counted }) => counted > 1.1 * reported));
  assert.match(
    run(["replay", "--every", "999", file]).stdout.replace(/\s+/g, " "),
    /usage \d+ reports below the size of the messages \(call 30: 24,000 tokens, the messages make [\d,]+\): the host, or this hook, left something out; without the hook counts the messages/,
  );
  assert.deepEqual(documentOf(["replay", EXAMPLE]).oddCalls, []);
});

test("a call of a model that counts fewer tokens, or of one request that was larger, changes no other call", () => {
  const messages = billed(60, (message, before) => {
    const count = before + 1;
    const scale = count % 10 === 0 ? 1 : 1.36;
    const prompt = message.usage.cacheRead + message.usage.cacheWrite;
    // One call left most messages out, and one had other content as well.
    const input = count === 45 ? 5000 : scale * prompt + (count === 15 ? 60_000 : 0);
    const usage = { input, output: 9, cacheRead: 0, cacheWrite: 0 };
    return { ...message, model: scale === 1 ? "gpt-5" : "claude-x", usage };
  });
  const { oddCalls } = documentOf(["replay", fileOf("scales.jsonl", asPiFile(messages))]);
  assert.deepEqual(fieldsOf(oddCalls, "reported"), [5000]);
  const [{ counted }] = oddCalls;
  const prompt = 1.36 * (8000 + 44 * 4000);
  assert.ok(Math.abs(counted / prompt - 1) < 0.03, `${counted} and ${prompt}`);
});

test("explain goes by --price as the replay does", () => {
  const perToken = 5e-6;
  const messages = billed(30, (message) => {
    const usage = { ...message.usage, input: 100 };
    // As dear as fresh input, so that batches come early.
    const costs = Object.entries(usage).map(([name, tokens]) => [name, tokens * perToken]);
    return { ...message, usage: { ...usage, cost: Object.fromEntries(costs) } };
  });
  const file = fileOf("priced.jsonl", asPiFile(messages));
  const edited = (...price) => {
    const { tokensAfter } = documentOf(["replay", ...price, file]).calls.at(-1);
    const explained = documentOf(["explain", ...price, file]).tokensAfter;
    assert.ok(Math.abs(explained / tokensAfter - 1) < 0.01, `${explained}, ${tokensAfter}`);
    return explained;
  };
  assert.ok(edited("--price", "5") > 1.1 * edited());
});

test("a report of a session without a call is written, and a failure leaves an earlier one as it was", () => {
  const html = join(folder, "report.html");
  const empty = fileOf("no-call.jsonl", asPiFile([{ role: "user", content: "hello", timestamp: 1 }]));
  const { status, stdout } = run(["replay", "--html", html, empty]);
  assert.deepEqual([status, readFileSync(html, "utf8").length > 10_000], [0, true], stdout);
  writeFileSync(html, "<!DOCTYPE html>an earlier report");
  assert.equal(run(["replay", "--html", html, fileOf("nothing.jsonl", "{}\n")]).status, 2);
  assert.equal(readFileSync(html, "utf8"), "<!DOCTYPE html>an earlier report");
  const halves = readdirSync(folder).filter((name) => name.includes(".tmp"));
  assert.deepEqual(halves, []);
  assert.equal(run(["explain", empty]).status, 2);
});

test("a report keeps the link and the mode of an earlier one, and follows no link beside it", async () => {
  const [place, html, victim] = ["place", "place/real.html", "victim"].map((name) => join(folder, name));
  mkdirSync(place);
  writeFileSync(victim, "whole");
  writeFileSync(html, "<!doctype html>old", { mode: 0o600 });
  const link = join(folder, "link.html");
  symlinkSync(html, link);
  for (const path of [html, link])
    symlinkSync(victim, join(path, `../.${basename(path)}.${process.pid}.tmp`));
  await writeReport(link, "<!doctype html>new");
  assert.equal(readFileSync(html, "utf8"), "<!doctype html>new");
  assert.equal(statSync(html).mode & 0o777, 0o600);
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(readFileSync(victim, "utf8"), "whole");
});

test("count follows patterns into folders, and prints names that move no cursor", () => {
  const inner = join(folder, "deep", "er");
  mkdirSync(inner, { recursive: true });
  const files = ["deep/a.mjs", "deep/er/b.mjs"].map((name) => fileOf(name, "hello world"));
  const counted = run(["count", "--json", join(folder, "deep", "**", "*.mjs")]);
  const hasGlob = Number(process.versions.node.split(".")[0]) >= 22;
  if (hasGlob) assert.deepEqual(fieldsOf(JSON.parse(counted.stdout).files, "file"), files);
  else
    assert.match(counted.stderr, /^.+\*\.mjs: Node [\d.]+ takes file names only; patterns need Node 22\.\n$/);
  const odd = fileOf("\u001b[2Jodd\n.txt", "\u001b[2J hello world");
  const endless = join(folder, "\u001b]0;endless\u0007.txt");
  symlinkSync(endless, endless);
  const names = sessionWithTools(12).map((message) =>
    message.toolName ? { ...message, toolName: "\u001b[2Jread\r" } : message,
  );
  const session = asPiFile(names).replace('{"type":"session"', '{"type":"session","version":"\\u001b[2J"');
  const cut = ["--schedule", "everyCall", fileOf("names.jsonl", session)];
  const explained = run(["explain", ...cut]);
  assert.match(explained.stdout, /^#3 toolResult \[2Jread +1 +summarize/m);
  for (const { stdout, stderr } of [
    run(["count", odd]),
    run(["count", endless]),
    run(["count", join(endless, "file")]),
    run(["explain", "--options", odd, EXAMPLE]),
    run(["\u001b[2J"]),
    run(["count", `${odd}\u0007`]),
    explained,
    run(["replay", ...cut]),
  ])
    assert.deepEqual(controlsIn(stdout + stderr), []);
});

test("the package has no runtime dependencies", () => {
  assert.deepEqual(Object.keys(PACKAGE.dependencies ?? {}), []);
});
