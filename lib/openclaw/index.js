// `pi-strata/openclaw`: a context engine plugin for OpenClaw, whose messages are pi's. The host makes an engine for each
// operation, so the state of a session lives outside the engines, by session key.
"use strict";

const { createTransformContext } = require("../hook/hook.js");
const { getContextWindow } = require("../hook/options.js");
const { Shapes } = require("../shapes/index.js");
const { pi } = require("../shapes/shapes.js");

const ID = "pi-strata";
const DESCRIPTION =
  "Keeps the context small: exact counts, edits that spare the prompt cache, pairs never split";
const KIND = "context-engine";
/** Most sessions whose hooks are kept; the latest stay. */
const MOST_SESSIONS = 512;
/** Most keys of accepted turns that are kept. A retry of one is a duplicate. */
const MOST_TURNS = 4096;
/** Size of the request after an overflow, as a share of the refused one. */
const AFTER_OVERFLOW = 0.8;
/** Triggers of the host's own compactions: the provider refused, or the next request is too long by the host's count. */
const SHRUNK_FOR = new Set(["overflow", "budget"]);
/** Types of events for the host's log. */
const LOGGED = new Set(["contextOverflow", "failed", "unknownShape", "optionFailed"]);

/** The shape of answers that lose their usage. Blocks of an unknown type are read as their JSON. */
const withoutUsage = {
  read: (message) => pi.read(message).map((answer) => ({ ...answer, usage: undefined })),
  write: pi.write,
};

/** The hook of one session and of the subagents forked from it. */
class Session {
  #transform;
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
  #budget;
  /** Largest request after an overflow, in tokens, until a turn is answered: what overflowed may have been that turn alone. */
  #limit = Number.POSITIVE_INFINITY;
  /** The list of the last request, in pi's shape. */
  #last;
  #tokens = 0;

  constructor(config, logger) {
    this.#transform = createTransformContext({
      marker: "auto",
      // The host's budget excludes its reserve and its prompt.
      reserveTokens: 0,
      ...config,
      contextWindow: () => Math.max(1, Math.min(this.#budget ?? getContextWindow(config), this.#limit)),
      onEvent: (event) => {
        if (event.type === "transformed") this.#tokens = event.tokensAfter;
        if (LOGGED.has(event.type)) logger?.warn?.(`${ID}: ${event.message ?? JSON.stringify(event)}`);
      },
    });
  }

  async assemble(messages, budget, prompt = "") {
    this.#budget = budget;
    if (prompt !== this.#question.content) this.#question = { role: "user", content: prompt };
    for (const [at, message] of messages.entries())
      if (message?.usage !== undefined && messages[at - 1]?.role !== "user") this.#unasked.add(message);
    const sent = await this.#shapes.edited(messages, async (list) => {
      const whole = [...list, this.#question];
      this.#last = whole;
      const edited = await this.#transform(whole);
      return edited === whole ? list : edited.slice(0, -1);
    });
    return { messages: sent, estimatedTokens: Math.round(this.#tokens) };
  }

  /** Makes room after an overflow, once. Resolves with undefined if edits cannot help, or did not. */
  async shrink({ tokenBudget, currentTokenCount }) {
    if (this.#last === undefined || this.#limit < Number.POSITIVE_INFINITY) return undefined;
    const before = this.#tokens;
    const excess = (currentTokenCount ?? 0) - (tokenBudget ?? Number.POSITIVE_INFINITY);
    const limit = Math.min(before * AFTER_OVERFLOW, before - excess);
    if (!(limit > 0)) return undefined;
    this.#limit = limit;
    await this.#transform(this.#last);
    if (this.#tokens <= limit)
      return { tokensBefore: Math.round(before), tokensAfter: Math.round(this.#tokens) };
    this.#limit = Number.POSITIVE_INFINITY;
    return undefined;
  }

  /** Records that a turn was answered. The next overflow is a new one. */
  answered() {
    this.#limit = Number.POSITIVE_INFINITY;
  }
}

function register(api) {
  const sessions = new Map();
  const turns = new Map();
  const sessionOf = ({ sessionKey, sessionId }) => {
    const key = sessionKey ?? sessionId;
    const session = sessions.get(key) ?? new Session(api.pluginConfig ?? {}, api.logger);
    keep(sessions, key, session);
    return session;
  };
  const answered = ({ sessionKey, sessionId }) => sessions.get(sessionKey ?? sessionId)?.answered();

  const engine = {
    info: {
      id: ID,
      name: ID,
      // The host calls the engine once a turn and does not show what the turn adds, so its own checks must stay on.
      ownsCompaction: false,
      transcriptSemantics: {
        currentTurnFence: "before-current-turn-entry-v1",
        turnAdvancementIdempotency: "atomic-idempotent-v1",
      },
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
    assemble: ({ messages, tokenBudget, prompt, ...params }) =>
      sessionOf(params).assemble(messages, tokenBudget, prompt),
    async compact(params) {
      const result = SHRUNK_FOR.has(params.runtimeContext?.trigger)
        ? await sessionOf(params).shrink(params)
        : undefined;
      if (result !== undefined) return { ok: true, compacted: true, result };
      const { delegateCompactionToRuntime } = await import("openclaw/plugin-sdk/core");
      const compacted = await delegateCompactionToRuntime(params);
      if (compacted.compacted) sessions.delete(params.sessionKey ?? params.sessionId);
      return compacted;
    },
    async prepareSubagentSpawn({ parentSessionKey, childSessionKey, contextMode }) {
      const parent = sessions.get(parentSessionKey);
      if (contextMode !== "fork" || parent === undefined) return undefined;
      keep(sessions, childSessionKey, parent);
      return { rollback: () => void sessions.delete(childSessionKey) };
    },
    onSubagentEnded: async ({ childSessionKey }) => void sessions.delete(childSessionKey),
  };
  api.registerContextEngine(ID, () => engine);
  api.on?.("session_end", (event, context) => void sessions.delete(context?.sessionKey ?? event?.sessionKey));
}

/** Sets an entry as the latest. Drops the oldest one beyond `most`. */
function keep(entries, key, value, most = MOST_SESSIONS) {
  entries.delete(key);
  entries.set(key, value);
  if (entries.size > most) entries.delete(entries.keys().next().value);
}

// Each value is a name, or an ES module would not see the export.
module.exports = {
  id: ID,
  name: ID,
  description: DESCRIPTION,
  kind: KIND,
  register,
};
