// The endless conversation. When a transcript fills its window, its questions and answers become a short list of pairs, and a new
// conversation begins with them. The host keeps the transcript, this class keeps the pairs. The pending question is never lost,
// whatever the summariser does.
"use strict";

const { isDeepStrictEqual } = process.getBuiltinModule?.("node:util") ?? require("node:util");
const { countsOf } = require("../bill/prices.js");
const { attempt, isObject } = require("../helpers.js");
const { Reporter } = require("../hook/events.js");
const { checkChat } = require("../hook/foreign.js");
const { windowNow } = require("../hook/options.js");
const { countTokens, countTokensAsync } = require("../tools/count.js");
const rules = require("../options.js");
const { keywordPairs } = require("./keywords.js");
const { arePairs, clippedPairs, memoryText, mergePairs, readMemory, readPairs } = require("./pairs.js");
const { partedByReport, splitRounds, withoutPast } = require("./rounds.js");
const { callSummarizer, pairsPrompt, summarizeError, withoutThinking } = require("./summarizer.js");
const { plainText } = require("../shapes/text.js");

const { amount, checkMessages, checkOptions, handler, orFunction, positive, ratio } = rules;
const pairs = { allowed: "an array of { q, a } with texts", accepts: arePairs };

const OPTIONS = {
  contextWindow: [undefined, orFunction(positive)],
  overheadTokens: [0, orFunction(amount)],
  history: [[], pairs],
  summarizeTokens: [16_000, positive],
  summarize: [undefined, handler],
  preCheckRatio: [0.85, ratio],
  postCheckRatio: [0.8, ratio],
  overflowRatio: [0.8, ratio],
  keepMessages: [2, rules.count],
  maxPairs: [15, rules.atLeastOne],
  timeoutMs: [30_000, positive],
  onEvent: [undefined, handler],
};

/** Largest share of the room for clipped or shrunk memory. The rest is for the next questions. */
const MEMORY_RATIO = 0.25;
/** Largest share of the room for kept messages and the question. */
const KEPT_RATIO = 0.5;
/** Largest part of a check's share of the window for the overhead. */
const MOST_OVERHEAD = 0.75;
/** Smallest room beside the overhead, as a share of the window. */
const MIN_ROOM_RATIO = 0.1;

class RollingMemory {
  #options;
  #reporter;
  /** Tokens of the newest report beyond the counted ones: the system prompt, the tools, another tokenizer. */
  #beside = 0;
  #history = [];
  /**
   * The messages of the last roll-over or opening (`given`), and the new conversation (`made`), both without system messages.
   * Empty lists once only the transcript's memory is known.
   */
  #last;
  /**
   * The rounds that a host took to summarise, after `covered` ones in the memory, and the memory at that time. If that has changed
   * since, it holds them all.
   */
  #taken;
  /** Abort the calls that run or wait. */
  #pending = new Set();
  /** The newest roll-over. They run one after the other: a question can come while an answer is being summarised. */
  #turn = Promise.resolve();

  constructor(options) {
    this.#options = checkOptions("RollingMemory", options, OPTIONS);
    if (this.#options.contextWindow === undefined) {
      const { allowed } = OPTIONS.contextWindow[1];
      throw new TypeError(`RollingMemory: option contextWindow is missing; it must be ${allowed}`);
    }
    this.#reporter = new Reporter(this.#options.onEvent, "RollingMemory");
    this.#remember(this.#options.history.map(({ q, a }) => ({ q, a })));
  }

  get history() {
    return this.#history.map((pair) => ({ ...pair }));
  }

  needsContextSummarization(messages, pendingUserMessage) {
    checkMessages("needsContextSummarization", messages);
    const { report, parts } = partedByReport(withQuestion(messages, pendingUserMessage));
    const counts = parts.map((part) => countTokens(part));
    return this.#verdict(counts, this.#besideOf(report, counts), pendingUserMessage);
  }

  getMessagesForSummarization(messages) {
    checkMessages("getMessagesForSummarization", messages);
    checkChat("getMessagesForSummarization", messages);
    const { rounds } = this.#split(this.#sinceLast(messages), this.#options.keepMessages);
    const uncovered = this.#uncovered(rounds);
    const { rounds: before = [], history } = this.#taken ?? {};
    // The summary of an earlier request may still come. It covers fewer rounds.
    const isAwaited = before.length > 0 && history === this.#history && opensWith(rounds, before);
    const covered = rounds.length - uncovered.length;
    if (!isAwaited) this.#taken = { rounds, covered, history: this.#history };
    return { messages: uncovered.flatMap(conversationOf), history: this.history };
  }

