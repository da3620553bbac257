// The whole experiment in the real pi, over both APIs, against a scripted model that solves a task only if the lines it
// needs are in the request: success, bill and statistics are checked against what that server knows.

import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startScripted } from "../bench/ab/scripted/server.mjs";
import { pairedInterval } from "../bench/ab/statistics.mjs";
import { languagesHere } from "../bench/ab/tasks/index.mjs";
import { booksOf, readResults, startBench } from "./support/ab/bench.mjs";

const folder = mkdtempSync(join(tmpdir(), "pi-strata-ab-run-"));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

const ARMS = ["none", "compaction", "balanced", "thrifty", "mask"];
/** Two are enough for a task to lie between another and what it needs; `ab.test.mjs` tries the tasks of all. */
const languages = languagesHere().here.slice(0, 2);

test("over Anthropic's API every arm does every task, and success and bill are the server's", async () => {
  const server = await startScripted({ seed: 1, languages });
  const out = join(folder, "anthropic");
  const bench = startBench(server, {
    out,
    args: ["--margin", "0.1", "--sessions", "1", "--languages", languages.join(",")],
  });
  const { code, stdout, stderr } = await bench.ended;
  server.close();
  assert.equal(code, 0, stderr);
  const results = readResults(out);
  assert.deepEqual(
    results.arms.map(({ arm, tasks }) => [arm, tasks]),
    ARMS.map((arm) => [arm, 8 * languages.length]),
  );
  for (const of of results.arms) checkArm(of, results.records, server);
  checkDifferences(results, server);
  assert.match(stdout, /^balanced against compaction: /m);
  checkPage(readFileSync(join(out, "page.html"), "utf8"), results);
});

/** Success of each task, tokens, dollars and misses against the server's books. */
function checkArm({ arm, steps, tokens, dollars, misses, summaries, ...more }, records, server) {
  const { calls, decisions } = booksOf(server, arm);
  for (const { task, isSolved } of records.filter((record) => record.arm === arm)) {
    const decision = decisions.find((one) => one.task === task);
    assert.equal(isSolved, decision.hadAll, `${arm}, ${task}`);
  }
  const total = (kind) => calls.reduce((sum, { usage }) => sum + usage[kind], 0);
  const inSummaries = summaries === 0 ? [] : server.calls.filter(({ hasTools }) => !hasTools);
  const ofSummaries = (kind) => inSummaries.reduce((sum, { usage }) => sum + usage[kind], 0);
  for (const kind of ["input", "output", "cacheRead", "cacheWrite"])
    assert.equal(tokens[kind], total(kind) + ofSummaries(kind), `${arm}: ${kind}`);
  const billed = [...calls, ...inSummaries].reduce((sum, call) => sum + call.dollars, 0);
  assert.ok(Math.abs(dollars - billed) < 1e-9, `${arm}: ${dollars} against ${billed}`);
  const missed = calls.filter(({ usage }, i) => i > 0 && calls[i - 1].tokens - usage.cacheRead >= 1024);
  assert.equal(misses, missed.length, `${arm}: misses`);
  assert.equal(steps, calls.length, `${arm}: steps`);
  assert.equal(summaries > 0, arm === "compaction");
  const rest = Object.entries(more).filter(([, value]) => typeof value === "number" && value > 0);
  assert.deepEqual(rest.map(([name]) => name).sort(), [
    "calls",
    ...(missed.length > 0 ? ["missedTokens"] : []),
    "solved",
    "tasks",
  ]);
}

/** What only the one and only the other solved, against the server's own decisions. */
function checkDifferences({ arms, comparisons }, server) {
  const none = arms.find(({ arm }) => arm === "none");
  assert.equal(none.solved, none.tasks, "all is in view where nothing is compressed");
  for (const arm of ["compaction", "mask"])
    assert.ok(arms.find((one) => one.arm === arm).solved < none.solved, `${arm} loses what is told once`);
  for (const { arm, baseline, pairs, gained, lost, difference, low, high, p } of comparisons) {
    const solvedBy = (name) =>
      new Set(
        booksOf(server, name)
          .decisions.filter(({ hadAll }) => hadAll)
          .map(({ task }) => task),
      );
    const [own, other] = [solvedBy(arm), solvedBy(baseline)];
    assert.equal(gained, [...own].filter((task) => !other.has(task)).length);
    assert.equal(lost, [...other].filter((task) => !own.has(task)).length);
    assert.equal(difference, (own.size - other.size) / pairs);
    assert.deepEqual({ low, high }, pairedInterval({ gained, lost, pairs }));
    if (gained === 0) assert.ok(Math.abs(p - Math.min(1, 2 ** (1 - lost))) < 1e-12);
  }
  assert.equal(comparisons.length, 6);
}

