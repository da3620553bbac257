// The transformContext hook: finds the conversation that a list goes on in, has what is new read and planned over, applies
// the plan. Whatever goes wrong, it resolves with the very array it was given.
"use strict";

const { Conversation } = require("./conversation.js");
const { Conversations } = require("./conversations.js");
const { native } = require("../native/native.js");
const { HAS_RESERVE, answerOf, checkHookOptions, completeCache, economyTokens } = require("./options.js");
const { amount, positive, record, times } = require("../options.js");
const { encodingOfTranscript, numberOf } = require("../tokens/models.js");
const { hookOptions } = require("../contract.js");
const { Reporter, scheduleOf } = require("./events.js");
const { refuseForeign } = require("./foreign.js");
const { checkedMarker, languageOf, markerLine } = require("./markers.js");
const { protection } = require("./snapshot.js");
const { isAnswer } = require("./values.js");

/** Leaves the host's signal as it was. */
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

  /** Stops the native work of this call when it is cancelled; undefined where nobody can cancel it. */
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

class InputError extends Error {
  code = "ERR_INVALID_INPUT";
}

/** What stays whole in its newest state, and in which layers: by default on the ladder of the sticky schedule alone. */
function keptBy({ keep, schedule }) {
  const isOff = keep === false || (keep === undefined && schedule === "everyCall");
  if (isOff) return { keep: undefined, keeping: "nothing" };
  return { keep: { ...keep }, keeping: keep === undefined ? "ladder" : "layers" };
}

function createTransformContext(options) {
  const hook = new Hook(new Layers(checkHookOptions("createTransformContext", options)));
  return (messages, signal) => hook.transform(messages, signal);
}

/**
 * The part that every hook has in common. Its policy says the rest: `options`, `createConversation(encoding, language)`, and by
 * `report` and its `reporter` what the host is told.
 */
class Hook {
  #policy;
  #conversations;
  /** The host's way of reading messages and writing markers: the host's functions, each held to what it may answer. */
  #reader;
  #writer;
  /** The plan and the list of each conversation's last request. */
  #sent = new WeakMap();
  /** The windows that refusals taught, `{ contextWindow, output }` by provider and model, and the model of the last call. */
  #windows = new Map();
  #latestModel;
  #latestEncoding;

