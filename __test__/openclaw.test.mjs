// The context engine plugin: through the life cycle of a host that is written from OpenClaw's published types, and in OpenClaw
// itself, with a scripted model.
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import plugin from "pi-strata/openclaw";
import strata from "../index.js";
import contract from "../lib/contract.js";
import { freePort } from "./support/free-port.mjs";
import { answer, result } from "./support/messages.mjs";
import { nodeBinary } from "./support/nodes.mjs";
import { ROOT } from "./support/root.mjs";
import { scriptedServer } from "./support/scripted-server.mjs";
import { table } from "./support/tables.mjs";

const { countTokens, validate } = strata;
const WINDOW = 40_000;
/** Tokens that OpenClaw keeps free. */
const RESERVE = 4_096;
const manifest = JSON.parse(readFileSync(join(ROOT, "openclaw.plugin.json"), "utf8"));

/** How the host asks for a smaller request after a refusal. */
const OVERFLOW = { force: true, compactionTarget: "budget", runtimeContext: { trigger: "overflow" } };

/** What a provider counts beside system prompt and tools. */
const sizeOf = (messages) => Math.round(countTokens(messages) * 1.27);
/** The question with which the host goes on in a turn that was refused. */
const CONTINUE = "Continue the current task from the existing transcript.";

/** OpenClaw as far as an engine sees it: it keeps the transcript, asks before each turn and commits it afterwards. */
class Host {
  #factory;
  transcript = [];
  requests = [];
  warnings = [];
  /** Tells the plugin that a session ended. */
  ended;
  /** Whose conversation it is. */
  who = { sessionId: "agent:main:chat", sessionKey: "agent:main:chat" };
  window = WINDOW;
  /** Tokens of the system prompt, which the budget excludes, and of tools, which it does not. */
  prompt = 3_000;
  tools = 0;
  #clock = 1_700_000_000_000;
  #turns = 0;

  constructor(fields) {
    Object.assign(this, fields);
    this.restart();
  }

  /** A host that has had so many turns. */
  static async after(turns, fields) {
    const host = new Host(fields);
    for (let turn = 0; turn < turns; turn += 1) await host.turn(`question ${turn}`, 3);
    return host;
  }

  restart() {
    const registerContextEngine = (id, factory) => {
      assert.equal(id, manifest.id);
      this.#factory = factory;
    };
    const logger = { warn: (message) => this.warnings.push(message) };
    const on = (event, listener) => {
      assert.equal(event, "session_end");
      this.ended = listener;
    };
    plugin.register({ pluginConfig: { marker: "en" }, logger, on, registerContextEngine });
  }

  /** A subagent that begins with the transcript. */
  async fork() {
    const who = { sessionId: "child", sessionKey: "child" };
    const { transcript, window, prompt, tools } = this;
    const child = new Host({ transcript: structuredClone(transcript), window, prompt, tools, who });
    child.#factory = this.#factory;
    const spawn = { parentSessionKey: this.who.sessionKey, childSessionKey: "child", contextMode: "fork" };
    await this.engine().prepareSubagentSpawn?.(spawn);
    return child;
  }

  /** An engine lives for one operation. */
  engine() {
    const engine = this.#factory({});
    for (const method of ["bootstrap", "ingest", "assemble", "compact", "commitTurn", "afterTurn"])
      assert.equal(typeof engine[method], "function");
    return engine;
  }

  #message(fields) {
    this.#clock += 5_000;
    return { ...fields, timestamp: this.#clock };
  }

