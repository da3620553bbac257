// Real agents against a server that refuses, as providers do, an orphan or late or missing result and thinking that is
// missing or was changed: they go back, they are stopped in the hook and change results, and they follow one another.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createTransformContext } from "../index.js";
import { piAis, piVersions } from "./pi/versions.mjs";
import { forEachPi } from "./support/each-pi.mjs";
import { result } from "./support/messages.mjs";
import { scriptedServer } from "./support/scripted-server.mjs";
import { dice } from "./support/transcripts.mjs";

const NEWEST = new URL(
  "coding-agent/node_modules/pi-coding-agent-1.6/node_modules/@earendil-works/",
  import.meta.url,
);
const LOADERS = {
  "0.73.1": [piVersions["0.73.1"], piAis["0.73.1"]],
  "0.74.2": [piVersions["0.74.2"], piAis["0.74.2"]],
  "1.6.0": [
    () => import(new URL("pi-agent-core/dist/index.js", NEWEST)),
    () => import(new URL("pi-ai/dist/compat.js", NEWEST)),
  ],
};

/** Models that think: one of Anthropic's, one that binds thinking to all before it, one over OpenAI's protocol. */
const MODELS = [
  { kind: "anthropic", api: "anthropic-messages", provider: "anthropic", id: "claude-sonnet-4-5" },
  { kind: "anthropic", api: "anthropic-messages", provider: "anthropic", id: "claude-opus-5-5" },
  { kind: "openai", api: "openai-completions", provider: "deepseek", id: "deepseek-reasoner" },
];
/** Small, so that the hook edits most requests. */
const OPTIONS = { contextWindow: 16_000, reserveTokens: 2_000 };
/** Requests of a play. */
const STEPS = 16;

const callsOf = ({ role, content }) =>
  role === "assistant" ? content.flatMap(({ type, id }) => (type === "toolCall" ? [id] : [])) : [];

/** An app with agents on one hook and one server. */
class App {
  #load;
  #model;
  #server;
  #roll;
  #hook;
  #isStopped = false;
  #agent;
  edits = 0;

  static async open(t, version, model, schedule, seed) {
    const app = new App();
    const [loadCore, loadAi] = LOADERS[version];
    app.#load = { ...(await loadCore()), streamSimple: (await loadAi()).streamSimple };
    app.#roll = dice(seed);
    app.#server = await scriptedServer(model.kind, { refuses: true, answer: (n) => app.#answer(n) });
    t.after(() => app.#server.close());
    app.#model = {
      ...model,
      name: model.id,
      baseUrl: model.kind === "openai" ? app.#server.url : app.#server.root,
      reasoning: true,
      input: ["text"],
      cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
      contextWindow: OPTIONS.contextWindow,
      maxTokens: 4_000,
    };
    app.#hook = createTransformContext({ ...OPTIONS, schedule, onEvent: (event) => app.#note(event) });
    return app;
  }

  get refusals() {
    return this.#server.problems;
  }

  get requests() {
    return this.#server.requests.length;
  }

