// One session of pi: its state, its hook, and the answers to pi's events.

import strata from "../index.js";
import { whole } from "../lib/cli/numbers.mjs";
import { cacheTimesOf, OWN_TYPE } from "../lib/cli/recording/pi.mjs";
import { printable, screenColumns, wrapped } from "../lib/cli/terminal.mjs";
import { isNeedless, seeAsSent, sentOf } from "./compaction.mjs";
import { roomOf, termsOf } from "./model.mjs";
import { statusLine } from "./panel.mjs";
import { OTHER_DEFAULTS, readSettings } from "./settings.mjs";
import { current, paysToLetCool } from "./warming.mjs";

/** The key of our part of the status line. */
const STATUS_KEY = "pi-strata";
/** The tool's line in pi's system prompt. */
const RECALL_SNIPPET =
  "Read back the original of a tool result that was shortened, by the handle in its marker line";

export class Session {
  /** The latest request. */
  #last = { messages: [], sent: [] };
  /** Limits that servers named in refusals, by model. */
  #learned = new Map();
  /** Time of the prompt that pi has not sent yet, in ms. */
  #promptedAt = 0;
  isPaused = false;
  /** Number of compactions by pi that were declined. */
  declined = 0;

  /** `given` are the options in code; they override the user's settings. */
  constructor(given, pi, ctx) {
    this.pi = pi;
    this.given = given;
    this.settings = readSettings(ctx.cwd, ctx.isProjectTrusted?.() !== false);
    const { enabled, ...settings } = this.settings.values;
    const { onEvent, contextWindow, ...chosen } = { ...OTHER_DEFAULTS, ...settings, ...given };
    this.options = {
      contextWindow: () => current(contextWindow) ?? this.terms.contextWindow,
      cache: () => this.terms.cache,
      maxPromptTokens: () => this.terms.maxPromptTokens,
      warmedAt: () => this.times.warmedAt,
      coldAt: () => this.times.coldAt,
      ...chosen,
    };
    this.hook = strata.createTransformContext({
      ...this.options,
      onEvent: (event) => {
        this.#note(event);
        return onEvent?.(event);
      },
    });
    this.take(ctx);
    for (const problem of this.settings.problems) this.tell(`pi-strata: ${problem}`, "warning");
    const recall = strata.createRecallTool(() => this.#originals());
    if (chosen.recall === true) pi.registerTool?.({ ...recall, promptSnippet: RECALL_SNIPPET });
    if (enabled === false) this.pause(true);
    const { native, error, hint } = strata.status();
    if (!native) this.tell(`pi-strata is off, the context is sent whole: ${error}. ${hint}`, "warning");
  }

  /** Reads what pi reports of its session and its model now. */
  take(ctx) {
    this.ctx = ctx;
    this.times = cacheTimesOf(ctx.sessionManager.getBranch());
    const limit = this.#learned.get(`${ctx.model?.provider}/${ctx.model?.id}`);
    this.terms = termsOf(ctx.model, this.settings.compaction, limit);
  }

  /** Answers with the messages to send instead of these. */
  async transform({ messages }) {
    this.#promptedAt = 0;
    const sent = await this.hook(messages, this.ctx.signal);
    this.#last = { messages, sent };
    return { messages: sent };
  }

  #note(event) {
    const { type, provider, model, contextWindow } = event;
    if (type === "contextWindowLearned") this.#learned.set(`${provider}/${model}`, contextWindow);
    if (type === "transformed" || type === "failed") this.show(statusLine(event));
  }

  /** A dry run of the hook over these messages. */
  explain(messages) {
    return strata.explain(messages, this.options);
  }

  /** The latest request, `{ messages, sent }`; after a restart, the next one as planned. Both are empty without a conversation. */
  async latest() {
    const next = this.#last.messages.length === 0 ? this.#context() : [];
    if (next.length === 0) return this.#last;
    const plan = strata.createTransformContext({ ...this.options, onEvent() {} });
    this.#last = { messages: next, sent: await plan(next), isPlanned: true };
    return this.#last;
  }