  constructor(policy) {
    const { options } = policy;
    this.#policy = policy;
    const failed = (name) => (cause) => policy.reporter.optionFailed(name, cause);
    const own = checkedMarker(options.marker, failed("marker"));
    this.#reader = {
      marker: markerLine(own, options),
      protects: protection(options.protect, failed("protect")),
      refuse: policy.refuse,
    };
    this.#writer = { own };
    this.#conversations = new Conversations();
  }

  async transform(messages, signal, byMessage) {
    try {
      if (signal?.aborted) return messages;
      const call = new Call(signal);
      try {
        const work = this.run(messages, call, byMessage);
        await call.untilOverOrCancelled(work);
        return call.isCancelled ? messages : (await work).edited;
      } finally {
        call.end();
      }
    } catch (error) {
      this.#policy.reporter.failed(error);
      return messages;
    }
  }

  /**
   * The edited array and what was done, by message or with what was dropped side by side as one edit; undefined if the
   * call was cancelled. Rejects where `transform` reports.
   */
  async run(messages, call, byMessage = false) {
    if (!Array.isArray(messages)) throw new InputError("messages must be an array");
    const told = this.#terms(byMessage);
    return this.#inTurn(messages, async (conversation, list, from) => {
      const model = this.#modelOf(list);
      const terms = this.#withKnownWindow(told, model);
      const plan = await conversation.plan(list, terms, call, from);
      if (plan === undefined || call.isCancelled) return undefined;
      this.#learn(model, plan, terms);
      const edited = conversation.apply(list, plan, this.#writer);
      const outcome = {
        list,
        edited: edited === list ? messages : edited,
        plan,
        contextWindow: Math.min(terms.contextWindow, plan.learnedWindow ?? Number.POSITIVE_INFINITY),
        conversation,
        firstChanged: this.#policy.isListening
          ? quietly(() => this.#firstChanged(conversation, plan))
          : undefined,
        charsAfter: ({ index }) => conversation.textAt(index).length,
      };
      this.#policy.report(outcome, call);
      return outcome;
    });
  }

  /** The edits that `messages` would get, and their reasons; undefined if `call` was cancelled. Every message has an edit of its own. */
  planFor(messages, call, byMessage = true) {
    const told = this.#terms(byMessage);
    return this.#inTurn(messages, async (conversation, list, from) => {
      const terms = this.#withKnownWindow(told, this.#modelOf(list));
      // Nothing is applied: a text that was told once need not be told again.
      return conversation.plan(list, terms, call, { ...from, needsNoTexts: true });
    });
  }

  /** What a call with `messages` would send, as its `transformed` event tells it, and the scale of its estimates. */
  sentAt(messages, call) {
    const told = this.#terms(false);
    return this.#inTurn(messages, async (conversation, list, from) => {
      const terms = this.#withKnownWindow(told, this.#modelOf(list));
      const plan = await conversation.plan(list, terms, call, { ...from, needsNoTexts: true });
      const { tokensBefore, tokensAfter, scale } = plan;
      const firstChanged = this.#firstChanged(conversation, plan);
      return { tokensBefore, tokensAfter, firstChanged, reason: scheduleOf(plan).why, scale };
    });
  }

  /** The first message that this request sends otherwise than the last one of its conversation; undefined where it only adds. */
  #firstChanged(conversation, plan) {
    const last = this.#sent.get(conversation);
    const { known } = conversation;
    this.#sent.set(conversation, { plan, known });
    if (last === undefined || last.plan === plan) return undefined;
    const end = Math.min(last.known.length, known.length);
    let shared = 0;
    while (shared < end && Object.is(last.known[shared], known[shared])) shared += 1;
    const changed = plan.firstChange(last.plan, last.known.length);
    // What stands behind the last answer is the tail of one request.
    const isRewritten = last.known.slice(shared).some((message) => message?.role === "assistant");
    return isRewritten ? Math.min(shared, changed ?? shared) : changed;
  }

  /** The window as the host has it now; where its function names none (an Agent without a model says 0), the default. */
  contextWindow() {
    const { options, reporter } = this.#policy;
    const standsIn = hookOptions.contextWindow.default;
    const failed = (cause) => reporter.windowUnknown(standsIn, cause);
    return asked(options.contextWindow, positive, failed) ?? standsIn;
  }

  /** Runs `work` with the conversation that `messages` go on in, and with them, when the calls before it are over. */
  async #inTurn(messages, work) {
    // The host pushes into the live array while this call waits.
    const list = messages.slice();
    const shared = this.#conversations.of(list);
    const { conversation: found, isFork, startsOver } = this.#conversationOf(list, shared);
    const conversation = isFork ? await found.turn(() => found.fork()) : found;
    if (isFork && this.#sent.has(found)) this.#sent.set(conversation, this.#sent.get(found));
    this.#conversations.keep(conversation, list, shared?.own > 0);
    try {
      return await conversation.turn(() => work(conversation, list, { shared, startsOver }));
    } catch (error) {
      // The two sides may know different lists now.
      if (error?.code !== "ERR_CANCELLED") this.#conversations.forget(conversation);
      throw error;
    }
  }

  /** The conversation of a list that shares its beginning with one, and whether that starts over with the messages it has. */
  #conversationOf(list, shared) {
    const encoding = this.#encodingOf(list);
    if (shared !== undefined) {
      const { conversation, leavesAnswer, isAnswered } = shared;
      // Both go on where an answer is left behind. Before any answer they are but two lists that begin alike.
      if (leavesAnswer && isAnswered) return { conversation, isFork: true };
      if (!leavesAnswer && (isAnswered || conversation.encoding === encoding)) return { conversation };
      if (!leavesAnswer) this.#conversations.forget(conversation);
      return { conversation: this.#conversationFor(list) };
    }
    const left = this.#conversations.thatIsLeftIn(list);
    const language = languageOf(this.#policy.options.marker, list);
    const isAlike = left?.conversation.encoding === encoding && left?.conversation.language === language;
    if (isAlike && left.isMost) return { conversation: left.conversation, startsOver: left.end };
    const conversation = this.#conversationFor(list);
    if (left !== undefined) conversation.follow(left.conversation, left.end);
    return { conversation };
  }

  /** A conversation that counts as `list`'s model does and writes markers in its language. */
  #conversationFor(list) {
    const encoding = this.#encodingOf(list);
    const language = languageOf(this.#policy.options.marker, list);
    const created = this.#policy.createConversation(encoding, language);
    return new Conversation(created, this.#reader, { encoding, language });
  }

  /** The encoding of the model that answered in `list`; before any answer, of the one that answered in another list. */
  #encodingOf(list) {
    const known = encodingOfTranscript(this.#policy.options.encoding, list);
    if (known === undefined && !list.some(isAnswer)) return this.#latestEncoding;
    this.#latestEncoding = known;
    return known;
  }

  /** Who answered last, `{ provider, model }`; in a conversation without an answer, who answered in another. */
  #modelOf(list) {
    const { provider, model } = list.findLast((message) => message?.role === "assistant") ?? {};
    const isTold = typeof provider === "string" && typeof model === "string";
    return isTold ? { provider, model } : this.#latestModel;
  }

  /** The terms with the window that this model's endpoint named in another conversation. */
  #withKnownWindow(terms, model) {
    const known = model && this.#windows.get(keyOf(model, terms));
    return { ...terms, learnedWindow: known?.contextWindow, learnedOutput: known?.output };
  }

  /** Keeps the window that a refusal taught for the life of the hook, until more is accepted. */
  #learn(model, { learnedWindow, learnedOutput }, terms) {
    this.#latestModel = model;
    if (model === undefined) return;
    if (learnedWindow === undefined) {
      this.#windows.delete(keyOf(model, terms));
    } else if (learnedWindow !== terms.learnedWindow || learnedOutput !== terms.learnedOutput) {
      this.#windows.set(keyOf(model, terms), { contextWindow: learnedWindow, output: learnedOutput });
      this.#policy.reporter?.emit({ type: "contextWindowLearned", contextWindow: learnedWindow, ...model });
    }
  }

  /** The host's word on its model at this call. Of its cache, what it does not say is learned. */
  #terms(byMessage) {
    const { options } = this.#policy;
    const { overheadTokens, maxPromptTokens, warmedAt, coldAt } = options;
    const cache = typeof options.cache === "function" ? asked(options.cache, record) : undefined;
    const { read, write, ttlSeconds } = completeCache(cache) ?? {};
    return {
      contextWindow: this.contextWindow(),
      overheadTokens: asked(overheadTokens, amount),
      maxPromptTokens: asked(maxPromptTokens, positive),
      cacheRead: read,
      cacheWrite: write,
      ttlSeconds,
      warmedAt: asked(warmedAt, times),
      coldAt: asked(coldAt, times),
      byMessage,
    };
  }
}

