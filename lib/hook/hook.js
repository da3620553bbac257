// The transformContext hook. A call takes the list, finds the conversation that it continues, has what is new read and planned in
// one native call, builds the request and reports events. Whatever goes wrong, it resolves with the array it was given.
"use strict";

const { Call } = require("./call.js");
const { Conversation } = require("./conversation.js");
const { Conversations } = require("./conversations.js");
const { native } = require("../native/native.js");
const { asked, checkHookOptions, completeCache, nativeOptions } = require("./options.js");
const { amount, checkList, positive, record, times } = require("../options.js");
const { encodingOfTranscript } = require("../tokens/models.js");
const { hookOptions } = require("../contract.js");
const { Reporter, scheduleOf, sentBy } = require("./events.js");
const { checkedMarker, languageOf, markerLine } = require("./markers.js");
const { protection } = require("./snapshot.js");
const { isAnswer } = require("./values.js");

function createTransformContext(options) {
  const hook = new Hook("createTransformContext", options);
  return (messages, signal) => hook.transform(messages, signal);
}

class Hook {
  #reporter;
  #conversations = new Conversations();
  /** The host's way of reading messages and writing markers: the host's functions, each held to what it may answer. */
  #reader;
  #marker;
  /** What calls teach for all conversations, by encoding. */
  #lessons = new Map();
  #latestEncoding;
  /** The bill of each conversation, and its last call while that is not answered. */
  #bills = new WeakMap();

  /** Throws a TypeError that begins with `owner` for an option that is off. */
  constructor(owner, given) {
    const options = checkHookOptions(owner, given);
    this.options = options;
    this.#reporter = new Reporter(options.onEvent);
    const failed = (name) => (cause) => this.#reporter.optionFailed(name, cause);
    this.#marker = checkedMarker(options.marker, failed("marker"));
    this.#reader = {
      marker: markerLine(this.#marker, options),
      protects: protection(options.protect, failed("protect")),
    };
  }

  async transform(messages, signal, byMessage) {
    try {
      if (signal?.aborted) return messages;
      const call = new Call(signal);
      try {
        const work = this.run(messages, call, byMessage, (outcome) => this.report(outcome, call));
        await call.untilOverOrCancelled(work);
        return call.isCancelled ? messages : (await work).edited;
      } finally {
        call.end();
      }
    } catch (error) {
      this.failed(error);
      return messages;
    }
  }

  /** Tells the host of a failure; returns the event. */
  failed(error) {
    return this.#reporter.failed(error);
  }

  /**
   * The request that `messages` make and its plan, by message or with what was dropped side by side as one edit; undefined if
   * the call was cancelled. Rejects where `transform` reports. `report` gets the outcome before any later call begins.
   */
  async run(messages, call = new Call(), byMessage = false, report = () => {}) {
    checkList(messages);
    const terms = this.#terms(byMessage);
    // The host pushes into the live array while this call waits. Holes become undefined.
    const list = [...messages];
    const found = this.#conversations.find(list);
    const { next = this.#newConversation(list), isFork } = this.#continued(list, found);
    const conversation = isFork ? await next.turn(() => next.fork(found.isCut)) : next;
    this.#conversations.keep(conversation, list, found?.own > 0);
    try {
      return await conversation.turn(async () => {
        const outcome = await this.#planned(conversation, list, terms, call, found);
        if (outcome === undefined) return undefined;
        if (outcome.edited === list) outcome.edited = messages;
        report(outcome);
        return outcome;
      }, list);
    } catch (error) {
      // The two sides may know different lists now.
      if (error?.code !== "ERR_CANCELLED") this.#conversations.forget(conversation);
      throw error;
    }
  }

  async #planned(conversation, list, terms, call, found) {
    const plan = await conversation.plan(list, terms, call, found);
    if (plan === undefined || call.isCancelled) return undefined;
    const { learnedWindow = Number.POSITIVE_INFINITY } = plan;
    if (plan.isNews === 1) {
      const { provider, model } = list.findLast(isAnswer);
      this.#reporter.emit({ type: "contextWindowLearned", contextWindow: learnedWindow, provider, model });
    }
    const edited = conversation.apply(list, plan, this.#marker);
    return { list, edited, plan, conversation, contextWindow: Math.min(terms.contextWindow, learnedWindow) };
  }

  /** The window as the host has it now; where its function names none (an Agent without a model says 0), the default. */
  contextWindow() {
    const standsIn = hookOptions.contextWindow.default;
    const failed = (cause) => this.#reporter.windowUnknown(standsIn, cause);
    return asked(this.options.contextWindow, positive, failed) ?? standsIn;
  }

  /** The conversation that `list` goes on in, itself or by a fork; nothing where it begins a new one. */
  #continued(list, { conversation: next, isAnswered, leavesAnswer, isCut } = {}) {
    const isAlike = next?.encoding === this.#encodingOf(list);
    // The whole one may go on, too.
    if (isCut)
      return isAlike && next.language === languageOf(this.options.marker, list) ? { next, isFork: true } : {};
    // Before any answer two lists that begin alike are two conversations.
    if (!isAnswered && (leavesAnswer || !isAlike)) return {};
    return { next, isFork: leavesAnswer };
  }

