// The transformContext hook: takes a snapshot of the array, has the native side read what is new and plan, applies
// the plan. Whatever goes wrong, it resolves with the very array it was given.
"use strict";

const { FactStore } = require("./fact-store.js");
const { native } = require("../native/native.js");
const {
  amount,
  askedWindow,
  checkHookOptions,
  completeCache,
  positive,
  record,
  times,
} = require("./options.js");
const { Plan } = require("./plan.js");
const { numberOf } = require("../tokens/ids.js");
const { encodingOfTranscript } = require("../tokens/transcript.js");
const { Reporter, scheduleOf } = require("./events.js");
const { markerOfTranscript } = require("./language.js");
const { keptLines } = require("./kept-lines.js");
const { checkedMarker, joinedText, protection } = require("./snapshot.js");

class InputError extends Error {
  code = "ERR_INVALID_INPUT";
}

function createTransformContext(options) {
  const hook = new Hook(new Layers(checkHookOptions("createTransformContext", options)));
  return (messages, signal) => hook.transform(messages, signal);
}

/**
 * What every hook has in common. Its policy says the rest: `options`, `createEngine(encoding, marker)`, and what the host is told
 * by `report`, `failed`, `windowUnknown` and `optionFailed`.
 */
class Hook {
  #policy;
  /** By encoding and language: the native engine, what it was told of messages, and its last plan. */
  #cores = new Map();

  /** The host's functions, each held to what it may answer. */
  #ownMarker;
  #protects;

  constructor(policy) {
    this.#policy = policy;
    const failed = (name) => (cause) => policy.optionFailed(name, cause);
    this.#ownMarker = checkedMarker(policy.options.marker, failed("marker"));
    this.#protects = protection(policy.options.protect, failed("protect"));
  }

  async transform(messages, signal) {
    try {
      if (signal?.aborted) return messages;
      const call = new Call(signal);
      try {
        const work = this.run(messages, call);
        await call.untilOverOrCancelled(work);
        return call.isCancelled ? messages : (await work).edited;
      } finally {
        call.end();
      }
    } catch (error) {
      this.#policy.failed(error);
      return messages;
    }
  }

  /**
   * The edited array and what was done, by message or with what was dropped side by side as one edit; undefined if the
   * call was cancelled. Rejects where `transform` reports.
   */
  async run(messages, call, isByMessage = false) {
    if (!Array.isArray(messages)) throw new InputError("messages must be an array");
    // The host pushes into the live array while this call waits.
    const list = messages.slice();
    const contextWindow = this.contextWindow();
    const { plan, read, core, isNew } = await this.planFor(list, contextWindow, call, isByMessage);
    if (call.isCancelled) return undefined;
    const { slots, facts } = read;
    // A message that the host changed since it was read stays: its edit would be about other content.
    const isAsRead = (i) => {
      const isFresh = facts[i]?.slot === slots[i] && !facts[i].isStale(list[i]);
      if (!isFresh) core.facts.distrust();
      return isFresh;
    };
    const texts = {
      shortened: (index) => shortenedBy(core.engine, facts[index]),
      ofLines: (index, ranges) => this.#linesOf(core.engine, list[index], facts[index], plan.id, ranges),
      image: () => core.engine.imageMarker(),
    };
    const edited = plan.apply(list, isAsRead, texts);
    const charsAfter = ({ index, ranges }) =>
      (ranges === undefined ? texts.shortened(index) : texts.ofLines(index, () => ranges)).length;
    core.facts.keep(list, read);
    // The plan of an unchanged transcript is the last one again: what it says of the last call was told.
    const miss = isNew ? plan.miss : undefined;
    const outcome = {
      list,
      edited: edited === list ? messages : edited,
      plan,
      contextWindow,
      charsAfter,
    };
    this.#policy.report({ ...outcome, miss }, call);
    return outcome;
  }

  /**
   * The core that counts as `list`'s model does and writes markers in its language, made when it is first needed:
   * importing the package and making a hook load nothing. What a message is in another encoding has to be counted anew.
   */
  #coreFor(list) {
    const { options } = this.#policy;
    const encoding = encodingOfTranscript(options.encoding, list);
    const marker = markerOfTranscript(options.marker, list);
    const key = `${encoding} ${typeof marker === "string" ? marker : ""}`;
    let core = this.#cores.get(key);
    if (core === undefined) {
      const engine = this.#policy.createEngine(encoding, marker);
      const facts = new FactStore(engine, options, this.#ownMarker, this.#protects);
      core = { engine, facts, plans: 0, lastPlan: undefined };
      this.#cores.set(key, core);
    }
    return core;
  }