/** A host that says another window of a model than before knows more than an old refusal. */
const keyOf = ({ provider, model }, { contextWindow }) => JSON.stringify([provider, model, contextWindow]);

/** For `JSON.stringify`: a text without lone surrogates, which are no UTF-8. */
const wellFormed = (_, value) => (typeof value === "string" ? value.toWellFormed() : value);

/** The value of an option that may be a function, which is asked. */
function asked(option, rule, failed) {
  return typeof option === "function" ? answerOf(option, [], rule, failed) : option;
}

/** What a look at the host's messages returns; undefined where one of them throws: a look must never cost the call. */
function quietly(look) {
  try {
    return look();
  } catch {
    return undefined;
  }
}

/** The policy of the transformContext hook: the layers and their events. */
class Layers {
  /** What is not pi's is handed back as it came. */
  refuse = refuseForeign;
  /** The bill of each conversation, and its last call while that is not answered. */
  #bills = new WeakMap();
  /** What its calls teach for all conversations, by encoding. */
  #lessons = new Map();

  constructor(options) {
    this.options = options;
    this.reporter = new Reporter(options.onEvent);
  }

  get isListening() {
    return this.reporter.isListening;
  }

  /** The options as the engine reads them; what it has no field for it passes over. */
  createConversation(encoding, language) {
    const { Conversation: Native, Lessons } = native();
    const lessons = this.#lessons.get(encoding) ?? new Lessons();
    this.#lessons.set(encoding, lessons);
    const { cache, economy, recall } = this.options;
    const { summaryHeadLines, summaryTailLines, minSummaryChars, leastLines } = this.options;
    // A function is asked at each call; until it says something, and where it does not, prices are learned.
    const { read, write, ttlSeconds, learnsPrices } =
      typeof cache === "function" ? { ...completeCache({}), learnsPrices: true } : cache;
    const options = {
      ...this.options,
      reserveTokens: this.options[HAS_RESERVE] ? this.options.reserveTokens : undefined,
      shortening: {
        headLines: summaryHeadLines,
        tailLines: summaryTailLines,
        leastHead: leastLines[0],
        leastTail: leastLines[1],
        minLen: minSummaryChars,
      },
      ...keptBy(this.options),
      namesHandle: recall,
      encoding: encoding === undefined ? undefined : numberOf(encoding),
      marker: language,
      economy: economyTokens(economy),
      prices: { read, write, ttlSeconds },
      learnsPrices,
      learnsTtl: !learnsPrices && ttlSeconds === undefined,
    };
    return new Native(JSON.stringify(options, wellFormed), lessons);
  }

