// The parts of the paired experiment that need no agent: its statistics against SciPy, its tasks against right and wrong
// answers, its meter's reading of each API's usage, and the balance of its orders.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { orderOf } from "../bench/ab/arms.mjs";
import { billOf, readCalls } from "../bench/ab/calls.mjs";
import * as statistics from "../bench/ab/statistics.mjs";
import { summarize } from "../bench/ab/summary.mjs";
import { isSolved, languagesHere, sessionOf, writeProjects } from "../bench/ab/tasks/index.mjs";
import { resultsText } from "../bench/ab/text.mjs";
import { dollarsOf, usageOf } from "../bench/ab/usage.mjs";

const { bySessions, mcNemar, pairedInterval, powerOf, tasksForEffect, tasksForMargin } = statistics;
const folder = mkdtempSync(join(tmpdir(), "pi-strata-ab-"));
after(() => rmSync(folder, { recursive: true }));

/** Made by support/ab/paired.py. */
const scipy = JSON.parse(readFileSync(new URL("expected/paired.json", import.meta.url), "utf8"));

test("McNemar's exact p-value is SciPy's on 1000 random tables", () => {
  assert.equal(scipy.pValues.length, 1000);
  for (const [gained, lost, p] of scipy.pValues) {
    const own = mcNemar(gained, lost);
    assert.ok(
      Math.abs(own - p) <= 1e-10 * p + Number.MIN_VALUE * 2 ** 60,
      `${gained}, ${lost}: ${own} against ${p}`,
    );
    assert.equal(mcNemar(lost, gained), own);
  }
  assert.equal(mcNemar(0, 0), 1);
  assert.ok(mcNemar(3000, 2) >= 0, "too small for a double is no error");
});

test("the interval inverts the score statistic, as a search for the likelihood's maximum does", () => {
  for (const [gained, lost, pairs, low, high] of scipy.limits) {
    const own = pairedInterval({ gained, lost, pairs });
    assert.ok(
      Math.abs(own.low - low) < 1e-7 && Math.abs(own.high - high) < 1e-7,
      `${gained}, ${lost}, ${pairs}`,
    );
    const turned = pairedInterval({ gained: lost, lost: gained, pairs });
    assert.ok(Math.abs(turned.low + own.high) < 1e-9 && Math.abs(turned.high + own.low) < 1e-9);
  }
});

test("the interval covers the true difference about 95 times in a hundred, whatever it is", () => {
  const pairs = 24;
  for (const [gained, lost] of [
    [0.02, 0.02],
    [0, 0.1],
    [0.1, 0.1],
    [0.05, 0.3],
    [0.4, 0.2],
  ]) {
    let covered = 0;
    for (let a = 0; a <= pairs; a += 1) {
      for (let b = 0; a + b <= pairs; b += 1) {
        const { low, high } = pairedInterval({ gained: a, lost: b, pairs });
        const difference = gained - lost;
        if (low <= difference && difference <= high) covered += trinomial(a, b, pairs, gained, lost);
      }
    }
    assert.ok(covered > 0.93 && covered <= 1, `${gained}, ${lost}: ${covered}`);
  }
  assert.deepEqual(pairedInterval({ gained: 0, lost: 0, pairs: 0 }), { low: -1, high: 1 });
});

function trinomial(a, b, n, p, q) {
  const choose = (from, k) =>
    Array.from({ length: k }, (_, i) => (from - i) / (i + 1)).reduce((x, y) => x * y, 1);
  return choose(n, a) * choose(n - a, b) * p ** a * q ** b * (1 - p - q) ** (n - a - b);
}

test("the power is the sum over all tables, and the number of tasks that is told has it", () => {
  for (const [tasks, gained, lost] of [
    [12, 0.1, 0.3],
    [30, 0.05, 0.25],
    [24, 0, 0.2],
  ]) {
    let power = 0;
    for (let a = 0; a <= tasks; a += 1) {
      for (let b = 0; a + b <= tasks; b += 1) {
        if (mcNemar(a, b) <= 0.05) power += trinomial(a, b, tasks, gained, lost);
      }
    }
    assert.ok(Math.abs(powerOf({ tasks, gained, lost }) - power) < 1e-9, `${tasks}: ${power}`);
  }
  for (const [effect, differing] of [
    [0.1, 0.2],
    [0.3, 0.4],
    [0.05, 0.1],
  ]) {
    const tasks = tasksForEffect(effect, differing);
    const [gained, lost] = [(differing - effect) / 2, (differing + effect) / 2];
    assert.ok(powerOf({ tasks, gained, lost }) >= 0.8);
    assert.ok(powerOf({ tasks: Math.floor(tasks * 0.85), gained, lost }) < 0.8, `${tasks} are not too many`);
  }
  // Ten points where two in ten differ, by the normal approximation: 0.2 · 2.80² / 0.01.
  assert.equal(tasksForMargin(0.1, 0.2), 157);
});

