// A host with the events and the data of pi 1.5, written from its published types: for the versions that cannot be
// installed. It keeps a session file's entries, bills as pi's catalogue says, and keeps its prompt cache warm as pi does.

import { countTokens } from "../../index.js";
import { table } from "./tables.mjs";

/** Entries of pi-ai 1.5.2's catalogue; a cost is in dollars for a million tokens. */
export const MODELS = table("catalogue.json");

/** What pi's providers count beside the messages, and for each token of cl100k_base. */
const OVERHEAD_TOKENS = 8_000;
const SCALE = 1.27;
const MESSAGE_TOKENS = 4;
const ANSWER_TOKENS = 200;
/** As pi: a refresh at nine tenths of the entry's life, for an hour while tools run and half an hour while idle. */
const TTL_MS = 300_000;
const REFRESH_MS = 270_000;
const MAX_AGE_MS = { streaming: 3_600_000, idle: 1_800_000 };
const IDLE_CHANCE = 0.15;
const LEAST_SAVED_DOLLARS = 0.05;

/** The cost of usage: pi's own rule. */
function costOf(model, usage) {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  let [rates, passed] = [model.cost, -1];
  for (const tier of model.cost.tiers ?? []) {
    if (prompt > tier.inputTokensAbove && tier.inputTokensAbove > passed)
      [rates, passed] = [tier, tier.inputTokensAbove];
  }
  const cost = Object.fromEntries(
    ["input", "output", "cacheRead", "cacheWrite"].map((name) => [name, (rates[name] * usage[name]) / 1e6]),
  );
  return { ...cost, total: cost.input + cost.output + cost.cacheRead + cost.cacheWrite };
}

export class FakePi {
  model;
  entries = [];
  statuses = [];
  notices = [];
  /** One of each request: `{ prompt, cost, isWarm, at }`. */
  calls = [];
  warmings = 0;
  warmDollars = 0;
  /** False while the agent is at work. */
  isIdle = true;
  #handlers = new Map();
  #command;
  #cached = { pieces: [], usedAt: Number.NEGATIVE_INFINITY };
  #sizes = new Map();
  /** Compactions that were carried out. */
  compactions = 0;
  #isSilent;
  #overheadTokens;
  #isStale = false;
  #reader;
  #time = 0;

  constructor(
    extension,
    { model, cwd = "/nowhere", isSilent = false, overheadTokens = OVERHEAD_TOKENS } = {},
  ) {
    this.model = model;
    this.cwd = cwd;
    this.#isSilent = isSilent;
    this.#overheadTokens = overheadTokens;
    extension?.({
      on: (event, handler) => void this.#handlers.set(event, handler),
      registerCommand: (_name, command) => {
        this.#command = command;
      },
      registerTool() {},
      appendEntry: (customType, data) => this.#append({ type: "custom", customType, data }),
    });
  }

  /** The context of a handler; every use throws once the session was replaced, as in pi. */
  get ctx() {
    const given = {
      cwd: this.cwd,
      hasUI: true,
      mode: "tui",
      model: this.model,
      modelRegistry: {
        find: (provider, id) =>
          Object.values(MODELS).find((model) => model.provider === provider && model.id === id),
      },
      isIdle: () => this.isIdle,
      sessionManager: {
        getEntries: () => this.entries.slice(),
        getBranch: () => this.entries.slice(),
        buildSessionContext: () => ({ messages: this.messages }),
      },
      ui: {
        setStatus: (_key, text) => this.statuses.push(text),
        notify: (text, kind) => this.notices.push([kind, text]),
        custom: (factory) =>
          new Promise((done) => this.#open(factory, done)).finally(() => {
            this.#reader = undefined;
          }),
      },
    };
    return new Proxy(given, {
      get: (target, name) => {
        if (this.#isStale)
          throw new Error("This extension ctx is stale after session replacement or reload.");
        return target[name];
      },
    });
  }

  replaceSession() {
    this.#isStale = true;
  }