  contextWindow() {
    const { contextWindow } = this.#policy.options;
    if (typeof contextWindow !== "function") return contextWindow;
    const { tokens, cause } = askedWindow(contextWindow);
    if (cause !== undefined) this.#policy.windowUnknown(tokens, cause);
    return tokens;
  }

  /**
   * What would be done to `list`, and why, with what it was read into; without a plan if `call` was cancelled. Messages
   * dropped side by side are one edit unless every message is to have its own.
   */
  async planFor(list, contextWindow, call, isByMessage = true) {
    const core = this.#coreFor(list);
    const number = core.facts.enter();
    try {
      const read = await core.facts.slotsOf(list, call);
      const { lastPlan } = core;
      const plan = call.isCancelled
        ? undefined
        : await this.#plan(core, read, contextWindow, call, isByMessage);
      if (isByMessage && plan !== undefined) core.facts.keep(list, read);
      return { read, plan, core, isNew: core.lastPlan !== lastPlan };
    } finally {
      core.facts.leave(number);
    }
  }

  /** Enters `list` into a native book as it would be sent; the calls before `from` are in it already. */
  async enterInto(book, list, from, call) {
    const { engine, facts } = this.#coreFor(list);
    const { options } = this.#policy;
    const number = facts.enter();
    try {
      const read = await facts.slotsOf(list, call);
      const terms = {
        contextWindow: this.contextWindow(),
        overheadTokens: this.#asked(options.overheadTokens, amount),
        maxPromptTokens: this.#asked(options.maxPromptTokens, positive),
        warmedAt: this.#asked(options.warmedAt, times),
        coldAt: this.#asked(options.coldAt, times),
      };
      await call.away(engine.enter(book, read.slots, from, terms, call.flag));
      facts.keep(list, read);
    } finally {
      facts.leave(number);
    }
  }

  /** The value of an option that may be a function; undefined where it throws or returns what `rule` does not accept. */
  #asked(option, rule) {
    if (typeof option !== "function") return option;
    try {
      const value = option();
      return rule.accepts(value) ? value : undefined;
    } catch {
      return undefined;
    }
  }

  /** What the host's function says of its cache now; undefined where it says nothing usable: then that is learned. */
  #askedCache() {
    const { cache } = this.#policy.options;
    return typeof cache === "function" ? completeCache(this.#asked(cache, record)) : undefined;
  }

  /** The same facts and the same answers of the host give the same plan: then the last one is used again. */
  async #plan(core, { slots, isUnchanged }, contextWindow, call, isByMessage) {
    const { readings } = core.facts;
    const { options } = this.#policy;
    const overheadTokens = this.#asked(options.overheadTokens, amount);
    const maxPromptTokens = this.#asked(options.maxPromptTokens, positive);
    const warmedAt = this.#asked(options.warmedAt, times);
    const coldAt = this.#asked(options.coldAt, times);
    const cache = this.#askedCache();
    const { buffer, length } = slots;
    const asked = {
      buffer,
      length,
      contextWindow,
      overheadTokens,
      maxPromptTokens,
      readings,
      isByMessage,
      warmed: warmedAt?.at(-1),
      cold: coldAt?.at(-1),
      ...cache,
    };
    if (isUnchanged && isEqual(asked, core.lastPlan?.asked)) {
      return new Plan(core.lastPlan.numbers, core.lastPlan.id);
    }
    const request = {
      contextWindow,
      overheadTokens,
      maxPromptTokens,
      cache,
      warmedAt,
      coldAt,
      byMessage: isByMessage,
    };
    const plan = core.engine.plan(slots, request, call.flag);
    const numbers = await call.away(plan);
    core.plans += 1;
    const id = core.plans;
    if (!call.isCancelled) core.lastPlan = { asked, numbers, id };
    return new Plan(numbers, id);
  }

  /**
   * The text of a tool result of which only some ranges of lines stay; a frozen edit asks for the same at each call, and a
   * plan that is applied again need not even say which.
   */
  #linesOf(engine, message, facts, plan, readRanges) {
    const { kept } = facts;
    if (kept?.plan === plan) return kept.text;
    const ranges = readRanges();
    const key = ranges.join();
    const text = kept?.key === key ? kept.text : this.#keptLines(engine, message, facts.slot, ranges);
    facts.kept = { plan, key, text };
    return text;
  }

  #keptLines(engine, message, slot, ranges) {
    return keptLines(joinedText(message.content), ranges, (gaps, chars) => {
      const own = this.#ownMarker && gaps.map((omitted) => this.#ownMarker(omitted, chars));
      return engine.gapMarkers(slot, new Uint32Array(gaps), own?.includes(undefined) ? undefined : own);
    });
  }
}