function checkPage(page, { records }) {
  assert.match(page, /A scripted model, not a real one/);
  assert.equal(page.match(/<rect class="solved"/g).length, records.filter(({ isSolved }) => isSolved).length);
  assert.equal(page.match(/<rect /g).length, records.length);
  assert.doesNotMatch(page, /NaN|undefined|<script|https?:/);
}

test("over OpenAI's API it is the same, and requests over the window are refused and told", async () => {
  const window = 22_000;
  const server = await startScripted({ seed: 7, languages: ["sh"], window });
  const out = join(folder, "openai");
  const args = ["--margin", "0.2", "--sessions", "1", "--seed", "7", "--languages", "sh"];
  const bench = startBench(server, {
    out,
    api: "openai-completions",
    args: [...args, "--arms", "none,balanced", "--context-window", String(window)],
  });
  const { code, stderr } = await bench.ended;
  server.close();
  assert.equal(code, 0, stderr);
  const { arms, records } = readResults(out);
  for (const { arm, refused, dollars, tasks } of arms) {
    const { calls, decisions } = booksOf(server, arm);
    assert.equal(tasks, 8);
    assert.equal(refused, calls.filter(({ isRefused }) => isRefused).length, arm);
    const billed = calls.reduce((sum, call) => sum + (call.dollars ?? 0), 0);
    assert.ok(Math.abs(dollars - billed) < 1e-9);
    const written = calls.reduce((sum, { usage }) => sum + (usage?.cacheWrite ?? 0), 0);
    assert.equal(written, 0, "nothing is billed for writing here");
    assert.ok(
      calls.every((call) => call.seed === 7),
      "the same seed in every request",
    );
    for (const { task, isSolved } of records.filter((record) => record.arm === arm))
      assert.equal(
        isSolved,
        decisions.some((one) => one.task === task && one.hadAll),
        `${arm}, ${task}`,
      );
  }
  const [none, balanced] = arms;
  assert.ok(none.refused > 0 && balanced.refused === 0, "the window is what the hook keeps to");
});

test("an arm whose extension does not work is no arm: the run ends, and says so", async () => {
  const server = await startScripted({ seed: 1, languages: ["sh"] });
  const args = ["--margin", "0.1", "--sessions", "1", "--languages", "sh", "--arms", "balanced"];
  const env = { NAPI_RS_NATIVE_LIBRARY_PATH: join(folder, "missing.node") };
  const { code, stderr } = await startBench(server, { out: join(folder, "off"), args, env }).ended;
  server.close();
  assert.equal(code, 1);
  assert.match(stderr, /The arm balanced does not work, so nothing is compared: .*ERR_NATIVE_UNAVAILABLE/);
  assert.ok(!existsSync(join(folder, "off", "results.json")), "there is nothing to tell");
});

test("a provider whose calls cannot be metered is not gone on with", async () => {
  const pi = join(folder, "pi");
  mkdirSync(join(pi, "dist"), { recursive: true });
  writeFileSync(join(pi, "package.json"), JSON.stringify({ version: "0.0.1", type: "module" }));
  writeFileSync(join(pi, "dist", "cli.js"), UNMETERED);
  const args = ["--margin", "0.1", "--languages", "sh", "--arms", "none", "--pi", join(pi, "dist", "cli.js")];
  const server = { baseUrl: "http://127.0.0.1:9" };
  const { code, stderr } = await startBench(server, { out: join(folder, "unmetered"), args }).ended;
  assert.equal(code, 1);
  assert.match(stderr, /do not go through fetch, so they can be neither metered nor limited/);
});

/** A pi that answers without a call anybody could see. */
const UNMETERED = `
  import { createInterface } from "node:readline";
  const say = (message) => console.log(JSON.stringify(message));
  const model = { provider: "scripted", id: "scripted", cost: {} };
  createInterface({ input: process.stdin }).on("line", (line) => {
    const { id, type } = JSON.parse(line);
    say({ type: "response", id, success: true, data: { model, pendingMessageCount: 0 } });
    if (type === "prompt") say({ type: "message_end", message: { role: "assistant", stopReason: "stop", content: [] } });
  }).on("close", () => process.exit());
`;