  /** A component in a terminal of 80 columns and 24 rows. */
  async #open(factory, done) {
    const keys = { matches: (data, name) => `tui.select.${data}` === name };
    const theme = { fg: (_color, text) => text };
    const component = await factory({ terminal: { rows: 24 }, requestRender: () => {} }, theme, keys, done);
    this.#reader = { lines: () => component.render(80), press: (key) => component.handleInput(key) };
  }

  /** The component that is open, once it is. */
  async reader() {
    for (let tries = 0; this.#reader === undefined && tries < 400; tries += 1)
      await new Promise((resolve) => setTimeout(resolve, 5));
    return this.#reader;
  }

  emit(event, data = {}) {
    return this.#handlers.get(event)?.({ type: event, ...data }, this.ctx);
  }

  start() {
    return this.emit("session_start", { reason: "startup" });
  }

  /** What the user is told by a command. */
  async command(text) {
    const before = this.notices.length;
    await this.#command.handler(text, this.ctx);
    return this.notices
      .slice(before)
      .map(([, told]) => told)
      .join("\n");
  }

  get messages() {
    return this.entries.filter(({ type }) => type === "message").map(({ message }) => message);
  }

  add(message) {
    this.#time = message.timestamp ?? this.#time;
    this.#append({ type: "message", message });
  }

  /** Compacts, unless the extension declines; only counted, the list stays. */
  async compact(reason) {
    const preparation = { messagesToSummarize: this.messages };
    const given = { preparation, branchEntries: this.entries, reason };
    const answer = await this.emit("session_before_compact", given);
    if (answer?.cancel !== true) this.compactions += 1;
  }

  /** One request over what was added so far: sent, cached and billed; the answer is entered. */
  async call(answer) {
    const messages = structuredClone(this.messages);
    const edited = (await this.emit("context", { messages }))?.messages ?? messages;
    const pieces = edited.map((message) => JSON.stringify([message.role, message.content]));
    const at = this.#time;
    const isWarm = at - this.#cached.usedAt <= TTL_MS;
    const same = isWarm ? pieces.findIndex((piece, i) => piece !== this.#cached.pieces[i]) : 0;
    const sizes = edited.map((message, i) => this.#tokens(message, pieces[i]));
    const prompt = this.#overheadTokens + sum(sizes);
    const held = same === -1 ? pieces.length : same;
    const cacheRead =
      isWarm && this.#cached.pieces.length > 0 ? this.#overheadTokens + sum(sizes.slice(0, held)) : 0;
    this.#cached = { pieces, usedAt: at };
    const writes = this.model.cost.cacheWrite > 0;
    const usage = {
      input: writes ? 0 : prompt - cacheRead,
      output: ANSWER_TOKENS,
      cacheRead,
      cacheWrite: writes ? prompt - cacheRead : 0,
      totalTokens: prompt + ANSWER_TOKENS,
    };
    if (this.#isSilent) Object.assign(usage, { input: prompt, cacheRead: 0, cacheWrite: 0 });
    usage.cost = costOf(this.model, usage);
    const { id, provider, api } = this.model;
    this.calls.push({ prompt, cost: usage.cost.total, isWarm, at });
    this.add({ stopReason: "toolUse", ...answer, api, provider, model: id, usage });
  }

  /** Keeps the cache of the last request warm until `until`, as pi 1.5 does while tools run or nobody speaks. */
  async warmUntil(until, phase, setClock) {
    const last = this.calls.at(-1);
    if (last === undefined) return;
    const { cost } = this.model;
    for (let at = last.at + REFRESH_MS; at < until && at <= last.at + MAX_AGE_MS[phase]; at += REFRESH_MS) {
      const warmCost = (cost.cacheRead * last.prompt) / 1e6;
      const missCost = ((Math.max(cost.cacheWrite, cost.input) - cost.cacheRead) * last.prompt) / 1e6;
      const continuationProbability = phase === "idle" ? IDLE_CHANCE : 1;
      const pays = continuationProbability * missCost - warmCost >= LEAST_SAVED_DOLLARS;
      setClock(at);
      this.isIdle = phase === "idle";
      const event = { warmCost, missCost, continuationProbability, action: pays ? "warm" : "stop" };
      const { action } = (await this.emit("cache_warming_decision", event)) ?? event;
      this.isIdle = true;
      if (action === "stop") return;
      this.#cached.usedAt = at;
      this.warmings += 1;
      this.warmDollars += warmCost;
      this.warm(at, warmCost);
    }
  }

  /** The entry of a refresh. */
  warm(at, total, { provider, id } = this.model) {
    const usage = { input: 0, output: 1, cacheRead: 1, cacheWrite: 0, cost: { total } };
    this.#append({ type: "usage", kind: "cache_warm", provider, model: id, usage }, at);
  }

  get dollars() {
    return sum(this.calls.map(({ cost }) => cost)) + this.warmDollars;
  }

  #append(entry, at = this.#time) {
    const parentId = this.entries.at(-1)?.id ?? null;
    this.entries.push({
      ...entry,
      id: String(this.entries.length),
      parentId,
      timestamp: new Date(at).toISOString(),
    });
  }

  #tokens(message, piece) {
    if (!this.#sizes.has(piece))
      this.#sizes.set(
        piece,
        MESSAGE_TOKENS + Math.ceil(SCALE * countTokens({ ...message, usage: undefined })),
      );
    return this.#sizes.get(piece);
  }
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