  applySummarization(summary) {
    const { pairs, isCut } = readPairs(withoutThinking(String(summary)));
    // A cut answer covers the first rounds only, behind the pairs of the memory that it repeats.
    const known = new Set(this.#history.map(({ q }) => q));
    const covered = pairs.filter(({ q }) => !known.has(q)).length;
    if (isCut && pairs.length > 0) this.#taken?.rounds.splice(this.#taken.covered + covered);
    this.#remember(pairs);
    return this.history;
  }

  /** Forgets everything. */
  reset() {
    for (const controller of this.#pending) controller.abort();
    this.#history = [];
    this.#last = undefined;
    this.#taken = undefined;
    this.#beside = 0;
  }

  beforePrompt(messages, question, signal) {
    return this.#inTurn(messages, question, signal);
  }

  afterReply(messages, signal) {
    return this.#inTurn(messages, undefined, signal);
  }

  /** An aborted call resolves at once, even while an earlier one runs. */
  async #inTurn(messages, question, signal) {
    const given = Array.isArray(messages) ? messages.slice() : [];
    const controller = new AbortController();
    this.#pending.add(controller);
    const stop = () => controller.abort();
    const stopped = new Promise((resolve) => controller.signal.addEventListener("abort", resolve));
    if (signal?.aborted) stop();
    signal?.addEventListener?.("abort", stop, { once: true });
    this.#turn = this.#turn.then(() => this.#rollIfTime(given, question, controller.signal));
    const unrolled = () => ({
      messages: withQuestion(given, question),
      rolledOver: false,
      history: this.history,
    });
    try {
      return await Promise.race([this.#turn, stopped.then(unrolled)]);
    } finally {
      this.#pending.delete(controller);
      signal?.removeEventListener?.("abort", stop);
    }
  }

  async #rollIfTime(given, question, signal) {
    let messages = given;
    let rolled;
    try {
      checkChat("RollingMemory", given);
      messages = this.#opened(given, question) ?? this.#sinceLast(given);
      const { report, parts } = partedByReport(withQuestion(messages, question));
      const counts = await Promise.all(parts.map((part) => countTokensAsync(part)));
      const beside = this.#besideOf(report, counts);
      if (!signal.aborted) this.#beside = beside;
      const isTime = this.#verdict(counts, beside, question).needed && !signal.aborted;
      if (isTime) rolled = await this.#roll(messages, given, question, signal);
    } catch (error) {
      this.#reporter.failedAt("failed", error);
    }
    const rolledOver = rolled !== undefined || messages !== given;
    return { messages: rolled ?? withQuestion(messages, question), rolledOver, history: this.history };
  }

  /** Puts the memory before the question that opens a conversation: a restarted host may have saved the memory alone. */
  #opened(given, question) {
    const said = withoutQuestion(given, question);
    if (question === undefined || this.#history.length === 0 || !said.every(isSystem)) return undefined;
    this.#last = { given: [], made: [userMessage(memoryText(this.#history))] };
    return withQuestion([...said, ...this.#last.made], question);
  }

  /**
   * Replaces the messages of the last roll-over by the new conversation, so that nothing is summarised twice. System messages
   * among them stay, and may change from turn to turn.
   */
  #sinceLast(given) {
    const { given: before, made } = this.#last ?? {};
    if (before === undefined) return given;
    /** Positions of the messages that are no system messages. */
    const said = [...given.keys()].filter((at) => !isSystem(given[at]));
    const isSame = before.every((message, index) => isSameMessage(message, given[said[index]]));
    // A host that opened with the memory may have kept it.
    const isKept = before.length === 0 && readMemory(given[said[0]]) !== undefined;
    if (!isSame || isKept) return given;
    const end = before.length === 0 ? (said[0] ?? given.length) : said[before.length - 1] + 1;
    return [...given.slice(0, end).filter(isSystem), ...made, ...given.slice(end)];
  }

  /** Returns the tokens of a reported prompt beyond the counted messages. */
  #besideOf(report, [counted]) {
    const prompt = report && (countsOf(report)?.prompt ?? report.totalTokens);
    return report === undefined ? this.#beside : Math.max(0, prompt - counted);
  }

  /** Decides by the tokens `counted` before the reported answer, those `since`, and those `beside` the messages. */
  #verdict([counted, since], beside, question) {
    const { preCheckRatio, postCheckRatio } = this.#options;
    const [phase, most] = question === undefined ? ["post", postCheckRatio] : ["pre", preCheckRatio];
    const { window, overhead, room } = this.#sizes(beside);
    const tokens = counted + since;
    const ratio = (tokens + overhead) / window;
    // No roll-over shrinks the overhead. If it fills most of the share, the ratio applies to the rest of the window.
    const isCrowded = overhead > window * most * MOST_OVERHEAD;
    return { needed: (isCrowded ? tokens / room : ratio) > most, phase, ratio };
  }

  /** Returns the tokens of the window, of the overhead (the larger of the host's number and `beside`), and of the rest. */
  #sizes(beside = this.#beside) {
    const { contextWindow } = this.#options;
    const window = windowNow(contextWindow, this.#reporter.failureOf("contextWindow"));
    const overhead = Math.max(this.#overhead(), beside);
    return { window, overhead, room: Math.max(window * MIN_ROOM_RATIO, window - overhead) };
  }

  #overhead() {
    const { overheadTokens: option } = this.#options;
    const value = typeof option === "function" ? option() : option;
    if (!amount.accepts(value)) throw new TypeError(`overheadTokens() must return ${amount.allowed}`);
    return value;
  }

  /** Returns the new conversation; undefined if there is nothing to summarise. An aborted call changes nothing. */
  async #roll(messages, given, question, signal) {
    const split = await this.#splitToFit(withoutQuestion(messages, question), question);
    const { system, tail, rounds } = split;
    const hadHistory = this.#history.length > 0;
    const pairs = await this.#summarise(this.#uncovered(rounds), signal);
    const otherTokens = await countTokensAsync(withQuestion([...system, ...tail], question));
    let [known, merged, fitted] = [];
    do {
      known = this.#history;
      merged = this.#mergedWith(pairs);
      fitted = await this.#fitMemory(merged, otherTokens);
      // The host may have added to the memory meanwhile.
    } while (this.#history !== known);
    if (signal.aborted) return undefined;
    const { history, overflow } = fitted;
    const summarizedCount = split.conversation.length - tail.length;
    const isNew = summarizedCount > 0 || !isDeepStrictEqual(merged, history);
    const kept = tail.flatMap(withoutPast);
    const opened = history.length === 0 ? fromFirstUser(kept) : [userMessage(memoryText(history)), ...kept];
    // Before the events, so that their listeners find the new memory.
    this.#history = history;
    this.#taken = undefined;
    if (isNew) {
      const said = withoutQuestion(given, question).filter((message) => !isSystem(message));
      this.#last = { given: said, made: opened };
    }
    const tell = (type, summary, details) =>
      this.#reporter.emit({ type, summary: JSON.stringify(summary), summarizedCount, ...details });
    if (summarizedCount > 0) tell("context_summarized", merged, hadHistory && { hasHistorySummary: true });
    if (overflow !== undefined) this.#reporter.emit({ type: "context_overflow", ...overflow });
    if (!isNew || signal.aborted) return undefined;
    tell("new_conversation_with_summary", history, {
      ...(question !== undefined && { pendingUserMessage: plainText(question) }),
      ...(overflow !== undefined && { isOverflow: true }),
    });
    return withQuestion([...system, ...opened], question);
  }

  /** Drops the rounds that the host has summarised. */
  #uncovered(rounds) {
    const { rounds: taken = [], covered, history } = this.#taken ?? {};
    const count = history === this.#history ? covered : taken.length;
    return opensWith(rounds, taken) ? rounds.slice(count) : rounds;
  }

