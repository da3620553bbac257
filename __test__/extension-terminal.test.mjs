// The extension as a user meets it: installed by `pi install` into the oldest and the newest pi, in a narrow and in a wide
// terminal, key by key. The model behind it is a script on a local server.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { stripVTControlCharacters } from "node:util";
import { piScripts } from "./coding-agent/pi.mjs";
import { modelsFile } from "./support/models-file.mjs";
import { nodeBinary } from "./support/nodes.mjs";
import { ROOT } from "./support/root.mjs";
import { scriptedServer } from "./support/scripted-server.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const PRICES = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };
/** pi's prompt to the model that summarises. */
const SUMMARY = /context summarization assistant/;
const hasTerminal = process.platform === "linux" && spawnSync("script", ["--version"]).status === 0;
/** pi draws its screen a little before it listens, and its completions a little after a key. */
const SETTLE_MS = 1_000;
/** Control-U: pi deletes to the start of the line. */
const CLEAR_LINE = "\u0015";
/** The time that a letter takes to appear where pi listens. */
const ECHO_MS = 5_000;
/** The time that a screen may take to say what is waited for. */
const PATIENCE_MS = 60_000;

const folder = temporaryFolder("terminal");

const isSummary = ({ system, messages }) => SUMMARY.test(JSON.stringify(system ?? messages[0]));

/** A server whose model runs a command with a result of `lines` lines, `calls` times a prompt, and then says so. */
async function startServer({ lines, calls }) {
  let asked = 0;
  const answer = (_, body) => {
    if (!isSummary(body)) asked += 1;
    if (isSummary(body) || asked % (calls + 1) === 0) return { text: "all done" };
    const command = `for i in $(seq ${lines}); do echo line $i of result ${asked}; done`;
    return { calls: [{ id: `c${asked}`, name: "bash", arguments: { command } }] };
  };
  const server = await scriptedServer("anthropic", { answer });
  after(() => server.close());
  return server;
}

/** A pi with the package installed and the scripted model, ready to start in a terminal. */
async function install(version, { name, window, lines, calls, settings = {}, strata = {} }) {
  const home = join(folder, name);
  const [agent, cwd] = [join(home, "agent"), join(home, "work")];
  for (const path of [agent, cwd]) mkdirSync(path, { recursive: true });
  const server = await startServer({ lines, calls });
  const about = { provider: "scripted", model: "m1", window, api: "anthropic-messages", prices: PRICES };
  const models = modelsFile({ ...about, baseUrl: server.root, keyVariable: "SCRIPTED_KEY" });
  const known = models.providers.scripted.models;
  known.push({ ...known[0], id: "cheap" });
  writeFileSync(join(agent, "settings.json"), JSON.stringify(settings));
  writeFileSync(join(agent, "models.json"), JSON.stringify(models));
  const env = {
    ...process.env,
    HOME: home,
    PI_CODING_AGENT_DIR: agent,
    PI_OFFLINE: "1",
    SCRIPTED_KEY: "none",
    TERM: "xterm-256color",
    LC_ALL: "C.UTF-8",
    PI_STRATA: JSON.stringify(strata),
  };
  const pi = `${nodeBinary("node22")} ${fileURLToPath(piScripts[version])}`;
  const [node, script] = pi.split(" ");
  const installed = spawnSync(node, [script, "install", ROOT], { cwd, env, encoding: "utf8" });
  assert.equal(installed.status, 0, installed.stderr);
  const start = async (columns, ...more) => {
    const options = "--provider scripted --model m1 --offline --no-skills --no-context-files";
    const terminal = new Terminal([pi, options, ...more].join(" "), columns, { cwd, env });
    await terminal.press("", /%\/\d+k/);
    await sleep(SETTLE_MS);
    return terminal;
  };
  return { server, start };
}

/** What a terminal shows, and how to type into it. */
class Terminal {
  #child;
  #shown = "";