test("over whole sessions the p-value counts flips of sessions", () => {
  assert.equal(bySessions([1, 1, 1, 1, 1, 1]), 2 / 64);
  assert.equal(bySessions([2, -2]), 1);
  assert.equal(bySessions([0, 0]), 1);
  assert.equal(bySessions([3, 1, 0]), 2 / 4);
});

test("each arm is as often at each place, and does not always follow the same one", () => {
  const arms = ["a", "b", "c", "d", "e"];
  const orders = Array.from({ length: 10 }, (_, session) => orderOf(arms, session));
  for (const arm of arms) {
    for (let place = 0; place < 5; place += 1) {
      assert.equal(orders.filter((order) => order[place] === arm).length, 2);
    }
    const before = new Set(orders.map((order) => order[order.indexOf(arm) - 1]));
    assert.ok(before.size >= 3);
  }
});

test("the verdict is that of the interval against the margin", () => {
  // Of 100 tasks the baseline solves all; `lost` of them the arm does not.
  const against = (lost, margin) => {
    const bill = { dollars: 1, tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } };
    const record = (arm, task) => ({
      session: task % 6,
      arm,
      task: `t${task}`,
      isSolved: arm === "none" || task >= lost,
      bill,
    });
    const records = Array.from({ length: 200 }, (_, i) => record(i % 2 === 0 ? "none" : "thrifty", i >> 1));
    const settings = { arms: ["none", "thrifty"], sessions: 1, languages: ["sh"], margin, effect: margin };
    const results = summarize(settings, records);
    return { comparison: results.comparisons[0], text: resultsText(results) };
  };
  const verdicts = [
    [0, 0.1, "not worse", "Not worse by 10 points or more."],
    [3, 0.02, "open", "Open: the interval reaches beyond the margin of 2 points."],
    [8, 0.1, "worse", "Worse; whether by more than 10 points is open."],
    [40, 0.1, "worse by more", "Worse by more than 10 points."],
  ];
  for (const [lost, margin, verdict, words] of verdicts) {
    const { comparison, text } = against(lost, margin);
    assert.deepEqual(
      [comparison.lost, comparison.gained, comparison.pairs, comparison.dollars],
      [lost, 0, 100, 100],
    );
    assert.equal(comparison.verdict, verdict, `${lost}: ${comparison.low} to ${comparison.high}`);
    assert.ok(text.includes(words), text);
  }
  assert.equal(against(40, 0.1).comparison.pBySessions, 2 / 64);
});

const { here, missing } = languagesHere();

test("a language without its interpreter is left out, and said", () => {
  assert.ok(here.includes("js"));
  const child = spawnSync(process.execPath, ["bench/ab.mjs", "--scripted", "--plan", "--margin", "0.1"], {
    cwd: new URL("..", import.meta.url),
    env: { ...process.env, PATH: folder },
    encoding: "utf8",
  });
  assert.equal(child.status, 0, child.stderr);
  assert.match(child.stdout, /Without the tasks in py: its interpreter is not here/);
  assert.match(child.stdout, /^16 tasks in js,/m);
});

for (const seed of ["1-0", "2-1"]) {
  test(`every task of seed ${seed} is decided by its test (${missing.length > 0 ? `without ${missing}` : "all languages"})`, () => {
    const { projects, tasks } = sessionOf(seed, here);
    assert.equal(tasks.length, 8 * here.length);
    assert.deepEqual(sessionOf(seed, here), { projects, tasks }, "the same again");
    const root = mkdtempSync(join(folder, "work-"));
    writeProjects(projects, root);
    for (const task of tasks) {
      const { files } = projects.find(({ folder: name }) => name === task.language);
      for (const { line, from } of task.needs) {
        if (from !== undefined) assert.ok(files[from].includes(line), `${task.id}: ${line}`);
        else if (task.kind.startsWith("rule"))
          assert.ok(!Object.values(files).some((text) => text.includes(line)));
      }
      assert.equal(isSolved(task, root), false, `${task.id} is not solved before`);
      solve(task, join(root, task.language));
      assert.equal(isSolved(task, root), true, `${task.id} is solved after`);
    }
  });
}

test("what a task that comes later needs of an earlier one differs from seed to seed", () => {
  const needs = (seed) =>
    sessionOf(seed, ["sh"]).tasks.map((task) => task.needs.map(({ line }) => line).join());
  const [one, two] = [needs("1"), needs("2")];
  for (const [i, line] of one.entries()) if (i !== 4) assert.notEqual(line, two[i]);
});

