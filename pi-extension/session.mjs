// One session of pi: its hook, and what is remembered for the status line, the command and pi's own summaries.

import strata from "../index.js";
import { cutsOf } from "./commands.mjs";
import { compactBy, contextEdits, seeAsSent, sentOf } from "./compaction.mjs";
import { termsOf } from "./model.mjs";
import { panelText } from "./panel.mjs";
import { Record } from "./record.mjs";
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
  #own = {};
  #options;
  #hook;
  #terms = termsOf();
  #record = new Record();
  #times = { warmed: [], cold: [] };
  #protected;
  #outcome;
  #last;
  #calls = { count: 0, tokensSaved: 0 };
  #problems = [];
  #isPaused = false;
  #saidDead = false;
  #ctx;

  constructor(given, registerTool) {
    this.#given = given;
    this.#registerTool = registerTool;
  }

  /** Reads the settings anew: another session may be in another folder. */
  start(ctx) {
    const { options, own, isEnabled, problems } = readSettings(ctx.cwd);
    this.#own = own;
    this.#isPaused = !isEnabled;
    this.#last = undefined;
    this.#calls = { count: 0, tokensSaved: 0 };
    this.#protected = new ProtectedPaths(own.protectPaths ?? [], ctx.cwd);
    this.take(ctx);
    try {
      this.#makeHook({ ...options, ...this.#given });
    } catch (error) {
      if (!(error instanceof TypeError)) throw error;
      problems.push(error.message);
      this.#makeHook({ marker: options.marker === "zh" ? "zh" : "en", ...this.#given });
    }
    this.#problems = problems;
    for (const problem of problems) this.tell(ctx, `pi-strata: ${problem}`, "warning");
    if (this.#isPaused) this.show(ctx, "strata paused");
  }

  /** Goes by what pi says of its session and its model now. */
  take(ctx) {
    this.#ctx = ctx;
    this.#record = new Record(ctx);
    this.#terms = termsOf(ctx.model);
    this.#times = this.#record.cacheTimes();
  }

  #makeHook(options) {
    const protect = (message) => this.#protected.has(message) || options.protect?.(message) === true;
    this.#options = {
      recall: true,
      contextWindow: () => this.#terms.contextWindow,
      cache: () => this.#terms.cache,
      maxPromptTokens: () => this.#terms.maxPromptTokens,
      warmedAt: () => this.#times.warmed,
      coldAt: () => this.#times.cold,
      ...options,
      ...((options.protect || this.#own.protectPaths) && { protect }),
    };
    this.#hook = strata.createTransformContext({
      ...this.#options,
      onEvent: (event) => {
        if (event.type === "transformed" || event.type === "failed") this.#outcome = event;
        return options.onEvent?.(event);
      },
    });
    this.#offerRecall();
  }

  /** The markers' handles are of use only with the tool that reads by them; the session file holds every original. */
  #offerRecall() {
    if (this.#options.recall !== true || this.#hasRecall) return;
    const held = () => [...this.#record.messages(), ...(this.#last?.messages ?? [])];
    this.#registerTool?.({ ...strata.createRecallTool(held), promptSnippet: RECALL_SNIPPET });
    this.#hasRecall = true;
  }

  /** The messages to be sent instead of these; undefined while paused. */
  async transform(messages, ctx) {
    if (this.#hook === undefined) this.start(ctx);
    if (this.#isPaused) return undefined;
    this.take(ctx);
    this.#protected.learn(messages);
    this.#outcome = undefined;
    const sent = await this.#hook(messages, ctx.signal);
    this.#last = { messages, sent };
    this.#note(ctx);
    return sent;
  }

  #note(ctx) {
    if (this.#outcome === undefined) return;
    this.show(ctx, statusLine(this.#outcome));
    const { type, code, tokensBefore, tokensAfter } = this.#outcome;
    if (type === "transformed") {
      this.#calls.count += 1;
      this.#calls.tokensSaved += Math.max(0, tokensBefore - tokensAfter);
    } else if (code === "ERR_NATIVE_UNAVAILABLE" && !this.#saidDead) {
      this.#saidDead = true;
      const { error, hint } = strata.status();
      this.tell(ctx, `pi-strata is off, the context is sent whole: ${error}. ${hint}`, "warning");
    }
  }

  /** The sent form of the list that pi goes on from; after a restart nothing was sent yet, so that is worked out. */
  async #seen() {
    if (this.#last === undefined && this.#hook !== undefined) {
      const messages = structuredClone(this.#record.context() ?? []);
      this.#protected.learn(messages);
      this.#last = { messages, sent: await this.#hook(messages) };
    }
    return sentOf(this.#last ?? { messages: [], sent: [] });
  }

  /** pi summarises what the model saw, not the uncut list; by another model if the user named one. */
  async beforeCompact(event, ctx) {
    if (this.#isPaused) return undefined;
    this.take(ctx);
    seeAsSent(event.preparation, await this.#seen());
    if (this.#own.compactionModel === undefined) return undefined;
    try {
      return { compaction: await compactBy(this.#own.compactionModel, event, ctx) };
    } catch (error) {
      this.tell(ctx, `pi-strata: ${error.message}; pi compacts by its own model`, "warning");
      return undefined;
    }
  }

  async beforeTree({ preparation }, ctx) {
    if (this.#isPaused) return;
    this.take(ctx);
    seeAsSent(preparation, await this.#seen());
  }

  /** The cache may go cold where a batch on the cold cache is worth more than the cache. */
  async warming(event, ctx) {
    if (this.#isPaused || this.#last === undefined) return undefined;
    this.take(ctx);
    const isCheaper = await paysToLetCool(event, this.#last, this.#options);
    return isCheaper ? { action: "stop" } : undefined;
  }

  /** Writes down what was edited, if the user wants that: footer, forks and a restart then see the same. */
  persist({ entries = [], context }) {
    if (this.#isPaused || this.#own.persistEdits !== true || this.#last === undefined) return undefined;
    const drafts = contextEdits(context?.contextEntries, sentOf(this.#last));
    return drafts.length === 0 ? undefined : { entries: [...entries, ...drafts] };
  }

  pause(isPaused) {
    this.#isPaused = isPaused;
    this.show(this.#ctx, isPaused ? "strata paused" : undefined);
  }

  cutAt(time) {
    this.#times.cold.push(time);
  }

  /** The edits of the last request; undefined before the first. */
  async cuts() {
    return this.#last && cutsOf(this.#last.messages, this.#dry(), sentOf(this.#last));
  }

  async panel() {
    const problems = this.#problems;
    if (this.#last === undefined) {
      const told = problems.map((problem) => `\nSettings: ${problem}; the default is used.`);
      return `pi-strata has seen no request of this session yet.${told.join("")}`;
    }
    const paused = this.#isPaused ? "pi-strata is paused; this is the last request it edited.\n" : "";
    const { warmed } = this.#times;
    const rest = {
      calls: this.#calls,
      note: this.#terms.note,
      dollars: this.#record.dollars(),
      warmed,
      problems,
    };
    return paused + (await panelText(this.#last, this.#dry(), rest));
  }

  #dry() {
    const { contextWindow } = this.#options;
    const window = () => (typeof contextWindow === "function" ? contextWindow() : contextWindow);
    return { ...this.#options, contextWindow: window, onEvent: undefined };
  }

  show(ctx, text) {
    if (ctx?.hasUI) ctx.ui.setStatus(STATUS_KEY, text);
  }

  /** Without a screen, standard output belongs to the answer. */
  tell(ctx, text, kind) {
    if (ctx.hasUI) ctx.ui.notify(text, kind);
    else process.stderr.write(`${text}\n`);
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
