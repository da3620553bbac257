// The transformContext hook. A call finds the conversation that the list continues, plans its changes in one native call,
// builds the request and reports events. On any failure it resolves with the array it was given.
"use strict";

const { attempt } = require("../helpers.js");
const { withCurrentUsage } = require("./answer_room.js");
const { Call } = require("./call.js");
const { Conversation } = require("./conversation.js");
const { Conversations } = require("./conversations.js");
const { native } = require("../native/native.js");
const { cacheNow, checkHookOptions, nativeOptions, reserveIn, valueNow, windowNow } = require("./options.js");
const { amount, flag, positive, times } = require("../options.js");
const { encodingOfTranscript } = require("../tokens/models.js");
const { Reporter } = require("./events.js");
const { checkedMarker, languageOf, markerLine } = require("./markers.js");
const { protection } = require("./snapshot.js");
const { isAnswer } = require("./values.js");

function createTransformContext(options, owner = "createTransformContext") {
  const hook = new Hook(owner, options);
  return (messages, signal) => hook.transform(messages, signal);
}

class Hook {
  #reporter;
  #conversations = new Conversations();
  /** The host's functions, with checked results. */
  #host;
  /** Lessons shared by all conversations, by encoding. */
  #lessons = new Map();
  /** The encoding of the latest conversation. */
  #latestEncoding;