  #note({ type, messagesBefore, messagesAfter, tokensBefore, tokensAfter }) {
    if (type !== "transformed") return;
    if (messagesAfter < messagesBefore || tokensAfter < tokensBefore) this.edits += 1;
  }

  /** Thinks and calls, one or several at once, and ends each turn after a few steps. */
  #answer(n) {
    const thinking = `Step ${n}. ${this.#text(4)}`;
    if (n % 9 === 0) return { thinking, text: "That is done." };
    const calls = Array.from({ length: 1 + (n % 3) }, (_, i) => ({
      id: `call_${3 * n + i}`,
      name: "read",
      arguments: { path: `src/file${this.#roll(40)}.ts` },
    }));
    return { thinking, text: n % 2 === 0 ? "I look." : "", calls };
  }

  #text(most) {
    const line = () => `line ${this.#roll(999)} of file ${this.#roll(99)}: value ${this.#roll(9999)}`;
    return Array.from({ length: 1 + this.#roll(most) }, line).join("\n");
  }

  /** A new agent, whose calls are numbered from the first on. */
  begin() {
    const { Agent, streamSimple } = this.#load;
    const read = {
      name: "read",
      label: "read",
      description: "Reads a file.",
      parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
      execute: async () => ({ content: [{ type: "text", text: this.#text(120) }], details: {} }),
    };
    this.#server.begin();
    this.#agent = new Agent({
      initialState: {
        systemPrompt: "You are careful.",
        model: this.#model,
        tools: [read],
        thinkingLevel: "medium",
      },
      getApiKey: () => "none",
      streamFn: (model, context, options) => streamSimple(model, context, { ...options, maxRetries: 0 }),
      transformContext: (messages, signal) => this.#transform(messages, signal),
    });
  }

  async #transform(messages, signal) {
    const pending = this.#hook(messages, signal);
    if (this.#isStopped) {
      this.#isStopped = false;
      for (let i = this.#roll(40); i > 0; i -= 1) await null;
      this.#agent.abort();
    }
    return pending;
  }

  /** The user asks, and the agent works to the end of its turn. */
  ask() {
    return this.#agent.prompt(`Please look at this:\n${this.#text(8)}`);
  }

  /** The user asks, and presses Esc while the hook runs. */
  async askAndStop() {
    this.#isStopped = true;
    await this.ask();
    assert.equal(this.#agent.state.messages.at(-1).stopReason, "aborted");
  }

  /** Clears an old result or edits a newer one, in the list or in place of it. */
  editResult() {
    const list = this.#agent.state.messages.slice();
    const results = list.flatMap(({ role }, at) => (role === "toolResult" ? [at] : []));
    const at = results[this.#roll(results.length)];
    list[at] = { ...list[at], content: [{ type: "text", text: this.#text(3) }] };
    this.#agent.state.messages = list;
  }

  /** Goes back to a place and on from there, with other results for calls that are open there. */
  async goBack() {
    const list = this.#agent.state.messages;
    const first = list.findIndex(({ role }) => role === "user");
    const kept = list.slice(0, first + 1 + this.#roll(list.length - first));
    const at = kept.findLastIndex(({ role }) => role === "assistant");
    const answered = new Set(kept.slice(at + 1).map(({ toolCallId }) => toolCallId));
    for (const id of at < 0 ? [] : callsOf(kept[at]).filter((id) => !answered.has(id)))
      kept.push(result(id, this.#text(120), { timestamp: Date.now() }));
    this.#agent.state.messages = kept;
    if (kept.at(-1).role === "assistant") return this.ask();
    return this.#agent.continue();
  }

  /** Acts until so many more requests were made. */
  async untilRequests(count, act) {
    const end = this.requests + count;
    while (this.requests < end && this.refusals.length === 0) await act();
  }
}

const PLAYS = {
  "goes back and on with other results": async (app) => {
    app.begin();
    for (let i = 0; i < 2; i += 1) await app.ask();
    await app.untilRequests(STEPS, () => app.goBack());
  },
  "is stopped in the hook, then results are edited": async (app) => {
    app.begin();
    await app.ask();
    await app.untilRequests(STEPS, async () => {
      await app.askAndStop();
      app.editResult();
      await app.ask();
    });
  },
  "follows another with the same ids": async (app) => {
    await app.untilRequests(2 * STEPS, async () => {
      app.begin();
      for (let i = 0; i < 2; i += 1) await app.ask();
    });
  },
};

function suite(version) {
  describe(`An agent of pi ${version}`, () => {
    for (const model of MODELS) {
      for (const [at, [what, play]] of Object.entries(PLAYS).entries()) {
        test(`with ${model.id} ${what}: no request is refused`, async (t) => {
          for (const schedule of ["sticky", "everyCall"]) {
            const app = await App.open(t, version, model, schedule, at + 1);
            await play(app);
            assert.deepEqual(app.refusals, [], schedule);
            assert.ok(app.edits >= STEPS / 2, `${app.edits} of ${app.requests} requests edited`);
          }
        });
      }
    }
  });
}

await forEachPi(suite, Object.keys(LOADERS));
