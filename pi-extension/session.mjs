// One session of pi: its state, its hook, and the answers to pi's events.

import strata from "../index.js";
import { whole } from "../lib/cli/numbers.mjs";
import { OWN_TYPE } from "../lib/cli/recording/pi.mjs";
import { withAnswerRoom } from "../lib/hook/answer_room.js";
import { reserveIn } from "../lib/hook/options.js";
import { isNeedless, seeAsSent, sentOf } from "./compaction.mjs";
import { roomOf, termsOf } from "./model.mjs";
import { statusLine } from "./panel.mjs";
import { pathProtection } from "./paths.mjs";
import { recordOf } from "./record.mjs";
import { errorColumns, wrapped } from "./screen.mjs";
import { OTHER_DEFAULTS, readSettings } from "./settings.mjs";
import { current, paysToLetCool } from "./warming.mjs";

/** The key of our part of the status line. */
const STATUS_KEY = "pi-strata";
/** Protocol of pi's virtual models, which route each request to another model. */
const VIRTUAL_API = "pi-virtual";
/** The tool's line in pi's system prompt. */
const RECALL_SNIPPET =
  "Read back the original of a tool result that was shortened, by the handle in its marker line";

export class Session {
  /** The latest request. */
  #last = { messages: [], sent: [] };
  /** Its tokens; 0 if unknown. */
  #tokens = 0;
  /** Tokens of failed requests, by the timestamp of the error. */
  #refused = new Map();
  /** Time of the prompt that pi has not sent yet, in ms. */
  #promptedAt = 0;
  /** Time of the cut that the next request makes, in ms. */
  #cutAt;
  #saidDead = false;
  isPaused = false;
  calls = { count: 0, tokensSaved: 0 };
  /** The hook's events about cache misses. */
  misses = [];
  /** Number of compactions by pi that were declined. */
  declined = 0;

