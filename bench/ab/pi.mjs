// The real pi coding agent as a child process in RPC mode, in a folder and with settings of its own, metered.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { modelsFile } from "../../__test__/support/models-file.mjs";
import { ARMS } from "./arms.mjs";
import { RunFailure } from "./journal.mjs";

const INSTALLED = fileURLToPath(
  new URL(
    "../../__test__/coding-agent/node_modules/@earendil-works/pi-coding-agent/dist/cli.js",
    import.meta.url,
  ),
);
const METER = pathToFileURL(fileURLToPath(new URL("meter.mjs", import.meta.url))).href;
const SEED = fileURLToPath(new URL("extensions/seed.mjs", import.meta.url));

/** How often pi is asked whether it still works, and how long it must have said nothing before it counts as done. */
const POLL_MS = 15;
const REST_MS = 45;
/** The time pi has to end before it is killed. */
const END_MS = 5000;

/** The script of pi and its version: the one named, or the one the tests install. */
export function findPi(named = INSTALLED) {
  if (!existsSync(named))
    throw new RunFailure(
      `There is no pi at ${named}: run npm run install:nested, or name the dist/cli.js of @earendil-works/pi-coding-agent with --pi.`,
    );
  const script = realpathSync(named);
  const manifest = join(dirname(dirname(script)), "package.json");
  return { script, version: JSON.parse(readFileSync(manifest, "utf8")).version };
}

/** A pi that is running. */
export class Pi {
  #child;
  #waiting = new Map();
  #asked = 0;
  #onEvent;
  #ended;
  #stderr = "";
  #busySince = 0;
  #willGoOn = false;

  /** Dollars per million tokens of the model, as pi knows them. */
  prices;

  /**
   * Starts pi under an arm, in a place of the journal, with a model that it must know.
   *
   * @param how.script that of `findPi`; `how.continues` whether the last session goes on
   * @param on.event is told each event of pi; `on.call` says before each call to a model whether it may be sent
   */
  static async open(place, arm, settings, how, on) {
    for (const folder of [place.workFolder, place.agentFolder, place.sessionFolder])
      mkdirSync(folder, { recursive: true });
    const write = (name, value) => writeFileSync(join(place.agentFolder, name), JSON.stringify(value));
    write("settings.json", ARMS[arm].settings);
    // The address of a server may be another one today.
    write("models.json", modelsFile({ ...settings, ...how.access }));
    const pi = new Pi(place, ARMS[arm].extensions, settings, how, on);
    const { model } = await pi.ask("get_state");
    if (model?.id !== settings.model || model.provider !== settings.provider) {
      await pi.end();
      throw new RunFailure(
        `pi knows no model ${settings.provider}/${settings.model} with a key: set the provider's variable, as ANTHROPIC_API_KEY.`,
      );
    }
    pi.prices = model.cost;
    return pi;
  }

  constructor({ workFolder, agentFolder, sessionFolder, callsFile }, extensions, settings, how, on) {
    const { provider, model, thinking } = settings;
    const args = [
      "--import",
      METER,
      how.script,
      ...["--mode", "rpc", "--provider", provider, "--model", model],
      ...(thinking === undefined ? [] : ["--thinking", thinking]),
    ];
    args.push("--session-dir", sessionFolder, "--offline");
    args.push("--no-extensions", "--no-skills", "--no-prompt-templates", "--no-themes", "--no-context-files");
    for (const extension of [...extensions, SEED]) args.push("--extension", extension);
    if (how.continues) args.push("--continue");
    const env = {
      ...process.env,
      PI_CODING_AGENT_DIR: agentFolder,
      PI_OFFLINE: "1",
      STRATA_BENCH_CALLS: callsFile,
      STRATA_BENCH_SEED: String(how.seed),
    };
    for (const name of ["PI_STRATA", "PI_CODING_AGENT_SESSION_DIR", "NODE_TEST_CONTEXT"]) delete env[name];
    this.#onEvent = on.event;
    this.#child = spawn(process.execPath, args, {
      cwd: workFolder,
      env,
      stdio: ["pipe", "pipe", "pipe", "ipc"],
    });
    this.#child.on("message", ({ ask }) => {
      if (on.call()) this.#child.send({ allow: ask }, () => {});
    });
    this.#child.stdin.on("error", () => {});
    this.#child.stderr.setEncoding("utf8").on("data", (text) => {
      this.#stderr = (this.#stderr + text).slice(-4000);
    });
    this.#read();
    this.#ended = new Promise((resolve) => {
      this.#child.once("close", (code, signal) => {
        const why = new RunFailure(
          `pi ended (${signal ?? code}): ${this.#stderr.trim() || "it said nothing"}`,
        );
        for (const { reject } of this.#waiting.values()) reject(why);
        this.#waiting.clear();
        resolve();
      });
    });
  }

  /** Lines end at line feeds only: other separators of Unicode stand inside them. */
  #read() {
    let rest = "";
    this.#child.stdout.setEncoding("utf8").on("data", (text) => {
      const lines = (rest + text).split("\n");
      rest = lines.pop();
      for (const line of lines) this.#take(line);
    });
  }

  #take(line) {
    let message;
    try {
      message = JSON.parse(line);
    } catch {
      // An extension may print to standard output.
      return;
    }
    if (message.type === "response") {
      const waiting = this.#waiting.get(message.id);
      this.#waiting.delete(message.id);
      if (message.success) waiting?.resolve(message.data);
      else waiting?.reject(new RunFailure(`pi says: ${message.error}`));
      return;
    }
    this.#busySince = Date.now();
    if (message.type === "auto_retry_start") this.#willGoOn = true;
    if (message.type === "compaction_end") this.#willGoOn = message.willRetry === true;
    if (message.type === "agent_start" || message.type === "auto_retry_end") this.#willGoOn = false;
    this.#onEvent(message);
  }

  /** Sends a command and resolves with the data of its response. */
  ask(type, more = {}) {
    this.#asked += 1;
    const id = `bench-${this.#asked}`;
    return new Promise((resolve, reject) => {
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        reject(new RunFailure(`pi has ended: ${this.#stderr.trim()}`));
        return;
      }
      this.#waiting.set(id, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ id, type, ...more })}\n`);
    });
  }

  /** Sends a prompt and resolves when pi has done all that follows from it, a compaction among it. */
  async prompt(message) {
    this.#busySince = Date.now();
    await this.ask("prompt", { message });
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const { isStreaming, isCompacting, pendingMessageCount } = await this.ask("get_state");
      const isBusy = isStreaming || isCompacting || pendingMessageCount > 0 || this.#willGoOn;
      if (!isBusy && Date.now() - this.#busySince >= REST_MS) return;
    }
  }

  /** Ends pi; what it has in flight is aborted. */
  async end() {
    this.#child.stdin.end();
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), END_MS);
    await this.#ended;
    clearTimeout(timer);
  }
}
