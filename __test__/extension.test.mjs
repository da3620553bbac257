// The extension inside the real pi coding agent: found through the package's manifest as pi finds it, loaded by pi's
// loader, called at each request of a real session with pi's own deep copies. Only the model is a script.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { scriptedModel } from "../examples/scripted/model.mjs";
import { validate } from "../index.js";
import { createExtension, statusLine } from "../pi-extension/index.mjs";
import { SCHEMA_FILE, schemaOf } from "../release/schema.mjs";
import { CALLS, runSession } from "./support/pi-session.mjs";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "pi-strata-extension-"));
after(() => rmSync(folder, { recursive: true }));

/** A session without errors, with this environment set while it runs. */
async function runPi(extensions, { env = {}, ...how } = {}) {
  const before = Object.fromEntries(Object.keys(env).map((name) => [name, process.env[name]]));
  setEnv({ PI_CODING_AGENT_DIR: folder, ...env });
  try {
    const outcome = await runSession(folder, extensions, how);
    assert.deepEqual(outcome.errors, []);
    return outcome;
  } finally {
    setEnv({ PI_CODING_AGENT_DIR: undefined, ...before });
  }
}

function setEnv(values) {
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

const textOf = (message) => message.content.map((block) => block.text ?? "").join("");
const resultsIn = (messages) => messages.filter((message) => message.role === "toolResult");

test("pi finds it in the package, calls it at each request and shows its line", async () => {
  const { session, sent, statuses } = await runPi({ additionalExtensionPaths: [PACKAGE] });
  assert.equal(sent.length, CALLS + 1);
  const last = sent.at(-1).messages;
  assert.equal(resultsIn(last).length, CALLS);
  const kept = resultsIn(session.agent.state.messages).map(textOf);
  assert.ok(
    kept.every((text) => text.split("\n").length > 190),
    "the session keeps everything",
  );
  assert.deepEqual(validate(last, scriptedModel.api), []);
  assert.equal(statuses.length, CALLS + 1);
  assert.ok(statuses.every(([key, text]) => key === "pi-strata" && text.startsWith("strata ")));
});

test("its options are the hook's, and its window the model's", async () => {
  const events = [];
  const extension = createExtension({ schedule: "everyCall", marker: "en", onEvent: (e) => events.push(e) });
  const { session, sent, statuses } = await runPi({ extensionFactories: [extension] });
  const last = resultsIn(sent.at(-1).messages).map(textOf);
  const kept = resultsIn(session.agent.state.messages).map(textOf);
  assert.ok(last.slice(0, -6).every((text) => /^\[\.\.\. \d+ lines omitted/m.test(text)));
  assert.deepEqual(last.slice(-6), kept.slice(-6));
  assert.match(statuses.at(-1)[1], /^strata \d+k? → \d+k?$/);
  const transformed = events.filter(({ type }) => type === "transformed");
  assert.equal(transformed.length, CALLS + 1);
  assert.ok(events.every(({ type }) => type !== "failed"));
});

test("options that are not allowed are refused when pi loads the extension", () => {
  const pi = { on() {}, registerCommand() {} };
  assert.throws(() => createExtension({ economies: "thrifty" })(pi), /there is no option economies/);
});

test("the status line is short, and says when nothing works", () => {
  const line = (tokensBefore, tokensAfter) => statusLine({ type: "transformed", tokensBefore, tokensAfter });
  assert.equal(line(142_300, 61_000), "strata 142k → 61k");
  assert.equal(line(142_300, 142_100), "strata 142k", "nothing that can be seen was saved");
  assert.equal(line(900, 900), "strata 900");
  assert.equal(line(0, 0), "strata 0");
  assert.equal(
    statusLine({ type: "failed", code: "ERR_NATIVE_UNAVAILABLE" }),
    "strata off: ERR_NATIVE_UNAVAILABLE",
  );
});

const everyCall = { strata: { schedule: "everyCall" } };
const markersIn = (sent) => resultsIn(sent.at(-1).messages).map(textOf).join("\n");

/** Runs with these settings files: pi's own, and the project's. */
async function withSettings(global, project, run) {
  mkdirSync(join(folder, ".pi"), { recursive: true });
  const files = [
    [join(folder, "settings.json"), global],
    [join(folder, ".pi/settings.json"), project],
  ];
  for (const [file, settings] of files)
    writeFileSync(file, typeof settings === "string" ? settings : JSON.stringify(settings));
  try {
    return await run();
  } finally {
    for (const [file] of files) rmSync(file);
  }
}

const installed = { additionalExtensionPaths: [PACKAGE] };

test("as installed, it is set in pi's own settings files, the project's over the user's, and in the environment", async () => {
  const env = { LC_ALL: "en_US.UTF-8" };
  const plain = await withSettings({}, {}, () => runPi(installed, { env }));
  assert.doesNotMatch(markersIn(plain.sent), /omitted|省略/, "without a cache price nothing is old enough");
  const { sent } = await withSettings(everyCall, {}, () => runPi(installed, { env }));
  assert.match(markersIn(sent), /lines omitted/);
  const kept = await withSettings(everyCall, { strata: { excludeTools: ["bash"] } }, () =>
    runPi(installed, { env }),
  );
  assert.doesNotMatch(markersIn(kept.sent), /lines omitted/);
  const byEnv = { ...env, PI_STRATA: '{ "schedule": "everyCall", "marker": "zh" }' };
  assert.match(markersIn((await runPi(installed, { env: byEnv })).sent), /已省略 \d+ 行/);
});

test("with nothing set the model has the tool that reads a marker's handle, and gets the whole text back", async () => {
  function* script(sent) {
    for (let i = 0; i < 9; i += 1)
      yield {
        calls: [
          { name: "bash", arguments: { command: `for n in $(seq 200); do echo line $n of ${i}; done` } },
        ],
      };
    const [, handle] = /handle: ([0-9a-f]{8})/.exec(resultsIn(sent().at(-1).messages).map(textOf).join("\n"));
    yield { calls: [{ name: "recall", arguments: { handle, pattern: "line 1*7 of" } }] };
    yield { text: "done" };
  }
  const settings = { strata: { schedule: "everyCall" } };
  const run = () => runPi(installed, { script, env: { LC_ALL: "C" } });
  const { session, sent } = await withSettings(settings, {}, run);
  const [shortened] = resultsIn(sent.at(-1).messages).map(textOf);
  assert.doesNotMatch(shortened, /line 107 of 0/);
  const answer = resultsIn(session.agent.state.messages).at(-1);
  assert.equal(answer.toolName, "recall");
  assert.equal(answer.isError, false, textOf(answer));
  for (const line of [107, 147, 197]) assert.match(textOf(answer), new RegExp(`line ${line} of 0`));
  const without = { strata: { schedule: "everyCall", recall: false } };
  const plain = await withSettings(without, {}, () => runPi(installed));
  assert.ok(!plain.session.getActiveToolNames().includes("recall"), "unless it is switched off");
  assert.doesNotMatch(markersIn(plain.sent), /handle:/);
});

test("the markers speak the language of the conversation, whatever the locale", async () => {
  for (const [prompt, marker] of [
    ["go", /lines omitted/],
    ["开始吧，逐个查看", /已省略/],
  ]) {
    const run = () => runPi(installed, { prompts: [prompt], env: { LC_ALL: "zh_CN.UTF-8" } });
    const { sent } = await withSettings(everyCall, {}, run);
    assert.match(markersIn(sent), marker, prompt);
  }
});

test("each wrong setting is told with the nearest right one and what is in force, and the rest holds", async () => {
  const right = { schedule: "everyCall", excludeTools: ["read"], marker: "zh" };
  const cases = [
    [
      { economies: "thrifty" },
      /there is no setting "economies"; the nearest is economy\. In force: economy "balanced", the default\./,
    ],
    [
      { economy: "thirfty" },
      /economy is "thirfty"; it must be .*; the nearest is "thrifty"\. In force: economy "balanced", the default\./,
    ],
    [
      { contextRatio: 75 },
      /contextRatio is 75; it must be a number above 0 and at most 1\. In force: contextRatio 0\.75/,
    ],
    [
      { protectPaths: "PLAN.md" },
      /protectPaths is "PLAN.md"; it must be an array of strings\. In force: protectPaths \[\]/,
    ],
    [
      { compactionModel: 7, persistEdits: "yes" },
      /compactionModel is 7.*In force: no compactionModel\.\n.*persistEdits is "yes"; it must be true or false\. In force: persistEdits false/,
    ],
    [{ cache: { raed: 0.1 } }, /cache: there is no option raed/],
    [{ protect: "PLAN.md" }, /protect is "PLAN.md"; it must be a function/],
  ];
  for (const [wrong, told] of cases) {
    const { sent, notices } = await withSettings({ strata: { ...right, ...wrong } }, {}, () =>
      runPi(installed),
    );
    assert.equal(sent.length, CALLS + 1);
    assert.match(notices.map(([, text]) => text).join("\n"), told);
    assert.ok(notices.every(([kind]) => kind === "warning"));
    assert.match(markersIn(sent), /已省略 \d+ 行/, "schedule and marker hold");
  }
  const overruled = { strata: { schedule: "everyCal" } };
  const { sent, notices } = await withSettings(everyCall, overruled, () => runPi(installed));
  assert.match(
    notices[0][1],
    /\.pi\/settings\.json: schedule is "everyCal".*In force: schedule "everyCall", from /,
  );
  assert.match(markersIn(sent), /lines omitted/, "the user's own setting holds");
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

test("settings files that are none are told, and the session goes on", async () => {
  for (const [settings, told] of [
    [{ strata: 7 }, /the key "strata" in .* must be a JSON object; it sets nothing\./],
    ["{ not json", /settings\.json must be a JSON object; it sets nothing\./],
    ["[]", /settings\.json must be a JSON object; it sets nothing\./],
  ]) {
    const { sent, notices } = await withSettings(settings, {}, () => runPi(installed));
    assert.equal(sent.length, CALLS + 1);
    assert.match(notices.map(([kind, text]) => `${kind} ${text}`).join("\n"), told);
  }
  const { notices } = await runPi(installed, { env: { PI_STRATA: "sometimes" } });
  assert.match(notices[0][1], /PI_STRATA must be "on", "off" or a JSON object/);
});

test("/strata shows what the last request held, what was edited and why, and what was billed", async () => {
  const prompts = ["/strata", "go", "/strata"];
  const run = () => runPi(installed, { prompts, env: { LC_ALL: "C" } });
  const { notices, session } = await withSettings(everyCall, {}, run);
  const [first, panel] = notices.map(([, text]) => text);
  assert.match(first, /has seen no request/);
  const rows = (title) => {
    const [, table] = panel.split(new RegExp(`^${title}.*\n`, "m"));
    const lines = table.split("\n\n")[0].split("\n");
    return lines.map((line) => /^(.+?) {2,}([\d,]+) *(\d*)$/.exec(line).slice(1));
  };
  const tokens = (text) => Number(text.replaceAll(",", ""));
  const held = rows("in the request");
  assert.deepEqual(held.find(([kind]) => kind === "results of bash")?.[2], String(CALLS));
  const total = tokens(/held about ([\d,]+) tokens, \d+ % of the window of [\d,]+/.exec(panel)[1]);
  const sum = held.reduce((all, [, count]) => all + tokens(count), 0);
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

test("/strata show lists what was cut by file or command, and opens it, by number and by handle", async () => {
  const prompts = [
    "/strata show",
    "go",
    "/strata show",
    "/strata show 2",
    "/strata show 99",
    "/strata show 1-3",
  ];
  const { notices, session } = await withSettings(everyCall, {}, () =>
    runPi(installed, { prompts, env: { LC_ALL: "C" } }),
  );
  const [none, list, second, missing, range] = notices.map(([, text]) => text);
  assert.match(none, /has seen no request/);
  const rows = Array.from(list.matchAll(/^(\d+) +(\S.*?) {2,}(\S.+?) {2,}[\d,]+(?: {2}([0-9a-f]{8}))?$/gm));
  assert.ok(rows.length >= CALLS - 6, list);
  assert.deepEqual(
    rows.map(([, nth]) => Number(nth)),
    rows.map((_, at) => at + 1),
  );
  assert.ok(
    rows.some(
      ([, , subject, done, handle]) => /^bash : 1; for/.test(subject) && done === "shortened" && handle,
    ),
    list,
  );
  assert.ok(
    list.split("\n").every((line) => line.length <= 78),
    list,
  );
  const texts = session.agent.state.messages.map((message) =>
    (Array.isArray(message.content)
      ? message.content.map((block) => block.text ?? block.thinking ?? "")
      : []
    ).join("\n"),
  );
  assert.ok(
    texts.some((text) => text !== "" && second.includes(text)),
    second,
  );
  assert.match(missing, /There is no cut 99/);
  assert.match(range, /^Cuts 1 to 3 of \d+, oldest first\. More: \/strata show 4-\d+\.$/m);
});

test("/strata status lists every option in force and where it comes from", async () => {
  const project = { strata: { excludeTools: ["read"], persistEdits: true } };
  const env = { PI_STRATA: '{ "marker": "en", "economies": 1 }' };
  const run = () => runPi(installed, { prompts: ["/strata status"], env });
  const { notices } = await withSettings(everyCall, project, run);
  const text = notices.at(-1)[1];
  assert.match(text, /^pi-strata \d+\.\d+\.\d+ edits requests\.$/m);
  for (const [option, value, source] of [
    ["contextWindow", "200000", "pi's catalogue"],
    ["maxPromptTokens", "179043", "pi's compaction"],
    ["schedule", '"everyCall"', "/.*"],
    ["excludeTools", '\\["read"\\]', "\\.pi/settings\\.json"],
    ["persistEdits", "true", "\\.pi/settings\\.json"],
    ["marker", '"en"', "PI_STRATA"],
    ["keepRecentToolResults", "6", "default"],
    ["recall", "true", "default"],
    ["compactionModel", "the model in use", "default"],
  ])
    assert.match(text, new RegExp(`^${option} +${value} +${source}$`, "m"));
  assert.match(text, /^Settings: PI_STRATA: there is no setting "economies"/m);
});

test("/strata now cuts before the next request, where the schedule alone would wait", async () => {
  const script = function* () {
    for (let round = 0; round < 2; round += 1) {
      for (let i = 0; i < 12; i += 1)
        yield {
          calls: [
            {
              name: "bash",
              arguments: { command: `for n in $(seq 500); do echo line $n of ${round} ${i}; done` },
            },
          ],
        };
      yield { text: "done" };
    }
  };
  const settings = { strata: { economy: "thrifty" } };
  const run = (prompts) =>
    withSettings(settings, {}, () => runPi(installed, { script, prompts, env: { LC_ALL: "C" } }));
  const waits = await run(["go", "on"]);
  const cuts = await run(["go", "/strata now", "on"]);
  const size = ({ sent }) => JSON.stringify(sent[13].messages).length;
  assert.ok(size(cuts) < 0.8 * size(waits), `${size(cuts)} against ${size(waits)}`);
  const [asked, done] = cuts.notices.map(([, text]) => text);
  const number = (text) => Number(text.replaceAll(",", ""));
  const tokens = (text, words) => number(new RegExp(`${words} ([\\d,]+)`).exec(text)[1]);
  const cutOf = (text) => number(/([\d,]+) tokens are cut: /.exec(text)[1]);
  const saved = cutOf(done);
  assert.ok(saved > 1000, done);
  assert.equal(tokens(done, "instead of") - tokens(done, "holds about"), saved);
  const expected = cutOf(asked);
  assert.ok(Math.abs(expected - saved) < 0.1 * saved, `${asked} ${done}`);
});

test("/strata off holds for later sessions, until /strata on", async () => {
  const off = await withSettings(everyCall, {}, () => runPi(installed, { prompts: ["/strata off", "go"] }));
  assert.doesNotMatch(markersIn(off.sent), /omitted|省略/);
  const later = await withSettings(everyCall, {}, () => runPi(installed, { prompts: ["go", "/strata on"] }));
  assert.doesNotMatch(markersIn(later.sent), /omitted|省略/);
  const on = await withSettings(everyCall, {}, () => runPi(installed));
  assert.match(markersIn(on.sent), /omitted|省略/);
});

test("results of files that protectPaths names stay whole", async () => {
  const script = function* () {
    yield {
      calls: [
        {
          name: "bash",
          arguments: {
            command:
              "mkdir -p docs/a; for f in PLAN.md docs/a/x.md other.md; do for n in $(seq 200); do echo $f $n; done > $f; done",
          },
        },
      ],
    };
    for (const path of ["PLAN.md", "./docs/a/x.md", join(folder, "docs/a/x.md"), "other.md"])
      yield { calls: [{ name: "read", arguments: { path } }] };
    for (let i = 0; i < 7; i += 1) yield { calls: [{ name: "bash", arguments: { command: `echo ${i}` } }] };
    yield { text: "done" };
  };
  const settings = { strata: { schedule: "everyCall", protectPaths: ["PLAN.md", "docs/**"] } };
  const { sent } = await withSettings(settings, {}, () => runPi(installed, { script, env: { LC_ALL: "C" } }));
  const read = resultsIn(sent.at(-1).messages).map(textOf).slice(1, 5);
  assert.deepEqual(
    read.map((text) => /lines omitted/.test(text)),
    [false, false, false, true],
  );
});

test("/strata pause sends all, /strata resume edits again; PI_STRATA=off begins paused", async () => {
  const paused = await withSettings(everyCall, {}, () =>
    runPi(installed, { prompts: ["/strata pause", "go"] }),
  );
  assert.doesNotMatch(markersIn(paused.sent), /omitted|省略/);
  assert.deepEqual(paused.statuses.at(-1), ["pi-strata", "strata paused"]);
  const prompts = ["/strata resume", "go"];
  const env = { PI_STRATA: "off", LC_ALL: "C" };
  const off = await withSettings(everyCall, {}, () => runPi(installed, { env }));
  assert.doesNotMatch(markersIn(off.sent), /omitted/);
  const resumed = await withSettings(everyCall, {}, () => runPi(installed, { env, prompts }));
  assert.match(markersIn(resumed.sent), /lines omitted/);
});

test("in print mode a native file that is missing is told on standard error, once", () => {
  const code = `
    import { runSession } from "./__test__/support/pi-session.mjs";
    const extensions = { additionalExtensionPaths: [process.cwd()] };
    const { sent, errors } = await runSession(process.env.PI_CODING_AGENT_DIR, extensions, { hasUI: false });
    console.log(JSON.stringify({ calls: sent.length, errors }));`;
  const { stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    cwd: PACKAGE,
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