  /** Every message of the session file, those of other branches and from before a compaction too. */
  #originals() {
    const messages = this.ctx.sessionManager.getEntries().map(({ message }) => message);
    return [...messages.filter(Boolean), ...this.#last.messages];
  }

  /** The list of the next request without system messages; empty if pi does not hand it over. */
  #context() {
    const { sessionManager } = this.ctx;
    const built = sessionManager.buildSessionProjection?.() ?? sessionManager.buildSessionContext?.();
    return built?.messages.filter(({ role }) => role !== "system") ?? [];
  }

  /** The messages of the next request, with a question at their end. */
  #next() {
    return [...this.#context(), { role: "user", content: ".", timestamp: Date.now() }];
  }

  /** pi checks if it has to compact after the user entered a prompt and before it is sent. */
  prompted() {
    this.#promptedAt = Date.now();
  }

  /**
   * Declines a needless compaction by pi: the request fits without it. Any other one summarises what the model saw, not the
   * uncut list.
   */
  async beforeCompact(event) {
    const state = { promptedAt: this.#promptedAt, isIdle: this.ctx.isIdle?.() };
    if (isNeedless(event, state) && (await this.#fits())) {
      this.declined += 1;
      return { cancel: true };
    }
    seeAsSent(event.preparation, sentOf(await this.latest()));
    return undefined;
  }

  /** True if the next request has room where pi, which measures the uncut list, sees none. */
  async #fits() {
    const isOurs = this.options.overflow !== "keep" && strata.status().native;
    return isOurs && (await this.explain(this.#next())).tokensAfter <= this.#room();
  }

  /** The model's window in tokens. */
  window() {
    return current(this.options.contextWindow);
  }

  /** Most tokens of a request. */
  #room() {
    return roomOf(this.terms, this.window(), this.options.reserveTokens);
  }

  async beforeTree({ preparation }) {
    seeAsSent(preparation, sentOf(await this.latest()));
  }

  /** Lets the cache go cold if a batch on the cold cache is worth more than the cache. */
  async warming(event) {
    const isCheaper = await paysToLetCool(event, this.#last.messages, this.options);
    return isCheaper ? { action: "stop" } : undefined;
  }

  pause(isPaused) {
    this.isPaused = isPaused;
    this.show(isPaused ? "strata paused" : undefined);
  }

  /** A warning that the whole list has no room; undefined if it has. */
  async wholeWarning() {
    const { tokensBefore } = await this.explain(this.#next());
    const room = this.#room();
    if (tokensBefore <= room) return undefined;
    return `Whole, the conversation is about ${whole(tokensBefore)} tokens, more than the ${whole(room)} there is room for: pi compacts it, or the provider refuses it.`;
  }

  /**
   * Has the next request cut as on a cold cache, and returns a sentence that says what that changes. The time stands in the
   * session file, so that a restarted process decides the same.
   */
  async cut() {
    const cutAt = Date.now();
    const messages = this.#next();
    const { tokensAfter: uncut } = await this.explain(messages);
    this.pi.appendEntry?.(OWN_TYPE, { cutAt });
    this.take(this.ctx);
    const { tokensAfter } = await this.explain(messages);
    const saved = Math.round(uncut - tokensAfter);
    if (saved <= 0)
      return `There is nothing to cut: the next request needs all of its ${whole(tokensAfter)} tokens.`;
    return `The next request is cut as on a cold cache. ${whole(saved)} tokens are cut: it holds about ${whole(tokensAfter)} instead of ${whole(uncut)}.`;
  }

  show(text) {
    if (this.ctx.hasUI) this.ctx.ui.setStatus(STATUS_KEY, text);
  }

  /** Shows a notice; without a screen on standard error, as standard output belongs to the answer. */
  tell(text, kind = "info") {
    if (this.ctx.hasUI) this.ctx.ui.notify(text, kind);
    else {
      const lines = text.split("\n").flatMap((line) => wrapped(printable(line), screenColumns()));
      process.stderr.write(`${lines.join("\n")}\n`);
    }
  }
}