  /** Throws a TypeError that begins with `owner` for an invalid option. `own` is as in `checkHookOptions`. */
  constructor(owner, given, own) {
    const options = checkHookOptions(owner, given, own);
    this.options = options;
    this.#reporter = new Reporter(options.onEvent);
    const marker = checkedMarker(options.marker, this.#reporter.failureOf("marker"));
    const protects = protection(options.protect, this.#reporter.failureOf("protect"));
    this.#host = { marker, markerLine: markerLine(marker, options), protects };
  }

  /** `onFound` is as in `run`. A door passes it if its stand-ins do not go to pi. */
  async transform(messages, signal, onFound) {
    const call = new Call();
    try {
      call.obey(signal);
      if (call.isCancelled) return messages;
      const work = this.run(messages, call, (outcome) => this.report(outcome, call), onFound);
      await call.untilOverOrCancelled(work);
      if (call.isCancelled) return messages;
      const { edited, plan } = await work;
      if (onFound !== undefined) return edited;
      const reserve = reserveIn(plan.contextWindow, this.options.given.reserveTokens);
      return attempt(() => withCurrentUsage(edited, plan, reserve), edited);
    } catch (error) {
      this.failed(error);
      return messages;
    } finally {
      call.end();
    }
  }

  /** Reports a failure; returns the event. */
  failed(error) {
    return this.#reporter.failed(error);
  }

  /**
   * Makes the request for `messages`, with its plan and its conversation. Rejects where `transform` reports a failure, and
   * if the call was cancelled. `report` gets the outcome before any later call begins. `onFound` gets what `Conversations.find`
   * returned, and the conversation of this call, before the list is read.
   */
  async run(messages, call = new Call(), report = () => {}, onFound = () => {}) {
    if (!Array.isArray(messages))
      throw Object.assign(new Error("messages must be an array"), { code: "ERR_INVALID_INPUT" });
    const terms = this.#terms();
    // The host pushes into the live array while this call waits. Holes become undefined.
    const list = [...messages];
    const kind = {
      encoding: () => encodingOfTranscript(this.options.encoding, list, this.#latestEncoding),
      language: () => languageOf(this.options.marker, list),
    };
    const found = this.#conversations.find(list, kind);
    const known = found.conversation ?? this.#newConversation(kind);
    const conversation = found.isFork ? await known.turn(() => known.fork()) : known;
    // A cancelled fork must not become the latest conversation.
    if (found.isFork) call.check();
    this.#conversations.keep(conversation, list, found);
    onFound(found, conversation);
    this.#latestEncoding = conversation.encoding;
    try {
      return await conversation.turn(async () => {
        const { plan, edited } = await conversation.request(list, terms, call, found.shared);
        const outcome = { list, edited: edited === list ? messages : edited, plan, conversation, found };
        report(outcome);
        return outcome;
      }, list);
    } catch (error) {
      // The two sides may know different lists now.
      if (error?.code !== "ERR_CANCELLED") this.#conversations.forget(conversation);
      throw error;
    }
  }

  /** The window that the host states now. */
  contextWindow() {
    return windowNow(this.options.contextWindow, this.#reporter.failureOf("contextWindow"));
  }

  /** A bill with the host's cache settings. `more` are other options of `Bill`. */
  newBill(more) {
    const { Bill } = require("../bill/bill.js");
    const { cache, warmedAt } = this.options;
    return new Bill({
      ...more,
      ttlSeconds: cache.ttlSeconds,
      warmedAt: () => valueNow(warmedAt, times) ?? [],
    });
  }

  /** A new conversation of this encoding and language. */
  #newConversation(kind) {
    const [encoding, language] = [kind.encoding(), kind.language()];
    const { Conversation: Native, Lessons } = native();
    const lessons = this.#lessons.get(encoding) ?? new Lessons();
    this.#lessons.set(encoding, lessons);
    const created = new Native(nativeOptions(this.options, encoding, language), lessons);
    return new Conversation(created, this.#host, { encoding, language });
  }

  /** Model settings from the host for this call, as JSON. Cache settings that it omits are learned from usage. */
  #terms() {
    const { overheadTokens, takesImages, maxPromptTokens, excludedTokens, isClaude, warmedAt, coldAt } =
      this.options;
    const cache = cacheNow(this.options.cache);
    return JSON.stringify({
      contextWindow: this.contextWindow(),
      overheadTokens: valueNow(overheadTokens, amount),
      takesImages: valueNow(takesImages, flag),
      maxPromptTokens: valueNow(maxPromptTokens, positive),
      excludedTokens: valueNow(excludedTokens, amount),
      isClaude: valueNow(isClaude, flag),
      prices: cache,
      ttlSeconds: cache?.ttlSeconds,
      warmedAt: valueNow(warmedAt, times),
      coldAt: valueNow(coldAt, times),
    });
  }

  /** Reports a call. */
  report(outcome, call) {
    const reporter = this.#reporter;
    if (!reporter.isListening) return;
    const { list, edited, plan } = outcome;
    const { tokensBefore, tokensAfter, floorTokens, contextWindow, firstChanged, schedule, reason } = plan;
    if (plan.learnedWindow !== undefined) {
      const { provider, model } = list.findLast(isAnswer);
      reporter.emit({ type: "contextWindowLearned", contextWindow: plan.learnedWindow, provider, model });
    }
    // A usage that cannot be read must not cost the call.
    attempt(() => this.#reportMiss(outcome));
    reporter.plan(list, plan);
    if (plan.isOver) {
      reporter.emit({ type: "contextOverflow", tokens: tokensAfter, contextWindow, floorTokens });
    }
    reporter.emit({
      type: "transformed",
      messagesBefore: list.length,
      messagesAfter: edited.length,
      tokensBefore,
      tokensAfter,
      ...(firstChanged !== undefined && { firstChanged }),
      schedule,
      reason,
      ...call.times(),
    });
  }

  /** Reports the cache miss of the call before this one, once its answer is in the list. */
  #reportMiss({ list, plan, conversation: { account }, found }) {
    const isCut = found.newFrom !== undefined;
    // A list with another beginning holds the answer to a call of the conversation it was cut from.
    const last = isCut ? found.conversation.account : account;
    const { open } = last;
    const answer = open && list.slice(found.newFrom ?? open.length).find(isAnswer);
    const miss = answer && this.#missOf(last, answer);
    if (last !== account) Object.assign(account, { from: last, since: last.calls });
    // A repeated call also includes the changes of the unanswered one.
    const isRepeated = answer === undefined && open?.firstChanged !== undefined;
    const { firstChanged, reason } = isCut ? { firstChanged: 0 } : isRepeated ? open : plan;
    account.open = { ...plan, firstChanged, reason, length: list.length, at: list.at(-1)?.timestamp };
    account.calls += 1;
    if (miss === undefined) return;
    const { cause, tokens, dollars } = miss;
    this.#reporter.emit({ type: "cacheMiss", cause, tokens, dollars });
  }

  /** Enters the open call in an account's bill. A fork continues the other bill if that conversation made no call since. */
  #missOf(account, answer) {
    const { rowOf } = require("../bill/bill.js");
    const { open, from, since } = account;
    account.open = undefined;
    account.from = undefined;
    account.bill ??= this.newBill({ after: from?.calls === since ? from?.bill : undefined });
    return account.bill.enter(rowOf(open, answer, open.at)).miss;
  }
}

module.exports = { Hook, createTransformContext, transformContext: createTransformContext() };