  /** Keeps the newest messages that fit: all, those without tool traffic, or none. */
  async #splitToFit(list, question) {
    const [whole, none] = [this.#options.keepMessages, 0].map((keep) => this.#split(list, keep));
    for (const tail of [whole.tail, whole.plain]) {
      const tokens = await countTokensAsync(withQuestion([...whole.system, ...tail], question));
      if (tokens <= this.#sizes().room * KEPT_RATIO) return { ...whole, tail };
    }
    return none;
  }

  /** Returns the system messages, the newest messages, and the rounds before them. */
  #split(messages, keep) {
    const list = messages.filter(isObject);
    const system = list.filter(isSystem);
    const others = list.filter((message) => !isSystem(message));
    const memory = readMemory(others[0]);
    // A restarted process finds its memory in the transcript, which can be newer than a saved one.
    if (memory !== undefined && this.#last === undefined) {
      this.#remember(memory);
      this.#last = {};
    }
    const conversation = memory === undefined ? others : others.slice(1);
    return { system, conversation, ...splitRounds(conversation, keep) };
  }

  /** Turns rounds into pairs, by the summariser or else by rules. */
  async #summarise(rounds, signal) {
    if (rounds.length === 0) return [];
    const { summarize, timeoutMs, maxPairs, summarizeTokens } = this.#options;
    const prompt = summarize === undefined ? "" : await pairsPrompt(rounds, maxPairs, summarizeTokens);
    const conversation = rounds.flatMap(conversationOf);
    const { text, failure } = await callSummarizer(summarize, conversation, prompt, { timeoutMs, signal });
    if (signal.aborted) return [];
    const { pairs, isCut } = readPairs(text ?? "");
    const holdsNone = text !== undefined && pairs.length === 0;
    const reason = holdsNone
      ? summarizeError("the summariser's answer holds no question and answer")
      : failure;
    if (reason !== undefined) this.#reporter.failedAt("summarizeFailed", reason);
    // A cut answer covers the first rounds only. A complete one covers all.
    const unsummarised = pairs.length === 0 || isCut ? rounds.slice(pairs.length) : [];
    return [...pairs, ...(await this.#shortForm(unsummarised))];
  }

  /** Clips pairs; takes keywords if even clipped text is too long. */
  async #shortForm(pairs) {
    const newest = pairs.slice(-this.#options.maxPairs);
    if (newest.length === 0) return newest;
    const forms = clippedPairs(newest);
    for (const clipped of forms) {
      if (await this.#fits(clipped)) return clipped;
    }
    return keywordPairs(newest, forms.at(-1));
  }

  /** Shrinks memory that is too long, alone (`overflow` describes it) or with the other messages. */
  async #fitMemory(history, otherTokens) {
    const { overflowRatio, preCheckRatio } = this.#options;
    const summaryTokens = await countTokensAsync(memoryText(history));
    const { window, overhead } = this.#sizes();
    const tokenLimit = Math.floor(window * overflowRatio);
    const percent = Math.round(overflowRatio * 100);
    const message = `The memory of earlier conversations passes ${percent} % of the context window and is cut down. Open a clean window: a new conversation without it.`;
    const overflow = summaryTokens > tokenLimit ? { message, summaryTokens, tokenLimit } : undefined;
    const allTokens = summaryTokens + otherTokens + overhead;
    if (overflow === undefined && allTokens <= window * preCheckRatio) return { history };
    let pairs = await this.#shortForm(history);
    while (pairs.length > 1 && !(await this.#fits(pairs))) pairs = pairs.slice(1);
    return { history: pairs, overflow };
  }

  async #fits(pairs) {
    return (await countTokensAsync(memoryText(pairs))) <= this.#sizes().room * MEMORY_RATIO;
  }

  #remember(pairs) {
    this.#history = this.#mergedWith(pairs);
  }

  #mergedWith(pairs) {
    return pairs.length > 0 ? mergePairs(this.#history, pairs, this.#options.maxPairs) : this.#history;
  }
}

/** Returns a user message of a text or of blocks, dated now: usage reported before it says nothing about the new prompt. */
function userMessage(said) {
  const content = typeof said === "string" ? [{ type: "text", text: said }] : said;
  return { role: "user", content, timestamp: Date.now() };
}

const isSystem = (message) => message?.role === "system";

/** Appends the question unless it is there. */
function withQuestion(messages, question) {
  const isThere = question === undefined || asks(messages.at(-1), question);
  return isThere ? messages : [...messages, userMessage(question)];
}

function withoutQuestion(messages, question) {
  return question !== undefined && asks(messages.at(-1), question) ? messages.slice(0, -1) : messages;
}

/** False also for a Proxy that throws. */
function asks(message, question) {
  return attempt(() => {
    if (message?.role !== "user") return false;
    if (typeof question === "string") return plainText(message.content) === question;
    return isDeepStrictEqual(message.content, question);
  }, false);
}

/** True for the same message or a copy: hosts that store transcripts pass copies. */
function isSameMessage(some, other) {
  if (some === other) return true;
  const isAlike = some?.role === other?.role && some?.timestamp === other?.timestamp;
  return isAlike && some?.timestamp !== undefined && plainText(some.content) === plainText(other.content);
}

/** Drops the messages before the first user message: a conversation begins with the user. */
function fromFirstUser(messages) {
  const start = messages.findIndex((message) => message.role === "user");
  return start < 0 ? [] : messages.slice(start);
}

const opensWith = (rounds, first) => isDeepStrictEqual(rounds.slice(0, first.length), first);

function conversationOf({ q, a }) {
  const question = { role: "user", content: q };
  return a === "" ? [question] : [question, { role: "assistant", content: a }];
}

module.exports = { RollingMemory };