  report(outcome, call) {
    if (!this.reporter.isListening) return;
    const { list, edited, plan, contextWindow, firstChanged, charsAfter } = outcome;
    const { tokensBefore, tokensAfter, floorTokens, budget } = plan;
    const { mode, why } = scheduleOf(plan);
    const miss = quietly(() => this.#missOf(outcome, why));
    if (miss !== undefined) this.reporter.emit({ type: "cacheMiss", ...miss });
    this.reporter.plan(list, plan, charsAfter);
    if (plan.isRefused === 1 || tokensAfter > budget) {
      this.reporter.emit({
        type: "contextOverflow",
        tokens: tokensAfter,
        contextWindow,
        floorTokens,
      });
    }
    this.reporter.emit({
      type: "transformed",
      messagesBefore: list.length,
      messagesAfter: edited.length,
      tokensBefore,
      tokensAfter,
      ...(firstChanged !== undefined && { firstChanged }),
      schedule: mode,
      reason: why,
      ...call.times(),
    });
  }

  /** The cache miss of the call before this one, once its answer is in the list. */
  #missOf({ list, plan, conversation, firstChanged }, reason) {
    const { Bill, rowOf } = require("../bill/bill.js");
    const { cache, warmedAt } = this.options;
    const make = () =>
      new Bill({ ttlSeconds: cache?.ttlSeconds, warmedAt: () => asked(warmedAt, times) ?? [] });
    const { bill = make(), open } = this.#bills.get(conversation) ?? {};
    const answer = open && list.slice(open.length).find((message) => message?.role === "assistant");
    const { miss } = answer === undefined ? {} : bill.enter(rowOf(open.sent, answer, open.at));
    const { tokensBefore, tokensAfter } = plan;
    const sent = { tokensBefore, tokensAfter, firstChanged, reason };
    // A call that was made again departs from the last request where either did.
    const isAgain = open !== undefined && answer === undefined && open.sent.firstChanged !== undefined;
    if (isAgain) Object.assign(sent, { firstChanged: open.sent.firstChanged, reason: open.sent.reason });
    this.#bills.set(conversation, { bill, open: { sent, length: list.length, at: list.at(-1)?.timestamp } });
    if (miss === undefined) return undefined;
    const { cause, tokens, dollars } = miss;
    return { cause, tokens, dollars };
  }
}

module.exports = { Call, Hook, Layers, createTransformContext, transformContext: createTransformContext() };