  /** A conversation that counts as `list`'s model does and writes markers in its language. */
  #newConversation(list) {
    const { Conversation: Native, Lessons } = native();
    const [encoding, language] = [this.#encodingOf(list), languageOf(this.options.marker, list)];
    const lessons = this.#lessons.get(encoding) ?? new Lessons();
    this.#lessons.set(encoding, lessons);
    const created = new Native(nativeOptions(this.options, encoding, language), lessons);
    return new Conversation(created, this.#reader, { encoding, language });
  }

  /** The encoding of the model that answered in `list`; before any answer, of the one that answered in another list. */
  #encodingOf(list) {
    const known = encodingOfTranscript(this.options.encoding, list);
    if (known === undefined && !list.some(isAnswer)) return this.#latestEncoding;
    this.#latestEncoding = known;
    return known;
  }

  /** The host's word on its model at this call. Of its cache, what it does not say is learned. */
  #terms(byMessage) {
    const { overheadTokens, maxPromptTokens, warmedAt, coldAt, cache } = this.options;
    const told = typeof cache === "function" ? (completeCache(asked(cache, record)) ?? {}) : undefined;
    return {
      contextWindow: this.contextWindow(),
      overheadTokens: asked(overheadTokens, amount),
      maxPromptTokens: asked(maxPromptTokens, positive),
      ...(told && { cacheRead: told.read, cacheWrite: told.write, ttlSeconds: told.ttlSeconds }),
      warmedAt: asked(warmedAt, times),
      coldAt: asked(coldAt, times),
      byMessage,
    };
  }

  /** Tells the host what a call did. */
  report(outcome, call) {
    const reporter = this.#reporter;
    if (!reporter.isListening) return;
    const { list, edited, plan, contextWindow, conversation } = outcome;
    const { tokensBefore, tokensAfter, floorTokens, budget, firstChanged } = plan;
    const { mode, why } = scheduleOf(plan);
    const miss = quietly(() => this.#missOf(outcome));
    if (miss !== undefined) reporter.emit({ type: "cacheMiss", ...miss });
    reporter.plan(list, plan, ({ index }) => conversation.editAt(index).text.length);
    if (plan.isRefused === 1 || tokensAfter > budget) {
      reporter.emit({ type: "contextOverflow", tokens: tokensAfter, contextWindow, floorTokens });
    }
    reporter.emit({
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
  #missOf({ list, plan, conversation }) {
    const { Bill, rowOf } = require("../bill/bill.js");
    const { cache, warmedAt } = this.options;
    const make = () =>
      new Bill({ ttlSeconds: cache?.ttlSeconds, warmedAt: () => asked(warmedAt, times) ?? [] });
    const { bill = make(), open } = this.#bills.get(conversation) ?? {};
    const answer = open && list.slice(open.length).find(isAnswer);
    const { miss } = answer === undefined ? {} : bill.enter(rowOf(open.sent, answer, open.at));
    const sent = sentBy(plan);
    // A call that was made again departs from the last request where either did.
    const isAgain = open !== undefined && answer === undefined && open.sent.firstChanged !== undefined;
    if (isAgain) Object.assign(sent, { firstChanged: open.sent.firstChanged, reason: open.sent.reason });
    this.#bills.set(conversation, { bill, open: { sent, length: list.length, at: list.at(-1)?.timestamp } });
    if (miss === undefined) return undefined;
    const { cause, tokens, dollars } = miss;
    return { cause, tokens, dollars };
  }
}

/** What a look at the host's messages returns; undefined where one of them throws: a look must never cost the call. */
function quietly(look) {
  try {
    return look();
  } catch {
    return undefined;
  }
}

module.exports = { Hook, createTransformContext, transformContext: createTransformContext() };
