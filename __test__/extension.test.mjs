// The extension inside the real pi coding agent: found through the package's manifest as pi finds it, loaded by pi's
// loader, called at each request of a real session with pi's own deep copies. Only the model is a script.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createExtension, statusLine } from "../pi-extension/index.mjs";
import { pathProtection } from "../pi-extension/paths.mjs";
import { SCHEMA_FILE, schemaOf } from "../release/schema.mjs";
import { CALLS, resultsIn, runSession, textOf } from "./support/pi-session.mjs";
import { ROOT } from "./support/root.mjs";
import { table } from "./support/tables.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const folder = temporaryFolder("extension");
mkdirSync(join(folder, ".pi"));

const installed = { additionalExtensionPaths: [ROOT] };
const everyCall = { schedule: "everyCall" };
const SETTINGS = table("extension.json");

/** A session without errors in a pi with the package installed, with these settings files and this environment. */
async function runPi({ strata, files = [{ strata }, {}], env = {}, extensions = installed, ...how } = {}) {
  const set = { PI_CODING_AGENT_DIR: folder, LC_ALL: "C", PI_STRATA: undefined, ...env };
  const before = Object.fromEntries(Object.keys(set).map((name) => [name, process.env[name]]));
  setEnv(set);
  for (const [i, name] of ["settings.json", ".pi/settings.json"].entries())
    writeFileSync(join(folder, name), typeof files[i] === "string" ? files[i] : JSON.stringify(files[i]));
  try {
    const outcome = await runSession(folder, extensions, how);
    assert.deepEqual(outcome.errors, []);
    const told = outcome.notices.map(([, text]) => text);
    const results = resultsIn(outcome.sent.at(-1)?.messages ?? []).map(textOf);
    return { ...outcome, told, results, markers: results.join("\n") };
  } finally {
    setEnv(before);
  }
}