function shortenedBy(engine, facts) {
  facts.shortened ??= engine.shortened(facts.slot);
  return facts.shortened;
}

function isEqual(some, other) {
  return other !== undefined && Object.keys(some).every((name) => some[name] === other[name]);
}

/** The policy of the transformContext hook: the layers and their events. */
class Layers {
  #reporter;

  constructor(options) {
    this.options = options;
    this.#reporter = new Reporter(options.onEvent);
  }

  createEngine(encoding, marker) {
    const { Engine } = native();
    return new Engine(engineOptions({ ...this.options, marker }, encoding));
  }

  failed(error) {
    this.#reporter.failed(error);
  }

  windowUnknown(tokens, cause) {
    this.#reporter.windowUnknown(tokens, cause);
  }

  optionFailed(name, cause) {
    this.#reporter.optionFailed(name, cause);
  }

  report({ list, edited, plan, contextWindow, charsAfter, miss }, call) {
    if (!this.#reporter.isListening) return;
    const { tokensBefore, tokensAfter, floorTokens, budget } = plan;
    const { mode, why } = scheduleOf(plan);
    if (miss !== undefined) this.#reporter.miss(miss);
    this.#reporter.plan(list, plan, charsAfter);
    if (tokensAfter > budget) {
      this.#reporter.emit({
        type: "contextOverflow",
        tokens: tokensAfter,
        contextWindow,
        floorTokens,
      });
    }
    this.#reporter.emit({
      type: "transformed",
      messagesBefore: list.length,
      messagesAfter: edited.length,
      tokensBefore,
      tokensAfter,
      schedule: mode,
      reason: why,
      ...call.times(),
    });
  }
}

/** One call of the hook: its clock and its cancellation. Leaves the host's signal as it was. */
class Call {
  isCancelled = false;
  #signal;
  #start = performance.now();
  #awayMs = 0;
  #giveUp;
  #flag;
  #cancel = () => {
    this.isCancelled = true;
    this.#flag?.cancel();
    this.#giveUp?.();
  };

  constructor(signal) {
    if (typeof signal?.addEventListener === "function") {
      this.#signal = signal;
      signal.addEventListener("abort", this.#cancel, { once: true });
    }
  }

  /**
   * Waits until `work` is over, or the call is cancelled. The caller takes the outcome from `work` itself: held by this
   * promise it would outlive the quick garbage collections, and make each of them last milliseconds.
   */
  untilOverOrCancelled(work) {
    return new Promise((resolve) => {
      const settle = () => resolve();
      this.#giveUp = settle;
      if (this.isCancelled) settle();
      work.then(settle, settle);
    });
  }

  /** What stops the native work of this call when it is cancelled; undefined where nobody can cancel it. */
  get flag() {
    if (this.#signal === undefined) return undefined;
    this.#flag ??= new (native().CancelFlag)();
    return this.#flag;
  }

  /** Waits for work that is done elsewhere. */
  async away(work) {
    const left = performance.now();
    try {
      return await work;
    } finally {
      this.#awayMs += performance.now() - left;
    }
  }

  times() {
    const totalMs = performance.now() - this.#start;
    return { blockedMs: totalMs - this.#awayMs, totalMs };
  }

  end() {
    this.isCancelled = true;
    this.#signal?.removeEventListener("abort", this.#cancel);
  }
}

/** The options as the engine reads them; what it has no field for it passes over. */
function engineOptions(options, encoding) {
  return {
    ...options,
    encoding: encoding === undefined ? undefined : numberOf(encoding),
    englishMarker: options.marker === "en",
    namesHandle: options.recall,
    closedTurnsOnly: options.thinkingScope === "closedTurns",
    mayShrink: options.overflow === "shrink",
    ...cacheOptions(options.cache),
    ...watersOf(options),
  };
}

/** A function is asked at each call; until it says something, and where it does not, prices are learned. */
function cacheOptions(cache) {
  const { read, write, ttlSeconds } = typeof cache === "function" ? completeCache({}) : cache;
  const learnsPrices = typeof cache === "function" || cache.learnsPrices;
  return { cacheRead: read, cacheWrite: write, cacheTtlSeconds: ttlSeconds, learnsPrices };
}

/** The economy's waters, unless the host set its own; one alone moves the other out of its way. */
function watersOf({ economy, highWater, lowWater }) {
  const { high, low } = native().watersOf(economy);
  return {
    highWater: highWater ?? Math.max(high, lowWater ?? 0),
    lowWater: lowWater ?? Math.min(low, highWater ?? 1),
  };
}

module.exports = { Call, Hook, Layers, createTransformContext, transformContext: createTransformContext() };
