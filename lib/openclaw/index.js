// `pi-strata/openclaw`: a context engine plugin for OpenClaw, whose messages are pi's. The host makes an engine for each
// operation, so the state of a session lives outside the engines, by session key.
"use strict";

const { Hook } = require("../hook/hook.js");
const { getContextWindow } = require("../hook/options.js");
const { OVERFLOW } = require("../hook/refusals.js");
const { isAnswer } = require("../hook/values.js");
const { handler } = require("../options.js");
const { Shapes } = require("../shapes/index.js");
const { pi } = require("../shapes/shapes.js");
const { countTokensAsync } = require("../tools/count.js");

const id = "pi-strata";
const name = id;
const description =
  "Keeps the context small: exact counts, edits that spare the prompt cache, pairs never split";
const kind = "context-engine";
/** Most sessions whose hooks are kept; the latest stay. */
const MOST_SESSIONS = 512;
/** Most models of a session whose hooks are kept; the latest stay. */
const MOST_MODELS = 8;
/** Most keys of accepted turns that are kept. A retry of one is a duplicate. */
const MOST_TURNS = 4096;
/** Triggers of the host's own compactions: the provider refused, or the next request is too long by the host's count. */
const SHRUNK_FOR = new Set(["overflow", "budget"]);
/** Types of events for the host's log. */
const LOGGED = new Set(["contextOverflow", "failed", "unknownShape", "optionFailed"]);

/** The shape of answers that lose their usage. Blocks of an unknown type are read as their JSON. */
const withoutUsage = {
  read: (message) => pi.read(message).map((answer) => ({ ...answer, usage: undefined })),
  write: pi.write,
};

/** The answer that tells the hook of an overflow. Without a number it makes the next request a fifth smaller. */
function refusalOf(list, excess) {
  const { api, provider, model } = list.findLast(isAnswer) ?? {};
  const isKnown = excess > 1;
  const errorMessage = isKnown ? `prompt is too long: tokens exceed the limit by ${excess}` : OVERFLOW;
  return { role: "assistant", api, provider, model, content: [], stopReason: "error", errorMessage };
}

