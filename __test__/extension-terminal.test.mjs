// The extension as a user meets it: installed by `pi install` into the newest pi that installs here, in a terminal, key by
// key. The model behind it is a script on a local server.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { modelsFile } from "../bench/ab/models.mjs";
import { APIS } from "../bench/ab/scripted/apis.mjs";
import { node22Path } from "./pi/versions.mjs";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const CLI = fileURLToPath(
  new URL("coding-agent/node_modules/pi-coding-agent-0.87/dist/bundle/cli.js", import.meta.url),
);
const PRICES = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
/** Calls of a prompt before the last word. */
const CALLS = 11;
const hasTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
/** pi draws its screen a little before it listens, and its completions a little after a key. */
const SETTLE_MS = 1_000;
/** The time that a letter takes to appear where pi listens. */
const ECHO_MS = 5_000;
/** The time that a screen may take to say what is waited for. */
const PATIENCE_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), "pi-strata-terminal-"));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A server whose model runs a command with a long result, over and over, and then says so. */
async function startServer(models) {
  let asked = 0;
  const server = createServer(async (request, response) => {
    const api = APIS[request.url.split("?")[0]];
    const { messages, model } = await json(request);
    models.push(model);
    asked += 1;
    const command = `for i in $(seq 300); do echo line $i of result ${asked}; done`;
    const answer =
      asked % (CALLS + 1) === 0 || model === "cheap"
        ? { text: "all done", calls: [] }
        : { text: "", calls: [{ id: `c${asked}`, name: "bash", arguments: { command } }] };
    const usage = {
      input: 3,
      output: 20,
      cacheRead: 0,
      cacheWrite: Math.ceil(JSON.stringify(messages).length / 4),
    };
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of api.answer(answer, usage, { id: `answer-${asked}`, model })) response.write(event);
    response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  return `http://127.0.0.1:${server.address().port}`;
}

/** What a terminal shows, and how to type into it. */
class Terminal {
  #child;
  #shown = "";

  constructor(command, how) {
    this.#child = spawn("script", ["-qfec", `stty cols 160 rows 60; exec ${command}`, "/dev/null"], how);
    this.#child.stdout.setEncoding("utf8").on("data", (text) => {
      this.#shown += text;
    });
    after(() => this.#child.kill("SIGKILL"));
  }

  /** Waits until the screen says `answer`; what it has said since `from`, or undefined where it does not. */
  async #said(answer, from, patienceMs) {
    for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(50)) {
      const since = stripVTControlCharacters(this.#shown.slice(from));
      if (answer.test(since)) return since;
    }
    return undefined;
  }

  /** Types a line, and again where pi was not listening yet; then Enter, once. What the screen has said until `answer`. */
  async enter(line, answer) {
    let from = this.#shown.length;
    const echo = new RegExp(line.split(" ").at(-1));
    do {
      from = this.#shown.length;
      for (const key of line) {
        this.#child.stdin.write(key);
        await sleep(20);
      }
    } while ((await this.#said(echo, from, ECHO_MS)) === undefined);
    // A list of completions that is still open would take the Enter.
    for (let length = -1; length < this.#shown.length; await sleep(SETTLE_MS)) length = this.#shown.length;
    return this.press("\r", answer);
  }

  async press(key, answer) {
    const from = this.#shown.length;
    this.#child.stdin.write(key);
    const said = await this.#said(answer, from, PATIENCE_MS);
    assert.ok(said !== undefined, `${answer}: ${stripVTControlCharacters(this.#shown).slice(-3000)}`);
    return said;
  }
}

test("installed, in a terminal, every command answers to one Enter", { skip: !hasTerminal }, async () => {
  const [agent, cwd] = [join(folder, "agent"), join(folder, "work")];
  for (const path of [agent, cwd]) mkdirSync(path);
  const about = {
    provider: "scripted",
    model: "m1",
    window: 200_000,
    api: "anthropic-messages",
    prices: PRICES,
  };
  const asked = [];
  const models = modelsFile({ ...about, baseUrl: await startServer(asked), keyVariable: "SCRIPTED_KEY" });
  const known = models.providers.scripted.models;
  known.push({ ...known[0], id: "cheap" });
  writeFileSync(join(agent, "settings.json"), JSON.stringify({ compaction: { keepRecentTokens: 2000 } }));
  writeFileSync(join(agent, "models.json"), JSON.stringify(models));
  const env = {
    ...process.env,
    ...{
      HOME: folder,
      PI_CODING_AGENT_DIR: agent,
      PI_OFFLINE: "1",
      SCRIPTED_KEY: "none",
      TERM: "xterm-256color",
      LC_ALL: "C.UTF-8",
    },
    PI_STRATA: '{ "schedule": "everyCall", "compactionModel": "scripted/cheap" }',
  };
  const installed = spawnSync(node22Path(), [CLI, "install", PACKAGE], { cwd, env, encoding: "utf8" });
  assert.equal(installed.status, 0, installed.stderr);

  const options = "--provider scripted --model m1 --offline --no-skills --no-context-files";
  const terminal = new Terminal(`${node22Path()} ${CLI} ${options}`, { cwd, env });
  await terminal.press("", /0\.0%\/200k/);
  await sleep(SETTLE_MS);
  const shown = await terminal.enter("go", /all done[\s\S]*strata \d+k → \d+k/);
  assert.match(shown, /strata \d+k → \d+k\s/, "one short word pair");
  const panel = await terminal.enter("/strata", /Not sent since it started: [\d,]+ tokens in 12 calls/);
  const [, counted] = /pi has counted \$(\d+\.\d{3}) for this session/.exec(panel);
  assert.ok(shown.includes(`$${counted} `), `the footer says $${counted}: ${shown.slice(-600)}`);
  assert.match(panel, /Prices of scripted\/m1: \$5 a million/);
  assert.doesNotMatch(panel, /undefined|NaN/);
  assert.match(
    await terminal.enter("/strata show", /opens one/),
    /1 {2}bash: shortened, old tool result +[\d,]+ +[0-9a-f]{8}/,
  );
  await terminal.enter("/strata show 1", /line 300 of result 1[\s\S]*escape/);
  await terminal.press("\u001b", /strata \d+k/);
  await terminal.enter("/strata pause", /pi-strata paused/);
  await terminal.enter("/strata resume", /pi-strata edits requests again/);
  await terminal.enter("/strata now", /The next request is cut/);
  await terminal.enter("/strata off", /pi-strata is off/);
  await terminal.enter("/strata on", /pi-strata is on/);
  assert.ok(!asked.includes("cheap"));
  await terminal.enter("/compact", /[Cc]ompacted/);
  assert.ok(asked.includes("cheap"), "the summary is the named model's");
  await terminal.enter("/strata nonsense", /There is \/strata, \/strata show/);
});