function setEnv(values) {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

const numberIn = (text, words) => Number(new RegExp(`${words}([\\d,]+)`).exec(text)[1].replaceAll(",", ""));

test("its options are the hook's, and its window the model's", async () => {
  const events = [];
  const extension = createExtension({ ...everyCall, marker: "en", onEvent: (event) => events.push(event) });
  const extensions = { extensionFactories: [extension] };
  const { session, results, statuses } = await runPi({ extensions });
  const kept = resultsIn(session.agent.state.messages).map(textOf);
  assert.ok(results.slice(0, -6).every((text) => /^\[\.\.\. \d+ lines omitted/m.test(text)));
  assert.deepEqual(results.slice(-6), kept.slice(-6));
  assert.match(statuses.at(-1)[1], /^strata \d+k? → \d+k?$/);
  assert.equal(events.filter(({ type }) => type === "transformed").length, CALLS + 1);
  assert.ok(events.every(({ type }) => type !== "failed"));
});

test("options that are not allowed are refused when pi loads the extension", () => {
  const pi = { on() {}, registerCommand() {} };
  assert.throws(
    () => createExtension({ economies: "thrifty" })(pi),
    /createExtension: there is no option economies/,
  );
});

test("the status line is short, and says when nothing works", () => {
  for (const [tokensBefore, tokensAfter, line] of SETTINGS.statusLines)
    assert.equal(statusLine({ type: "transformed", tokensBefore, tokensAfter }), line);
  const failed = { type: "failed", code: "ERR_NATIVE_UNAVAILABLE" };
  assert.equal(statusLine(failed), "strata off: ERR_NATIVE_UNAVAILABLE");
});

const bash = (command) => ({ calls: [{ name: "bash", arguments: { command } }] });

test("as installed, it obeys the settings files, the environment and the switches", async () => {
  // What a user sets or types, and the marker lines that the model then sees; none without one.
  for (const [name, { how, marker }] of Object.entries(SETTINGS.switches)) {
    const { markers, statuses } = await runPi(how);
    if (marker === undefined) assert.doesNotMatch(markers, /omitted|省略/, name);
    else assert.match(markers, new RegExp(marker), name);
    if (/pause|off/.test(name)) assert.deepEqual(statuses.at(-1), ["pi-strata", "strata paused"], name);
  }
});

test("with nothing set the model has the tool that reads a marker's handle, and gets the whole text back", async () => {
  function* script(sent) {
    for (let i = 0; i < 9; i += 1) yield bash(`for n in $(seq 200); do echo line $n of ${i}; done`);
    const [, handle] = /handle: ([0-9a-f]{8})/.exec(resultsIn(sent().at(-1).messages).map(textOf).join("\n"));
    yield { calls: [{ name: "recall", arguments: { handle, pattern: "line 1*7 of" } }] };
    yield { text: "done" };
  }
  const { session, results } = await runPi({ script, strata: everyCall });
  assert.doesNotMatch(results[0], /line 107 of 0/);
  const answer = resultsIn(session.agent.state.messages).at(-1);
  assert.equal(answer.toolName, "recall");
  assert.equal(answer.isError, false, textOf(answer));
  for (const line of [107, 147, 197]) assert.match(textOf(answer), new RegExp(`line ${line} of 0`));
  const plain = await runPi({ strata: { ...everyCall, recall: false } });
  assert.ok(!plain.session.getActiveToolNames().includes("recall"), "unless it is switched off");
  const without = await runPi({ strata: everyCall, tools: ["bash"] });
  for (const { markers } of [plain, without]) {
    assert.match(markers, /lines omitted/);
    assert.doesNotMatch(markers, /handle:/);
  }
});

test("each wrong setting is told with the nearest right one and what is in force, and the rest holds", async () => {
  const right = { schedule: "everyCall", excludeTools: ["read"], marker: "zh" };
  for (const { settings, told } of SETTINGS.wrong) {
    const outcome = await runPi({ strata: { ...right, ...settings } });
    assert.equal(outcome.sent.length, CALLS + 1);
    assert.match(outcome.told.join("\n"), new RegExp(told));
    assert.ok(outcome.notices.every(([kind]) => kind === "warning"));
    assert.match(outcome.markers, /已省略 \d+ 行/, "schedule and marker hold");
  }
  const files = [{ strata: everyCall }, { strata: { schedule: "everyCal" } }];
  const { told, markers } = await runPi({ files });
  assert.match(
    told[0],
    /\.pi\/settings\.json: schedule is "everyCal".*In force: schedule "everyCall", from /,
  );
  assert.match(markers, /lines omitted/, "the user's own setting holds");
});

test("the schema that ships knows every setting, as contract.json and index.d.ts do", () => {
  const shipped = readFileSync(SCHEMA_FILE, "utf8");
  const rulesIn = (text) => JSON.parse(text, (key, value) => (key === "description" ? undefined : value));
  assert.deepEqual(rulesIn(shipped), rulesIn(JSON.stringify(schemaOf())), "run npm run build:schema");
  const { properties, additionalProperties } = JSON.parse(shipped).properties.strata;
  assert.equal(additionalProperties, false);
  assert.equal(properties.marker.default, "auto");
  for (const [name, { description, ...rule }] of Object.entries(properties)) {
    assert.match(description, /^[A-Z"].*\.$/s, name);
    assert.ok(Object.keys(rule).length > 0, name);
  }
});

test("settings that are no JSON object are told, and the session goes on", async () => {
  for (const { files, told, env } of SETTINGS.noObject) {
    const { sent, notices } = await runPi({ files: [...files, {}], env });
    assert.equal(sent.length, CALLS + 1);
    assert.match(notices.map(([kind, text]) => `${kind} ${text}`).join("\n"), new RegExp(told));
  }
});

test("/strata shows what the last request held, what was edited and why, and what was billed", async () => {
  const prompts = ["/strata", "go", "/strata"];
  const { told, session } = await runPi({ prompts, strata: everyCall });
  const [first, panel] = told;
  assert.match(first, /has seen no request/);
  const rows = (title) => {
    const [, table] = panel.split(new RegExp(`^${title}.*\n`, "m"));
    const lines = table.split("\n\n")[0].split("\n");
    return lines.map((line) => /^(.+?) {2,}([\d,]+) *(\d*)$/.exec(line).slice(1));
  };
  const held = rows("in the request");
  assert.deepEqual(held.find(([kind]) => kind === "results of bash")?.[2], String(CALLS));
  assert.match(panel, / tokens, \d+ % of the window of 200,000\.$/m);
  const total = numberIn(panel, "held about ");
  const sum = held.reduce((all, [, count]) => all + numberIn(count, "^"), 0);
  assert.ok(Math.abs(sum - total) <= held.length, `${sum} against ${total}: rows add up, but for rounding`);
  assert.deepEqual(
    rows("edited, and why").map(([name, , messages]) => [name, messages]),
    [
      ["bash: shortened, old tool result", String(CALLS - 6)],
      ["assistant: thinking removed, old thinking", String(CALLS - 1)],
    ],
  );
  assert.match(panel, /^Schedule: everyCall; recomputed at every call\.$/m);
  assert.match(
    panel,
    /^Prices of anthropic\/scripted-1: \$3 a million tokens of input, cache reads × 0\.1, writes × 1\.25\.$/m,
  );
  const footer = session.getSessionStats().cost;
  assert.ok(footer > 0);
  assert.ok(panel.includes(`\nThis session: pi has counted $${footer.toFixed(3)}.\n`), panel);
  assert.match(panel, /\nSince pi started: [\d,]+ tokens not sent in 11 calls\.$/);
  assert.match(panel, /^pi compacts above 183,616 tokens; requests stay below that\.$/m);
  assert.doesNotMatch(panel, /undefined|NaN|Without the hook/);
});

test("/strata show lists the cuts in rows that fit pi's notices, and opens one by its number", async () => {
  const prompts = ["go", "/strata show", "/strata show 2"];
  const { told } = await runPi({ prompts, strata: everyCall });
  const [list, second] = told;
  assert.match(list, /^2 +bash : 0; for .* {2}shortened +[\d,]+ {2}[0-9a-f]{8}$/m);
  for (const line of list.split("\n")) assert.ok(line.length <= 78, line);
  assert.match(second, /^bash : 0; for .*: shortened, old tool result\n\n/);
  assert.match(second, /^line 107 of a long result$/m);
});

test("/strata status lists every option in force and where it comes from", async () => {
  const files = [{ strata: everyCall }, { strata: { excludeTools: ["read"], recall: true } }];
  const env = { PI_STRATA: '{ "marker": "en", "economies": 1 }' };
  const text = (await runPi({ files, env, prompts: ["/strata status"] })).told.at(-1);
  assert.match(text, /^pi-strata \d+\.\d+\.\d+ edits requests\.$/m);
  for (const [option, value, source] of SETTINGS.status)
    assert.match(text, new RegExp(`^${option} +${value} +${source}$`, "m"));
  assert.match(text, /^Settings: PI_STRATA: there is no setting "economies"/m);
});

test("the settings files are read as pi reads them: with a byte order mark, and merged key by key", async () => {
  const overrides = (name, reserveTokens) =>
    JSON.stringify({ compaction: { modelOverrides: { [name]: { reserveTokens } } } });
  const files = [`\uFEFF${overrides("anthropic/scripted-1", 60_000)}`, overrides("other/model", 1)];
  const { told } = await runPi({ files, prompts: ["/strata status"] });
  assert.equal(told.length, 1);
  assert.match(told[0], /^maxPromptTokens +136300 +pi's compaction$/m);
});

test("/strata now cuts before the next request, where the schedule alone would wait", async () => {
  const script = function* () {
    for (let round = 0; round < 2; round += 1) {
      for (let i = 0; i < 12; i += 1)
        yield bash(`for n in $(seq 500); do echo line $n of ${round} ${i}; done`);
      yield { text: "done" };
    }
  };
  const run = (prompts) => runPi({ script, prompts, strata: { economy: "thrifty" } });
  const waits = await run(["go", "on"]);
  const cuts = await run(["go", "/strata now", "on"]);
  const size = ({ sent }) => JSON.stringify(sent[13].messages).length;
  assert.ok(size(cuts) < 0.8 * size(waits), `${size(cuts)} against ${size(waits)}`);
  const [expected, saved] = cuts.told.map((text) => numberIn(text, "(?=[\\d,]+ tokens are cut: )"));
  assert.ok(saved > 1000, cuts.told[1]);
  assert.equal(numberIn(cuts.told[1], "instead of ") - numberIn(cuts.told[1], "holds about "), saved);
  assert.ok(Math.abs(expected - saved) < 0.1 * saved, cuts.told.join(" "));
});

test("results of files that protectPaths names stay whole", async () => {
  const script = function* () {
    const files = "PLAN.md docs/a/x.md other.md";
    yield bash(`mkdir -p docs/a; for f in ${files}; do for n in $(seq 200); do echo $f $n; done > $f; done`);
    for (const path of ["PLAN.md", "./docs/a/x.md", join(folder, "docs/a/x.md"), "other.md"])
      yield { calls: [{ name: "read", arguments: { path } }] };
    for (let i = 0; i < 7; i += 1) yield bash(`echo ${i}`);
    yield { text: "done" };
  };
  const strata = { ...everyCall, protectPaths: ["PLAN.md", "./docs/**"] };
  const { results } = await runPi({ script, strata });
  const isCut = results.slice(1, 5).map((text) => /lines omitted/.test(text));
  assert.deepEqual(isCut, [false, false, false, true]);
});

test("protectPaths takes the forms in which people and models write a path", () => {
  const cwd = join(folder, "project");
  const [plan, notes, note] = ["PLAN.md", "docs/*.md", "docs/a.md"].map((path) => join(cwd, path));
  const own = join(homedir(), "notes/a.md");
  const names = { plan, notes, note, own, below: join("docs", "**") };
  for (const [pattern, path, isNamed = true] of table("extension.json", names).paths) {
    const isProtected = pathProtection([pattern], cwd);
    isProtected({
      role: "assistant",
      content: [{ type: "toolCall", id: "a", name: "read", arguments: { path } }],
    });
    assert.equal(isProtected({ role: "toolResult", toolCallId: "a" }), isNamed, `${pattern}: ${path}`);
    const nestedCalls = { calls: [{ name: "read", arguments: { path } }, {}] };
    assert.equal(isProtected({ role: "toolResult", toolCallId: "b", nestedCalls }), isNamed, "in a script");
  }
});

test("in print mode a native file that is missing is told on standard error, once", () => {
  const code = `
    import { runSession } from "./__test__/support/pi-session.mjs";
    const extensions = { additionalExtensionPaths: [process.cwd()] };
    const { sent, errors } = await runSession(process.env.PI_CODING_AGENT_DIR, extensions, { hasUI: false });
    console.log(JSON.stringify({ calls: sent.length, errors }));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    cwd: ROOT,
    encoding: "utf8",
    env: {
      ...process.env,
      PI_CODING_AGENT_DIR: folder,
      NAPI_RS_NATIVE_LIBRARY_PATH: join(folder, "missing.node"),
    },
  });
  assert.deepEqual(JSON.parse(stdout), { calls: CALLS + 1, errors: [] });
  assert.equal(stderr.match(/pi-strata is off/g)?.length, 1, stderr);
  const told = stderr.replaceAll("\n", " ");
  assert.match(told, /pi-strata is off, the context is sent whole: Cannot find module .*\. \S/);
  assert.ok(
    stderr.split("\n").every((line) => line.length <= 80),
    stderr,
  );
});