/** The hook of one session on one model. */
class Session {
  #hook;
  #shapes = new Shapes((message) => {
    if (this.#unasked.has(message)) return withoutUsage;
    return pi.isMarked(message) ? pi : undefined;
  });
  /** The question of the next turn. The host appends it to the messages. */
  #question = { role: "user", content: "" };
  /**
   * Answers to calls made without the engine: the host calls it once a turn, so only the first answer of a turn reports a
   * request of this engine.
   */
  #unasked = new WeakSet();
  /** Tokens for the messages before the question. */
  #window;
  #questionTokens = 0;
  /** Most tokens of a whole request. It includes the tools, which the host's budget ignores. Undefined if the host states none. */
  #most;
  /** Overflows so far, `{ at, answer }`: the length of the refused list and the answer that stands behind it for the hook. */
  #refusals = [];
  /** Tokens over the limit if the host reported an overflow since the last answered turn; 1 for an unknown number. */
  #excess;
  /** True if the next list is the refused one. */
  #isRefused = false;
  /** Number of answered turns with an overflow. Each lowers the window by 1, so that the hook forgets the refusal. */
  #overflows = 0;
  #tokens = 0;

  constructor(config, logger) {
    const options = {
      marker: "auto",
      // The host's budget excludes its reserve, its prompt and the question.
      reserveTokens: 0,
      ...config,
      contextWindow: () => this.#window,
      excludedTokens: () => (this.#most === undefined ? undefined : this.#questionTokens),
      maxPromptTokens: () => Math.min(config.maxPromptTokens ?? Infinity, this.#most ?? Infinity),
      onEvent: (event) => {
        if (event.type === "transformed") this.#tokens = event.tokensAfter;
        const isKnown = event.type === "contextOverflow" && this.#excess !== undefined;
        if (LOGGED.has(event.type) && !isKnown)
          logger?.warn?.(`${id}: ${event.message ?? JSON.stringify(event)}`);
      },
    };
    this.#hook = new Hook(id, options, { excludedTokens: [undefined, handler] });
  }

  /** Makes a request. `window` is the context window of the model, if the host told it. */
  async assemble(
    messages,
    window,
    { tokenBudget: budget = getContextWindow(), prompt = "", runtimeSettings },
  ) {
    const reserve = runtimeSettings?.limits?.maxOutputTokens ?? 0;
    this.#most = window > reserve ? window - reserve : undefined;
    // The hook forgets refusals under another window. The question of a second try is another one, and so is its budget.
    if (!this.#isRefused) this.#window = Math.max(1, budget - this.#overflows);
    if (prompt !== this.#question.content) this.#question = { role: "user", content: prompt };
    this.#questionTokens = await countTokensAsync(prompt).catch(() => 0);
    for (const [at, message] of messages.entries())
      if (message?.usage !== undefined && messages[at - 1]?.role !== "user") this.#unasked.add(message);
    const sent = await this.#shapes.edited(messages, async (list) => {
      if (this.#isRefused) this.#refusals.push({ at: list.length, answer: refusalOf(list, this.#excess) });
      this.#isRefused = false;
      this.#refusals = this.#refusals.filter(({ at }) => at <= list.length);
      const whole = [...list, this.#question];
      for (const { at, answer } of this.#refusals.toReversed()) whole.splice(at, 0, answer);
      const edited = await this.#hook.transform(whole);
      const answers = this.#refusals.map(({ answer }) => answer);
      return edited.slice(0, -1).filter((message) => !answers.includes(message));
    });
    return { messages: sent, estimatedTokens: Math.round(this.#tokens) };
  }

  /**
   * Makes the next request smaller after an overflow, once a turn: the host tries again with what the turn added. Returns the
   * size of the last request; undefined if a smaller one was refused, too.
   */
  refuse({ tokenBudget = Number.POSITIVE_INFINITY, currentTokenCount = 0 }) {
    if (this.#excess !== undefined) return undefined;
    this.#excess = Math.max(1, Math.round(currentTokenCount - tokenBudget));
    this.#isRefused = true;
    return Math.round(this.#tokens);
  }

  /** Records that a turn was answered. The next overflow is a new one. */
  answered() {
    if (this.#excess !== undefined) this.#overflows += 1;
    this.#excess = undefined;
  }
}

function register(api) {
  const sessions = new Map();
  const turns = new Map();
  const windows = new Map();
  const keyOf = ({ sessionKey, sessionId }) => sessionKey ?? sessionId;
  // A batch for a small window stays, so each model has its own hook. The latest is last.
  const sessionOf = ({ model, ...params }) => {
    const models = sessions.get(keyOf(params)) ?? new Map();
    const session = models.get(model) ?? new Session(api.pluginConfig ?? {}, api.logger);
    keep(sessions, keyOf(params), models);
    keep(models, model, session, MOST_MODELS);
    return session;
  };
  const known = (params) => [...(sessions.get(keyOf(params))?.values() ?? [])];
  const answered = (params) => {
    for (const session of known(params)) session.answered();
  };

  const engine = {
    info: {
      id,
      name,
      // The host calls the engine once a turn and does not show what the turn adds, so its own checks must stay on.
      ownsCompaction: false,
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
    },
    // The host calls it before each `assemble` with messages.
    async bootstrap(params) {
      keep(windows, keyOf(params), params.runtimeContext?.tokenBudget);
      return { bootstrapped: false };
    },
    // The host stores the transcript.
    ingest: async () => ({ ingested: false }),
    ingestBatch: async () => ({ ingestedCount: 0 }),
    afterTurn: async (params) => answered(params),
    async commitTurn(params) {
      if (turns.has(params.advancementKey)) return { status: "duplicate" };
      keep(turns, params.advancementKey, true, MOST_TURNS);
      answered(params);
      return { status: "committed" };
    },
    assemble: ({ messages, ...params }) =>
      sessionOf(params).assemble(messages, windows.get(keyOf(params)), params),
    async compact(params) {
      const isOverflow = SHRUNK_FOR.has(params.runtimeContext?.trigger);
      const tokensBefore = isOverflow ? known(params).at(-1)?.refuse(params) : undefined;
      if (tokensBefore !== undefined) return { ok: true, compacted: true, result: { tokensBefore } };
      const { delegateCompactionToRuntime } = await import("openclaw/plugin-sdk/core");
      const compacted = await delegateCompactionToRuntime(params);
      if (compacted.compacted) sessions.delete(keyOf(params));
      return compacted;
    },
    onSubagentEnded: async ({ childSessionKey }) => void sessions.delete(childSessionKey),
  };
  api.registerContextEngine(id, () => engine);
  api.on?.("session_end", (event, context) => void sessions.delete(context?.sessionKey ?? event?.sessionKey));
}

/** Sets an entry as the latest. Drops the oldest one beyond `most`. */
function keep(entries, key, value, most = MOST_SESSIONS) {
  entries.delete(key);
  entries.set(key, value);
  if (entries.size > most) entries.delete(entries.keys().next().value);
}

// Each value is a name, or an ES module would not see the export.
module.exports = { id, name, description, kind, register };