  constructor(command, columns, how) {
    const inside = `stty cols ${columns} rows 60; exec ${command}`;
    this.#child = spawn("script", ["-qfec", inside, "/dev/null"], how);
    this.#child.stdout.setEncoding("utf8").on("data", (text) => {
      this.#shown += text;
    });
    after(() => this.#child.kill("SIGKILL"));
  }

  /**
   * Waits until the screen says `answer`, wherever its lines break; what it has said since `from`, or undefined where it does
   * not.
   */
  async #said(answer, from, patienceMs) {
    for (const end = Date.now() + patienceMs; Date.now() < end; await sleep(50)) {
      const since = stripVTControlCharacters(this.#shown.slice(from));
      if (answer.test(since.replace(/\s+/g, " "))) return since;
    }
    return undefined;
  }

  /** All that it has said. */
  get screen() {
    return stripVTControlCharacters(this.#shown);
  }

  end() {
    this.#child.kill("SIGKILL");
  }

  /** Types a line, and again where pi was not listening yet; then Enter, once. Returns what the screen says until `answer`. */
  async enter(line, answer) {
    let from = this.#shown.length;
    const echo = new RegExp(line.split(" ").at(-1));
    do {
      from = this.#shown.length;
      // What a slow machine has not shown yet must not stand before the line.
      for (const key of [CLEAR_LINE, ...line]) {
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
    assert.ok(said !== undefined, `${answer}: ${this.screen.slice(-3000)}`);
    return said;
  }
}

/** The text of a screen without its line breaks. */
const flat = (text) => text.replace(/\s+/g, " ");

for (const [version, columns] of [
  ["0.74.2", 80],
  ["1.6.0", 120],
]) {
  test(`installed in pi ${version}, in ${columns} columns, every command answers to one Enter`, {
    skip: !hasTerminal,
  }, async () => {
    const { start } = await install(version, {
      name: `commands-${version}`,
      window: 200_000,
      lines: 300,
      calls: 11,
      settings: { compaction: { keepRecentTokens: 2000 } },
      strata: { schedule: "everyCall", economies: "thrifty" },
    });
    const terminal = await start(columns);
    const shown = await terminal.enter("go", /all done/);
    assert.match(shown, /strata \d+k → \d+k\s/, "one short word pair");
    const panel = await terminal.enter("/strata", /Since pi started: [\d,]+ tokens not sent in 12 calls\./);
    const [, counted] = /This session: pi has counted \$(\d+\.\d{3})\./.exec(panel);
    assert.ok(terminal.screen.includes(`$${counted} `), `the footer says $${counted}: ${shown.slice(-600)}`);
    assert.match(panel, /\sresults of bash +[\d,]+ +11\s/, "rows stay in one line");
    assert.match(panel, /\sbash: shortened, old tool result +[\d,]+ +5\s/);
    assert.match(flat(panel), /Prices of scripted\/m1: \$5 a million tokens of input, cache reads/);
    assert.match(flat(panel), /there is no setting "economies"; the nearest is economy\./);
    assert.doesNotMatch(panel, /undefined|NaN/);
    const list = await terminal.enter("/strata show", /opens one at its top/);
    assert.match(list, /\s1 +bash for i in \$\(seq 300\)[^\n]*?…? +shortened +[\d,]+ +[0-9a-f]{8}\s/);
    const status = await terminal.enter("/strata status", /protectPaths +\[\] +default/);
    assert.match(status, /\sschedule +"everyCall" +PI_STRATA\s/);
    assert.match(status, /\scontextWindow +200000 +pi's catalogue\s/);
    const top = await terminal.enter("/strata show 1", /lines 1 to \d+ of 300/);
    assert.match(top, /bash for i in .*\s+line 1 of result 1\s/, "it opens at its top");
    await terminal.press(" ", /line 9\d of result 1 .*lines \d\d to \d+ of 300/);
    await terminal.press("\u001b", /\S/);
    await terminal.enter("/strata pause", /pi-strata paused/);
    await terminal.enter("/strata resume", /pi-strata edits requests again/);
    await terminal.enter("/strata now", /The next request is cut|There is nothing to cut/);
    await terminal.enter("/strata off", /pi-strata is off/);
    await terminal.enter("/strata on", /pi-strata is on/);
    terminal.end();
    const again = await start(columns, "--continue");
    const later = await again.enter("/strata", /This session: pi has counted \$/);
    assert.match(flat(later), /No request since pi started\. The next one would hold about [\d,]+ tokens/);
    await again.enter("/compact", /[Cc]ompacted/);
    await again.enter("/strata nonsense", /There is \/strata, \/strata show/);
    again.end();
  });
}

for (const version of ["0.74.2", "1.6.0"]) {
  for (const window of [16_000, 32_000, 60_000]) {
    test(`pi ${version} compacts in none of 60 reads in a window of ${window} tokens`, {
      skip: !hasTerminal,
    }, async () => {
      const { server, start } = await install(version, {
        name: `small-${version}-${window}`,
        window,
        lines: window > 40_000 ? 200 : 80,
        calls: 20,
      });
      const terminal = await start(100);
      for (const prompt of ["go", "on", "more"]) await terminal.enter(prompt, /all done/);
      const told =
        window > 40_000
          ? /pi compacts above [\d,]+ tokens; requests stay below/
          : /pi-strata declines that while requests fit: \d+ times/;
      await terminal.enter("/strata", told);
      const { requests, problems } = server;
      assert.deepEqual(
        [requests.length, requests.filter(({ body }) => isSummary(body)), problems],
        [63, [], []],
      );
      const largest = Math.max(...requests.map(({ tokens }) => tokens));
      assert.ok(largest > 0.3 * window && largest < window, `${largest} of ${window}`);
      terminal.end();
    });
  }
}
