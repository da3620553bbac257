// One session of pi: its hook, and the state behind the status line, the command and pi's own summaries.

import strata from "../index.js";
import { times, whole } from "../lib/cli/numbers.mjs";
import { cacheTimesOf } from "../lib/cli/recording/pi.mjs";
import { ledger } from "../lib/tools/ledger.js";
import { compactBy, contextEdits, isNeedless, seeAsSent, sentOf } from "./compaction.mjs";
import { cutsOf } from "./cuts.mjs";
import { roomOf, termsOf } from "./model.mjs";
import { panelText, problemText, statusText } from "./panel.mjs";
import { Record } from "./record.mjs";
import { errorColumns, wrapped } from "./screen.mjs";
import { ProtectedPaths, readSettings } from "./settings.mjs";
import { paysToLetCool } from "./warming.mjs";

/** The key of our part of the status line. */
const STATUS_KEY = "pi-strata";
/** The tool's line in pi's system prompt. */
const RECALL_SNIPPET =
  "Read back the original of a tool result that was shortened, by the handle in its marker line";

export class Session {
  #given;
  #registerTool;
  #hasRecall = false;
  #settings = { options: {}, own: {}, sources: {}, compaction: {}, problems: [] };
  #options;
  #hook;
  #terms = termsOf();
  #record = new Record();
  #times = cacheTimesOf([]);
  /** Limits that endpoints named, by model. */
  #learned = new Map();
  #protected;
  #outcome;
  #last;
  #calls = { count: 0, tokensSaved: 0 };
  #declined = 0;
  #promptedAt = 0;
  #cutAskedAt;
  #isPaused = false;
  #saidDead = false;
  #ctx;

  constructor(given, registerTool) {
    this.#given = given;
    this.#registerTool = registerTool;
  }