test("a wrong answer is not taken for a right one", () => {
  const { projects, tasks } = sessionOf("3", ["js"]);
  for (const task of tasks.filter(({ adds }) => adds !== undefined)) {
    const root = mkdtempSync(join(folder, "wrong-"));
    writeProjects(projects, root);
    const wrong = task.adds.text.replace(/return (.*);/, "return ($1) + 1;");
    appendFileSync(join(root, "js", task.adds.file), wrong);
    assert.equal(isSolved(task, root), false, task.id);
  }
});

test("the tool prints its keys once", () => {
  const { projects } = sessionOf("4", here);
  const root = mkdtempSync(join(folder, "keys-"));
  writeProjects(projects, root);
  for (const [name, command, tool] of [
    ["js", process.execPath, "tools/enroll.mjs"],
    ["py", "python3", "tools/enroll.py"],
    ["sh", "sh", "tools/enroll.sh"],
  ]) {
    if (!here.includes(name)) continue;
    const run = () => spawnSync(command, [tool], { cwd: join(root, name), encoding: "utf8" });
    assert.match(run().stdout, /^key of shipping is \d{6}$/m);
    const again = run();
    assert.equal(again.status, 1);
    assert.doesNotMatch(again.stdout, /key of/);
  }
});

function solve({ edits, adds }, root) {
  for (const { file, old, new: text, isEverywhere } of edits) {
    const path = join(root, file);
    const before = readFileSync(path, "utf8");
    if (!isEverywhere) assert.equal(before.split(old).length, 2, "what is edited stands there once");
    writeFileSync(path, before.replaceAll(old, text));
  }
  if (adds !== undefined) appendFileSync(join(root, adds.file), adds.text);
}

test("usage is read in the words of each API", () => {
  const stream = (...events) =>
    events.map((event) => `event: x\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const counts = {
    input_tokens: 3,
    cache_read_input_tokens: 100,
    cache_creation_input_tokens: 20,
    output_tokens: 1,
  };
  const cases = [
    [
      stream(
        { type: "message_start", message: { usage: counts } },
        { type: "message_delta", usage: { output_tokens: 40 } },
      ),
      { usage: { input: 3, output: 40, cacheRead: 100, cacheWrite: 20 } },
    ],
    [
      stream(
        { choices: [] },
        {
          usage: {
            prompt_tokens: 120,
            completion_tokens: 7,
            prompt_tokens_details: { cached_tokens: 90 },
            cost: 0.25,
          },
        },
      ),
      { usage: { input: 30, output: 7, cacheRead: 90, cacheWrite: 0 }, dollars: 0.25 },
    ],
    [
      stream({
        type: "response.completed",
        response: {
          usage: { input_tokens: 50, output_tokens: 5, input_tokens_details: { cached_tokens: 10 } },
        },
      }),
      { usage: { input: 40, output: 5, cacheRead: 10, cacheWrite: 0 } },
    ],
    [
      stream({ usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 2, thoughtsTokenCount: 1 } }),
      { usage: { input: 9, output: 3, cacheRead: 0, cacheWrite: 0 } },
    ],
    ["data: {cut", { usage: undefined }],
  ];
  for (const [text, expected] of cases) assert.deepEqual(usageOf(text), expected);
  const prices = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
  const usage = { input: 1e6, output: 1e6, cacheRead: 1e6, cacheWrite: 1e6 };
  assert.equal(dollarsOf({ usage }, prices), 36.75);
  assert.equal(dollarsOf({ usage, dollars: 1 }, prices), 1, "what the provider says counts");
});

test("misses, refusals, failures and calls of unknown bill are told apart", () => {
  const file = join(folder, "calls.jsonl");
  const call = (id, outcome, hasTools = true) => [
    { id, began: { model: "m", hasTools } },
    ...(outcome ? [{ id, ...outcome }] : []),
  ];
  const ok = (input, cacheRead, cacheWrite) => ({
    status: 200,
    usage: { input, output: 1, cacheRead, cacheWrite },
  });
  const lines = [
    call("1", ok(3, 0, 9000)),
    call("2", ok(3, 9003, 500)),
    call("3", { status: 400, error: "prompt is too long" }),
    call("4", { status: 529, error: "overloaded" }),
    call("5", ok(3, 2000, 7000), false),
    call("6", ok(3, 4000, 6000)),
    call("7"),
    call("8", { status: 200 }),
  ].flat();
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join("\n")}\n{"id":"9","beg`);
  const { bill } = billOf(readCalls(file), { input: 0, output: 1e6, cacheRead: 0, cacheWrite: 0 });
  assert.deepEqual(bill, {
    calls: 8,
    tokens: { input: 12, output: 4, cacheRead: 15_003, cacheWrite: 22_500 },
    dollars: 4,
    misses: 1,
    missedTokens: 9506 - 4000,
    summaries: 1,
    refused: 1,
    failed: 1,
    unknown: 2,
  });
});