  #sizeOf(request) {
    return this.prompt + this.tools + sizeOf(request);
  }

  #answer(content, request) {
    const size = this.#sizeOf(request);
    const cacheRead = Math.round(size * 0.9);
    const usage = { input: 0, cacheRead, cacheWrite: size - cacheRead, output: 50 };
    const stopReason = content[0].type === "toolCall" ? "toolUse" : "stop";
    return this.#message(answer(content, { model: "claude-test", usage, stopReason }));
  }

  /**
   * Resolves with the messages before the question. Transcripts come out of SQLite: each call reads copies. OpenClaw tells the
   * window before each request of a session that has messages.
   */
  async ask(prompt, { model = "claude-test", window = this.window } = {}) {
    if (this.transcript.length > 0) {
      const runtimeContext = { tokenBudget: window };
      const { bootstrapped } = await this.engine().bootstrap({ ...this.who, runtimeContext });
      assert.equal(bootstrapped, false);
    }
    const assembled = await this.engine().assemble({
      ...this.who,
      messages: structuredClone(this.transcript),
      tokenBudget: window - RESERVE - Math.ceil(1.2 * (this.prompt + prompt.length / 4)),
      runtimeSettings: { limits: { promptTokenBudget: null, maxOutputTokens: RESERVE } },
      model,
      prompt,
    });
    assert.ok(Number.isFinite(assembled.estimatedTokens));
    return assembled.messages;
  }

  /** A turn of `calls` tool calls. The provider refuses the request of call `refused`, once. */
  async turn(content, calls, { refused, ...model } = {}) {
    this.#turns += 1;
    let history = await this.ask(typeof content === "string" ? content : content[0].text, model);
    let pending = [this.#message({ role: "user", content })];
    for (let call = 0; call <= calls; call += 1) {
      if (call === refused) {
        this.refused = sizeOf([...history, ...pending]);
        const params = { tokenBudget: this.window, currentTokenCount: this.window + 1 };
        assert.ok((await this.engine().compact({ ...this.who, ...params, ...OVERFLOW })).compacted);
        this.transcript.push(...pending);
        history = await this.ask(CONTINUE, model);
        pending = [this.#message({ role: "user", content: CONTINUE })];
      }
      const request = [...history, ...pending];
      this.requests.push({ request, size: this.#sizeOf(request), turn: this.#turns });
      if (call === calls)
        pending.push(this.#answer([{ type: "text", text: `done with turn ${this.#turns}` }], request));
      else pending.push(...this.#call(request, call));
    }
    this.transcript.push(...pending);
    const commit = {
      advancementKey: `${this.who.sessionKey} ${this.#turns}`,
      messages: pending,
      ...this.who,
    };
    assert.deepEqual(await this.engine().commitTurn(commit), { status: "committed" });
    assert.deepEqual(await this.engine().commitTurn(commit), { status: "duplicate" });
  }

  #call(request, call) {
    const id = `${this.#turns}-${call}`;
    const text = Array.from({ length: 40 }, (_, i) => `${id} line ${i}: value_${this.#turns}_${i}`).join(
      "\n",
    );
    const block = { type: "toolCall", id, name: "exec", arguments: { command: `cat ${id}` } };
    return [this.#answer([block], request), this.#message(result(id, text, { toolName: "exec" }))];
  }
}

const photo = () => [
  { type: "text", text: "look at this" },
  { type: "image", data: "aGk=".repeat(2_000), mimeType: "image/jpeg" },
];

describe("through a host's life cycle", () => {
  test("400 calls with photos and restarts: valid, never over the budget, edits stay from turn to turn", async () => {
    const host = new Host();
    let changes = 0;
    for (let turn = 0; turn < 100; turn += 1) {
      if (turn % 30 === 29) host.restart();
      const before = host.requests.at(-1)?.request ?? [];
      await host.turn(turn % 5 === 0 ? photo() : `question ${turn}`, 3);
      const { request } = host.requests.find(({ turn: of }) => of === turn + 1);
      const texts = (list) =>
        list.filter(({ role }) => role === "toolResult").map(({ content }) => content[0].text);
      const kept = new Set(texts(request));
      if (!texts(before).every((text) => kept.has(text))) changes += 1;
    }
    assert.equal(host.requests.length, 400);
    for (const { request } of host.requests) assert.deepEqual(validate(request), []);
    // The host shows the engine neither what a turn adds nor the photos of its question.
    const first = host.requests.filter(({ turn }, at) => host.requests[at - 1]?.turn !== turn);
    const sizes = first.map(({ size, request }) => size - sizeOf(request.slice(-1)));
    assert.ok(Math.max(...sizes) < WINDOW - RESERVE, `${sizes}`);
    const photos = (list) => list.filter(({ content }) => content[1]?.type === "image").length;
    assert.deepEqual(photos(host.transcript), 20);
    const shown = host.requests.slice(-40).map(({ request }) => photos(request));
    assert.ok(Math.min(...shown) < 14, `old photos age: ${shown}`);
    const whole = sizeOf(host.transcript);
    assert.ok(whole > WINDOW * 1.5, `${whole} tokens in all`);
    assert.ok(changes < 40, `${changes} turns changed what was sent before`);
    assert.deepEqual(host.warnings, []);
  });

  test("a system prompt of most of the window leaves the rest of it to the messages", async () => {
    const host = new Host({ window: 64_000, prompt: 35_000 });
    for (let turn = 0; turn < 60; turn += 1) {
      // A long question counts once.
      await host.turn(turn === 40 ? "word ".repeat(6_000) : `question ${turn}`, 1);
      const { request } = host.requests.at(-2);
      const asked = request.filter(({ role }) => role === "user").length;
      assert.ok(turn === 40 || asked > turn * 0.9, `turn ${turn} shows ${asked} questions`);
    }
    assert.ok(Math.max(...host.requests.map(({ size }) => size)) < 64_000 - RESERVE);
    assert.deepEqual(host.warnings, []);
  });

  test("a restart, a fork and a fallback of the same window under a large prompt send what the session sent", async () => {
    const host = await Host.after(20, { window: 64_000, prompt: 35_000 });
    const whole = await host.ask("go on");
    const child = await host.fork();
    assert.deepEqual(await child.ask("go on"), whole);
    assert.deepEqual(await host.ask("go on", { model: "fallback" }), whole);
    host.restart();
    assert.deepEqual(await host.ask("go on"), whole);
  });

  test("tools that the host's budget leaves in are counted", async () => {
    const host = new Host({ window: 64_000, prompt: 5_000, tools: 30_000 });
    for (let turn = 0; turn < 60; turn += 1) await host.turn(`question ${turn}`, 2);
    const sizes = host.requests.map(({ size }) => size);
    assert.ok(Math.max(...sizes) < 64_000, `${Math.max(...sizes)}`);
    assert.ok(sizes.at(-1) > 40_000, "the room is used");
  });

  test("an overflow within a turn leaves four fifths of it, in later turns too", async () => {
    const host = await Host.after(3, { window: 200_000 });
    await host.turn("read all", 30, { refused: 25 });
    const sent = host.requests.at(-6).size - host.prompt;
    assert.ok(sent > host.refused * 0.65 && sent < host.refused * 0.82, `${sent} of ${host.refused}`);
    for (let turn = 0; turn < 3; turn += 1) await host.turn(`question ${turn}`, 1);
    assert.ok(host.requests.at(-2).size > sent);
    for (const { request } of host.requests) assert.deepEqual(validate(request), []);
    assert.deepEqual(host.warnings, []);
  });

  test("a turn on a small model, and a fork on one, take nothing from the large model", async () => {
    const host = await Host.after(20, { window: 400_000 });
    const small = { model: "small", window: 12_000 };
    const whole = await host.ask("go on");
    const child = await host.fork();
    assert.deepEqual(await child.ask("go on"), whole, "a fork sends its parent's bytes");
    for (const one of [child, host]) {
      await one.turn("is all well?", 1, small);
      assert.ok(one.requests.at(-1).size < 12_000);
    }
    assert.deepEqual((await host.ask("go on")).slice(0, whole.length), whole);
  });

  test("a session is forgotten at its end", async () => {
    const host = await Host.after(3);
    /** A session that is not known is left to the host's own module. */
    const assertForgotten = ({ who }) =>
      assert.rejects(host.engine().compact({ ...who, ...OVERFLOW }), { code: "ERR_MODULE_NOT_FOUND" });
    const child = await host.fork();
    await assertForgotten(child);
    await child.ask("look");
    await host.engine().onSubagentEnded({ childSessionKey: child.who.sessionKey, reason: "completed" });
    await assertForgotten(child);
    host.ended({}, { sessionKey: host.who.sessionKey });
    await assertForgotten(host);
  });

  test("within a turn the host hands in what it was given: the hook still sees the whole conversation", async () => {
    const host = await Host.after(40);
    const engine = host.engine();
    const params = { ...host.who, tokenBudget: WINDOW - RESERVE - 3_000 };
    const first = await engine.assemble({ ...params, messages: host.transcript });
    assert.ok(first.messages.length <= host.transcript.length && first.messages !== host.transcript);
    const again = await engine.assemble({ ...params, messages: first.messages });
    assert.deepEqual(again.messages, first.messages);
    assert.equal(again.estimatedTokens, first.estimatedTokens);
  });

  test("after an overflow the next request is smaller, once; then the host compacts", async () => {
    // A refusal of less than was accepted is doubted: this is the largest request so far.
    const host = await Host.after(10);
    const engine = host.engine();
    const params = { ...host.who, tokenBudget: WINDOW };
    const before = await engine.assemble({ ...params, messages: host.transcript });
    const recovery = { ...params, ...OVERFLOW };
    const { ok, compacted, result } = await engine.compact(recovery);
    const told = { ok: true, compacted: true, result: { tokensBefore: before.estimatedTokens } };
    assert.deepEqual({ ok, compacted, result }, told);
    const after = await engine.assemble({ ...params, messages: host.transcript });
    assert.ok(after.estimatedTokens <= before.estimatedTokens * 0.8);
    assert.deepEqual(validate(after.messages), []);
    // The host's own compaction is a module that only the host has.
    for (const other of [recovery, { ...params, compactionTarget: "threshold" }])
      await assert.rejects(engine.compact(other), { code: "ERR_MODULE_NOT_FOUND" });
    await engine.commitTurn({ advancementKey: "answered", messages: [], ...params });
    // An overflow whose size the host knows.
    const excess = { tokenBudget: WINDOW, currentTokenCount: WINDOW + 8_000 };
    assert.equal((await engine.compact({ ...recovery, ...excess })).compacted, true);
    const least = await engine.assemble({ ...params, messages: host.transcript });
    assert.ok(least.estimatedTokens <= after.estimatedTokens - 8_000);
  });

  test("an overflow limits its own turn: later the history grows to the budget again", async () => {
    const sizes = [];
    for (const hasOverflow of [false, true]) {
      const host = await Host.after(4);
      const params = { ...host.who, tokenBudget: WINDOW, currentTokenCount: WINDOW + 1 };
      if (hasOverflow) assert.ok((await host.engine().compact({ ...params, ...OVERFLOW })).compacted);
      for (let turn = 0; turn < 12; turn += 1) await host.turn(`question ${turn}`, 3);
      sizes.push(host.requests.at(-1).size);
    }
    assert.ok(sizes[1] > sizes[0] * 0.8, `${sizes}`);
  });

  test("parts of an unknown type stay, also in an edited result", async () => {
    const engine = new Host().engine();
    const widget = { type: "widget", markup: "hello ".repeat(900) };
    const lines = Array.from({ length: 2_000 }, (_, line) => `${line}: ${"abcd ".repeat(9)}`).join("\n");
    const messages = [
      { role: "user", content: "look", timestamp: 1 },
      answer([{ type: "toolCall", id: "1", name: "exec", arguments: {} }], { timestamp: 2 }),
      { ...result("1"), content: [{ type: "text", text: lines }, widget, null], timestamp: 3 },
      answer([{ type: "text", text: "a widget" }], { timestamp: 4 }),
    ];
    const asked = { sessionId: "a", messages, tokenBudget: WINDOW, prompt: "and now?" };
    const { messages: edited } = await engine.assemble(asked);
    const [{ text }, ...odd] = edited[2].content;
    assert.ok(text.length < lines.length);
    assert.deepEqual(odd, [widget, null]);
  });

  test("a list of another shape comes back as it is, with a warning in the host's log", async () => {
    const host = new Host();
    const messages = [{ role: "user", parts: [{ text: "hi" }] }];
    const assembled = await host.engine().assemble({ sessionId: "s", messages, tokenBudget: 8_000 });
    assert.equal(assembled.messages, messages);
    assert.match(host.warnings.join(), /^pi-strata: a message has field "parts", so the list is not pi's/);
  });
});

test("the manifest's schema has every option that JSON can say, and no other", () => {
  const perCall = ["contextWindow", "onEvent", "protect", "warmedAt", "coldAt", "recall"];
  const options = Object.keys(contract.hookOptions).filter((name) => !perCall.includes(name));
  assert.deepEqual(Object.keys(manifest.configSchema.properties).toSorted(), options.toSorted());
  const own = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  assert.ok(own.files.includes("openclaw.plugin.json"));
  assert.ok(own.openclaw.extensions.every((file) => existsSync(join(ROOT, file))));
  assert.deepEqual([plugin.id, plugin.kind], [manifest.id, manifest.kind]);
});

test("OpenClaw loads the plugin, sends what it assembles, and compacts when it is told to", {
  timeout: 600_000,
}, async (t) => {
  const openclaw = fileURLToPath(new URL("./openclaw/node_modules/openclaw/openclaw.mjs", import.meta.url));
  if (!existsSync(openclaw)) return t.skip("npm run install:nested brings OpenClaw");
  const folder = mkdtempSync(join(tmpdir(), "strata-openclaw-"));
  const server = await scriptedServer("openai", {
    steps: 5,
    tool: (n) => ({ name: "read", arguments: { path: join(folder, `work/${n % 9}.txt`) } }),
    say: answerOf,
  });
  stage(folder, server.url, await freePort());
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    OPENCLAW_STATE_DIR: join(folder, "state"),
    OPENCLAW_CONFIG_PATH: join(folder, "openclaw.json"),
    OPENCLAW_GATEWAY_TOKEN: TOKEN,
  };
  const gateway = spawn(nodeBinary("node24"), [openclaw, "gateway", "run"], { env, cwd: folder });
  t.after(async () => {
    gateway.kill("SIGKILL");
    if (gateway.exitCode === null && gateway.signalCode === null) await once(gateway, "exit");
    server.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  });
  await readiness(gateway);
  const run = async (...args) => {
    const options = { env, cwd: folder, timeout: 180_000 };
    return (await promisify(execFile)(nodeBinary("node24"), [openclaw, ...args], options)).stdout;
  };
  const ask = async (turn) => {
    server.begin();
    assert.match(
      await run("agent", "--session-id", "s1", "--message", `turn ${turn}: read the files`),
      /done/,
    );
  };
  for (const turn of [1, 2, 3]) await ask(turn);
  assert.deepEqual(server.problems, []);
  const results = ({ body }) =>
    body.messages.filter(({ role }) => role === "tool").map(({ content }) => JSON.stringify(content).length);
  const last = results(server.requests.at(-1));
  const whole = 15 * Math.max(...last);
  const size = last.reduce((sum, length) => sum + length, 0);
  assert.ok(size < whole * 0.8, `old results were cut: ${last}`);
  assert.ok(Math.max(...server.requests.map(({ tokens }) => tokens)) < 64_000);

  const { compacted } = JSON.parse(await run("sessions", "compact", "agent:main:explicit:s1", "--json"));
  assert.equal(compacted, true);
  await ask(4);
  const first = server.requests.at(-6);
  const [, summary] = first.body.messages;
  assert.match(JSON.stringify(summary), /<summary>.*## Decisions/);
  assert.match(JSON.stringify(first.body.messages), /turn 4/);
  assert.ok(results(first).length < 15, "the host's own compaction took the oldest");
  assert.deepEqual(server.problems, []);
});

const TOKEN = "token";

/** The answer of the scripted model: to OpenClaw's summariser each section that it asks for. */
function answerOf({ messages }) {
  const asked = JSON.stringify(messages);
  if (!asked.includes("context summarization assistant")) return "done";
  const sections = [...new Set(asked.match(/##+ [^\\"]+/g))];
  return sections.map((section) => `${section}\nnone`).join("\n\n");
}

/** Resolves when a gateway takes calls. */
async function readiness({ stdout, stderr }) {
  let log = "";
  await new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no gateway: ${log}`)), 240_000);
    for (const stream of [stdout, stderr])
      stream.on("data", (data) => {
        log += data;
        if (!/\[gateway\] ready/.test(log)) return;
        clearTimeout(timer);
        resolve();
      });
  });
}

/** The package as it is published, a workspace and a configuration with a scripted model. */
function stage(folder, baseUrl, port) {
  const own = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  const target = join(folder, "pi-strata");
  mkdirSync(join(folder, "work"), { recursive: true });
  for (const name of own.files.filter((file) => !file.includes("*") && existsSync(join(ROOT, file)))) {
    cpSync(join(ROOT, name), join(target, name), { recursive: true });
  }
  const addon = `pi-strata.${process.platform}-${process.arch}${process.platform === "linux" ? "-gnu" : ""}.node`;
  cpSync(join(ROOT, addon), join(target, addon));
  writeFileSync(
    join(target, "package.json"),
    JSON.stringify({ ...own, dependencies: {}, optionalDependencies: {} }),
  );
  for (let n = 0; n < 9; n += 1) {
    const text = Array.from({ length: 200 }, (_, i) => `file ${n} line ${i} value ${i * 7}`).join("\n");
    writeFileSync(join(folder, `work/${n}.txt`), text);
  }
  const config = table("openclaw.json", { baseUrl, token: TOKEN, work: join(folder, "work"), target });
  config.gateway.port = port;
  writeFileSync(join(folder, "openclaw.json"), JSON.stringify(config));
}