  /** Reads the settings anew: another session may be in another folder. */
  start(ctx) {
    this.#settings = readSettings(ctx.cwd, { isTrusted: ctx.isProjectTrusted?.() !== false });
    const { options, own, problems } = this.#settings;
    this.#isPaused = own.enabled === false;
    this.#last = undefined;
    this.#calls = { count: 0, tokensSaved: 0 };
    this.#declined = 0;
    this.#cutAskedAt = undefined;
    this.#protected = new ProtectedPaths(own.protectPaths ?? [], ctx.cwd);
    this.take(ctx);
    this.#makeHook({ ...options, ...this.#given });
    for (const problem of problems) this.tell(ctx, `pi-strata: ${problem}`, "warning");
    if (this.#isPaused) this.show(ctx, "strata paused");
  }

  /** Reads what pi reports of its session and its model now. */
  take(ctx) {
    this.#ctx = ctx;
    this.#record = new Record(ctx);
    this.#terms = this.#learnedTerms(ctx.model);
    this.#times = this.#record.cacheTimes();
  }

  /** The model's terms, within the limit that its endpoint named in a refusal. */
  #learnedTerms(model) {
    const terms = termsOf(model, this.#settings.compaction);
    const learned = this.#learned.get(`${model?.provider}/${model?.id}`);
    if (!(learned < terms.contextWindow)) return terms;
    const note = `The server refused a request and named its limit: ${whole(learned)} tokens instead of ${whole(terms.contextWindow)}.`;
    return { ...terms, contextWindow: learned, isLearned: true, notes: [...terms.notes, note] };
  }

  #makeHook(options) {
    const protect = (message) => this.#protected.has(message) || options.protect?.(message) === true;
    this.#options = {
      contextWindow: () => this.#terms.contextWindow,
      cache: () => this.#terms.cache,
      maxPromptTokens: () => this.#terms.maxPromptTokens,
      warmedAt: () => this.#times.warmedAt,
      coldAt: () => this.#times.coldAt,
      ...options,
      ...((options.protect || this.#settings.own.protectPaths) && { protect }),
    };
    this.#hook = strata.createTransformContext({
      ...this.#options,
      onEvent: (event) => {
        const { type, provider, model, contextWindow } = event;
        if (type === "transformed" || type === "failed") this.#outcome = event;
        if (type === "contextWindowLearned") this.#learned.set(`${provider}/${model}`, contextWindow);
        return options.onEvent?.(event);
      },
    });
    this.#offerRecall();
  }

  /** Registers the recall tool, which reads by the markers' handles; the session file holds every original. */
  #offerRecall() {
    if (this.#options.recall !== true || this.#hasRecall) return;
    const held = () => [...this.#record.messages(), ...(this.#last?.messages ?? [])];
    this.#registerTool?.({ ...strata.createRecallTool(held), promptSnippet: RECALL_SNIPPET });
    this.#hasRecall = true;
  }

  /** Returns the messages to send instead of these; undefined while paused. */
  async transform(messages, ctx) {
    if (this.#hook === undefined) this.start(ctx);
    if (this.#isPaused) return undefined;
    this.take(ctx);
    this.#promptedAt = 0;
    this.#protected.learn(messages);
    this.#outcome = undefined;
    const sent = await this.#hook(messages, ctx.signal);
    this.#last = { messages, sent };
    await this.#note(ctx);
    return sent;
  }

  async #note(ctx) {
    if (this.#outcome === undefined) return;
    this.show(ctx, statusLine(this.#outcome));
    const { type, code, tokensBefore, tokensAfter } = this.#outcome;
    if (type === "transformed") {
      this.#calls.count += 1;
      this.#calls.tokensSaved += Math.max(0, tokensBefore - tokensAfter);
      if (this.#cutAskedAt !== undefined) {
        const text = await this.#cutText(this.#last.messages, this.#cutAskedAt);
        this.#cutAskedAt = undefined;
        this.tell(ctx, `pi-strata: ${text}`, "info");
      }
    } else if (code === "ERR_NATIVE_UNAVAILABLE" && !this.#saidDead) {
      this.#saidDead = true;
      const { error, hint } = strata.status();
      this.tell(ctx, `pi-strata is off, the context is sent whole: ${error}. ${hint}`, "warning");
    }
  }

  /** The sentence behind `/strata now`: the request of these messages with the cut at `time` and without it. */
  async #cutText(messages, time) {
    const others = this.#times.coldAt.filter((other) => other !== time);
    const { tokensAfter: uncut } = await this.#explain(messages, { coldAt: () => others });
    const { tokensAfter } = await this.#explain(messages, { coldAt: () => [...others, time] });
    const saved = Math.round(uncut - tokensAfter);
    if (saved <= 0)
      return `There is nothing to cut: the request needs all of its ${whole(tokensAfter)} tokens.`;
    return `${whole(saved)} tokens are cut: the request holds about ${whole(tokensAfter)} instead of ${whole(uncut)}.`;
  }

  /** The list of the next request, with a question at its end; undefined if this pi does not hand it over. */
  #nextMessages() {
    const messages = this.#record.context();
    this.#protected.learn(messages ?? []);
    return messages && [...messages, { role: "user", content: ".", timestamp: Date.now() }];
  }

  #explain(messages, changed) {
    return strata.explain(messages, { ...this.#options, onEvent: undefined, ...changed });
  }

  /** The latest request; after a restart, the next one as planned. Undefined without a conversation. */
  async #latest() {
    if (this.#last !== undefined || this.#hook === undefined) return this.#last;
    const messages = structuredClone(this.#record.context() ?? []);
    if (messages.length === 0) return undefined;
    this.#protected.learn(messages);
    this.#last = { messages, sent: await this.#hook(messages), isPlanned: true };
    return this.#last;
  }

  async #seen() {
    return sentOf((await this.#latest()) ?? { messages: [], sent: [] });
  }

  /** Notes that the user entered a prompt: before it is sent, pi checks if it has to compact. */
  prompted() {
    this.#promptedAt = Date.now();
  }

  /**
   * Declines a needless compaction by pi: the request fits without it. Any other one summarises what the model saw, not the
   * uncut list, with the model that the user named, if any.
   */
  async beforeCompact(event, ctx) {
    if (this.#isPaused) return undefined;
    this.take(ctx);
    if (isNeedless(event, { promptedAt: this.#promptedAt, isIdle: ctx.isIdle?.() }) && (await this.#fits())) {
      this.#declined += 1;
      return { cancel: true };
    }
    seeAsSent(event.preparation, await this.#seen());
    const { compactionModel } = this.#settings.own;
    if (compactionModel === undefined) return undefined;
    try {
      return { compaction: await compactBy(compactionModel, event, ctx) };
    } catch (error) {
      this.tell(ctx, `pi-strata: ${error.message}; pi compacts by its own model`, "warning");
      return undefined;
    }
  }

  /** True if the next request has room where pi, which measures the uncut list, sees none. */
  async #fits() {
    if (this.#options.overflow === "keep" || !strata.status().native) return false;
    const next = this.#nextMessages();
    return next !== undefined && (await this.#explain(next)).tokensAfter <= this.#room();
  }

  /** Most tokens of a request: up to pi's trigger, or up to the window if the trigger is declined. */
  #room() {
    const { compactsAbove, declines } = this.#terms;
    const room = roomOf(this.#window(), this.#options.reserveTokens);
    return declines || compactsAbove === undefined ? room : Math.min(room, compactsAbove);
  }

  #window() {
    const { contextWindow } = this.#options;
    return (
      (typeof contextWindow === "function" ? contextWindow() : contextWindow) ?? this.#terms.contextWindow
    );
  }

  async beforeTree({ preparation }, ctx) {
    if (this.#isPaused) return;
    this.take(ctx);
    seeAsSent(preparation, await this.#seen());
  }

  /** Lets the cache go cold if a batch on the cold cache is worth more than the cache. */
  async warming(event, ctx) {
    if (this.#isPaused || this.#last === undefined) return undefined;
    this.take(ctx);
    const isCheaper = await paysToLetCool(event, this.#last, this.#options);
    return isCheaper ? { action: "stop" } : undefined;
  }

  /** Writes the edits into the session file if the user wants that, so that footer, forks and a restart see them. */
  persist({ entries = [], context }) {
    if (this.#isPaused || this.#settings.own.persistEdits !== true || this.#last === undefined)
      return undefined;
    const drafts = contextEdits(context?.contextEntries, sentOf(this.#last));
    return drafts.length === 0 ? undefined : { entries: [...entries, ...drafts] };
  }

  pause(isPaused) {
    this.#isPaused = isPaused;
    this.show(this.#ctx, isPaused ? "strata paused" : undefined);
  }

  /** A warning that the whole list has no room; undefined if it has, or if there is no list. */
  async wholeWarning() {
    const next = this.#nextMessages();
    const tokens = next && (await this.#explain(next)).tokensBefore;
    const room = this.#room();
    if (!(tokens > room)) return undefined;
    return `Whole, the conversation is about ${whole(tokens)} tokens, more than the ${whole(room)} there is room for: pi compacts it, or the provider refuses it.`;
  }

  /** Has the next request cut as on a cold cache; returns the sentence that says what that changes. */
  async cut(time) {
    this.#times.coldAt.push(time);
    this.#cutAskedAt = time;
    const next = this.#nextMessages();
    const told = "The next request is cut as on a cold cache.";
    return next === undefined ? told : `${told} ${await this.#cutText(next, time)}`;
  }

  /** The edits of the latest request; undefined before there is a conversation. */
  async cuts() {
    const latest = await this.#latest();
    return latest && cutsOf(latest.messages, await this.#explain(latest.messages), sentOf(latest));
  }

  async panel() {
    const { problems } = this.#settings;
    const latest = await this.#latest();
    if (latest === undefined)
      return ["pi-strata has seen no request of this session yet.", ...problems.map(problemText)].join("\n");
    return panelText(latest, await this.#explain(latest.messages), {
      contextWindow: this.#window(),
      isPaused: this.#isPaused,
      calls: this.#calls,
      notes: [...this.#terms.notes, ...this.#declining()],
      dollars: this.#record.dollars(),
      bill: await ledger(latest.messages, { ...this.#options, onEvent: undefined }),
      warmed: this.#times.warmedAt,
      problems,
    });
  }

  #declining() {
    const { compactsAbove, declines } = this.#terms;
    if (!declines && this.#declined === 0) return [];
    const why = declines ? ", less than half of the window" : "";
    return [
      `pi would compact above ${whole(Math.max(0, compactsAbove))} tokens${why}. pi-strata declines that while requests fit: ${times(this.#declined)} so far.`,
    ];
  }

  status() {
    return statusText({
      isPaused: this.#isPaused,
      settings: this.#settings,
      given: this.#given,
      terms: this.#terms,
      times: this.#times,
    });
  }

  show(ctx, text) {
    if (ctx?.hasUI) ctx.ui.setStatus(STATUS_KEY, text);
  }

  /** Shows a notice; without a screen on standard error, as standard output belongs to the answer. */
  tell(ctx, text, kind) {
    if (ctx.hasUI) ctx.ui.notify(text, kind);
    else process.stderr.write(`${wrapped(text, errorColumns()).join("\n")}\n`);
  }
}

/** The effect of a call, in a few characters: `strata 142k → 61k`. */
export function statusLine({ type, code, tokensBefore, tokensAfter }) {
  if (type === "failed") return `strata off: ${code}`;
  const [before, after] = [thousands(tokensBefore), thousands(tokensAfter)];
  return tokensAfter < tokensBefore && before !== after ? `strata ${before} → ${after}` : `strata ${after}`;
}

function thousands(tokens) {
  return tokens < 1000 ? String(Math.round(tokens)) : `${Math.round(tokens / 1000)}k`;
}