  /** `given` are the options in code; they override the user's settings. */
  constructor(given, pi, ctx) {
    this.pi = pi;
    this.given = given;
    this.settings = readSettings(ctx.cwd, { isTrusted: ctx.isProjectTrusted?.() !== false });
    const { enabled, protectPaths = [], ...settings } = this.settings.values;
    const { onEvent, contextWindow, protect, ...chosen } = { ...OTHER_DEFAULTS, ...settings, ...given };
    const isProtected = pathProtection(protectPaths, ctx.cwd);
    // The tool reads by the markers' handles; pi's session file holds every original.
    const tool = strata.createRecallTool(() => [...this.record.messages(), ...this.#last.messages]);
    if (chosen.recall === true) pi.registerTool?.({ ...tool, promptSnippet: RECALL_SNIPPET });
    // `pi --tools` may leave the tool out.
    if (pi.getActiveTools?.().includes(tool.name) === false) chosen.recall = false;
    this.options = {
      contextWindow: () => Math.min(current(contextWindow) ?? this.terms.catalogued, this.terms.limit),
      takesImages: () => !this.terms.isBlind,
      cache: () => this.terms.cache,
      maxPromptTokens: () => this.terms.maxPromptTokens,
      warmedAt: () => this.times.warmedAt,
      coldAt: () => this.times.coldAt,
      ...chosen,
      protect: (message) => isProtected(message) || protect?.(message) === true,
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
    if (enabled === false) this.pause(true);
  }

  /** Reads what pi reports of its session and its model now. */
  take(ctx) {
    this.ctx = ctx;
    this.record = recordOf(ctx.sessionManager);
    this.times = this.record.cacheTimes();
    this.model = this.#physicalModel();
    // Older pi leaves refusals in the list, where the hook learns from them.
    const sent = this.record.hasProjection ? this.#tokens : 0;
    const limit = this.record.limit(this.model, this.#refused, sent);
    const { compaction, blocksImages } = this.settings;
    this.terms = termsOf(this.model, compaction, { limit, blocksImages });
  }

  /** The model in use. A virtual model of pi has no limits and no prices: the model that answered last has. */
  #physicalModel() {
    const { model, modelRegistry } = this.ctx;
    if (model?.api !== VIRTUAL_API) return model;
    const answers = this.record.messages().filter(({ role }) => role === "assistant");
    const last = answers.findLast(({ api }) => api !== VIRTUAL_API);
    return (last && modelRegistry?.find(last.provider, last.model)) ?? model;
  }

  /**
   * Returns the messages to send instead of these. If pi also passes the list with system messages, edits only that one: pi
   * merges system messages if the list without them changes, and the provider's cache misses.
   */
  async transform({ type, messages }) {
    if (type === "context" && this.record.hasProjection) return undefined;
    this.#promptedAt = 0;
    const { count } = this.calls;
    const sent = await this.hook(messages, this.ctx.signal);
    this.#last = { messages, sent };
    if (this.calls.count === count) return { messages: sent };
    if (this.#cutAt !== undefined) {
      const text = await this.#cutText(messages, this.#cutAt);
      this.#cutAt = undefined;
      this.tell(`pi-strata: ${text}`);
    }
    return { messages: this.#withAnswerRoom(sent) };
  }

  /** The messages with which pi leaves the answer what the hook keeps free, and asks no smaller server for more. */
  #withAnswerRoom(sent) {
    const { catalogued } = this.terms;
    const limit = this.terms.limit < catalogued ? this.terms.limit : undefined;
    const [tokens, reserve] = [this.#tokens, this.#reserve];
    return withAnswerRoom(sent, { contextWindow: catalogued, tokens, reserve, limit });
  }

  #note(event) {
    const { type, code, tokensBefore, tokensAfter } = event;
    if (type === "transformed" || type === "failed") this.show(statusLine(event));
    if (type === "cacheMiss") this.misses.push(event);
    if (type === "transformed") {
      this.#tokens = tokensAfter;
      this.calls.count += 1;
      this.calls.tokensSaved += Math.max(0, tokensBefore - tokensAfter);
    }
    if (code !== "ERR_NATIVE_UNAVAILABLE" || this.#saidDead) return;
    this.#saidDead = true;
    const { error, hint } = strata.status();
    this.tell(`pi-strata is off, the context is sent whole: ${error}. ${hint}`, "warning");
  }

  /** A dry run of the hook over these messages, with some options changed. */
  explain(messages, changed) {
    return strata.explain(messages, { ...this.options, ...changed });
  }

  /** The latest request, `{ messages, sent }`; after a restart, the next one as planned. Both are empty without a conversation. */
  async latest() {
    const next = this.#last.messages.length === 0 ? this.record.context() : [];
    if (next.length === 0) return this.#last;
    const plan = strata.createTransformContext({ ...this.options, onEvent() {} });
    this.#last = { messages: next, sent: await plan(next), isPlanned: true };
    return this.#last;
  }

  /** The messages of the next request: these, and a question unless the agent is at work. */
  #next(messages = this.record.context()) {
    const end = this.#isAtWork ? { role: "custom", customType: OWN_TYPE, display: false } : { role: "user" };
    return [...messages, { ...end, content: ".", timestamp: Date.now() }];
  }

  get #isAtWork() {
    return this.ctx.isIdle?.() === false;
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

  /** True if the next request has room, although pi, which measures the uncut list, sees none. */
  async #fits() {
    const isOurs = this.options.overflow !== "keep" && strata.status().native;
    return isOurs && (await this.explain(this.#next())).tokensAfter <= this.#room();
  }

  /** Tokens that a request leaves free for the answer. */
  get #reserve() {
    return reserveIn(this.options.contextWindow(), this.options.reserveTokens);
  }

  /** Most tokens of a request. */
  #room() {
    return roomOf(this.terms, this.options.contextWindow(), this.#reserve);
  }

  async beforeTree({ preparation }) {
    seeAsSent(preparation, sentOf(await this.latest()));
  }

  /** Lets the cache go cold if a batch on the cold cache is worth more than the cache. */
  async warming(event) {
    const { messages } = this.#last;
    const isCheaper = await paysToLetCool(event, messages, this.#next(messages), this.options);
    return isCheaper ? { action: "stop" } : undefined;
  }

  pause(isPaused) {
    this.isPaused = isPaused;
    // Requests that pass by the hook have sizes that it does not know.
    this.#tokens = 0;
    this.show(isPaused ? "strata paused" : undefined);
  }

  /** A warning if the unedited list does not fit; else undefined. */
  async wholeWarning() {
    const { tokensBefore } = await this.explain(this.#next());
    const room = this.#room();
    if (tokensBefore <= room) return undefined;
    return `Unedited, the conversation has about ${whole(tokensBefore)} tokens, but there is room for ${whole(room)}: pi compacts it, or the provider refuses it.`;
  }

  /**
   * Has the next request cut as on a cold cache, and returns a sentence on the effect. The time is in the session file, so
   * that a restarted process decides the same.
   */
  async cut() {
    const cutAt = Date.now();
    this.pi.appendEntry?.(OWN_TYPE, { cutAt });
    this.take(this.ctx);
    const text = await this.#cutText(this.#next(), cutAt);
    this.#cutAt = cutAt;
    return `The next request is cut as on a cold cache. ${text}`;
  }

  /** Compares the request of these messages with the cut at `cutAt` and without it. */
  async #cutText(messages, cutAt) {
    const others = this.times.coldAt.filter((time) => time !== cutAt);
    const { tokensAfter: uncut } = await this.explain(messages, { coldAt: others });
    const { tokensAfter } = await this.explain(messages, { coldAt: [...others, cutAt] });
    const saved = Math.round(uncut - tokensAfter);
    const when = this.#isAtWork ? " before the end of the turn" : "";
    if (saved <= 0)
      return `There is nothing to cut${when}: the request needs all of its ${whole(tokensAfter)} tokens.`;
    return `${whole(saved)} tokens are cut: the request holds about ${whole(tokensAfter)} instead of ${whole(uncut)}.`;
  }

  show(text) {
    if (this.ctx.hasUI) this.ctx.ui.setStatus(STATUS_KEY, text);
  }

  /** Shows a notice; without a screen on standard error, as standard output belongs to the answer. */
  tell(text, kind = "info") {
    if (this.ctx.hasUI) this.ctx.ui.notify(text, kind);
    else process.stderr.write(`${wrapped(text, errorColumns()).join("\n")}\n`);
  }
}
