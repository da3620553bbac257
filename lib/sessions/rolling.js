// The endless conversation: when a transcript fills its window, what was asked and answered becomes a short list of
// pairs, and a new conversation begins with it. The host keeps the transcript; this class keeps the pairs. Whatever
// the summariser does, the question that is waiting goes on.
"use strict";

const { countTokensAsync, countTokens } = require("../count.js");
const { Reporter } = require("../events.js");
const { checkOptions, count, handler, orFunction, positive, ratio } = require("../options.js");
const { memoryMessage, memoryText, readMemory, userMessage } = require("./memory_text.js");
const { clippedForms, keywordPairs, mergePairs, parsePairs } = require("./pairs.js");
const { pairsPrompt } = require("./prompts.js");
const { roundsOf, tailStart, withoutToolTraffic } = require("./rounds.js");
const { callSummarizer } = require("./summarizer.js");
const { plainText } = require("./text.js");

const OPTIONS = {
  contextWindow: [undefined, orFunction(positive)],
  summarize: [undefined, handler],
  preCheckRatio: [0.85, ratio],
  postCheckRatio: [0.8, ratio],
  overflowRatio: [0.8, ratio],
  keepMessages: [2, count],
  maxPairs: [15, count],
  timeoutMs: [30_000, positive],
  onEvent: [undefined, handler],
};

/** Share of the window that clipped or shrunk memory may take, so that the next questions have room. */
const MEMORY_RATIO = 0.25;
/** Share of the window that kept messages and the question may take together, for the same reason. */
const KEPT_RATIO = 0.5;
/** Share of the window that the text in a summariser's prompt may take, at one token a unit at worst. */
const PROMPT_RATIO = 0.5;

class RollingMemory {
  #options;
  #reporter;
  #history = [];
  /** Roll-overs happen one after the other: a question may come while an answer is still being remembered. */
  #turn = Promise.resolve();

  constructor(options) {
    this.#options = checkOptions("RollingMemory", options, OPTIONS);
    if (this.#options.contextWindow === undefined) {
      throw new TypeError(
        "RollingMemory: option contextWindow is missing; it must be a number of tokens or a function",
      );
    }
    this.#reporter = new Reporter(this.#options.onEvent);
  }

  get history() {
    return this.#history.map((pair) => ({ ...pair }));
  }

  needsContextSummarization(messages, pendingUserMessage) {
    const list = withQuestion(messages, pendingUserMessage);
    const [asReported, rest] = lastReport(list);
    return this.#verdict(Math.max(countTokens(list), asReported + countTokens(rest)), pendingUserMessage);
  }

  getMessagesForSummarization(messages) {
    const { rounds } = this.#split(messages, this.#options.keepMessages);
    return { messages: rounds.flatMap(conversationOf), history: this.history };
  }

  applySummarization(summary) {
    this.#remember(parsePairs(String(summary)).pairs);
    return this.history;
  }

  async beforePrompt(messages, question, signal) {
    return this.#inTurn(messages, question, signal);
  }

  async afterReply(messages, signal) {
    return this.#inTurn(messages, undefined, signal);
  }

  async #inTurn(messages, question, signal) {
    const outcome = this.#turn.then(() => this.#rollIfTime(messages, question, signal));
    this.#turn = outcome;
    return outcome;
  }

  async #rollIfTime(messages, question, signal) {
    try {
      const list = withQuestion(messages, question);
      const { needed } = this.#verdict(await promptTokens(list), question);
      const rolled = needed && !signal?.aborted ? await this.#roll(messages, question, signal) : undefined;
      if (rolled !== undefined) return { messages: rolled, rolledOver: true, history: this.history };
    } catch (error) {
      this.#reporter.failed(error);
    }
    return { messages: withQuestion(messages, question), rolledOver: false, history: this.history };
  }

  #verdict(tokens, pendingUserMessage) {
    const { preCheckRatio, postCheckRatio } = this.#options;
    const phase = pendingUserMessage === undefined ? "post" : "pre";
    const share = tokens / this.#window();
    return { needed: share > (phase === "pre" ? preCheckRatio : postCheckRatio), phase, ratio: share };
  }

  #window() {
    const { contextWindow } = this.#options;
    const tokens = typeof contextWindow === "function" ? contextWindow() : contextWindow;
    if (!positive.accepts(tokens)) throw new TypeError("contextWindow() must return a finite number above 0");
    return tokens;
  }

  /** The new conversation; undefined if there is nothing to leave behind or the host has aborted. */
  async #roll(messages, question, signal) {
    const { system, tail, rounds, dropped } = await this.#splitToFit(
      withoutQuestion(messages, question),
      question,
    );
    const hadHistory = this.#history.length > 0;
    const pairs = await this.#summarise(rounds, signal);
    if (signal?.aborted) return undefined;
    this.#remember(pairs);
    if (dropped > 0) this.#reportSummary(dropped, hadHistory);
    const others = withQuestion([...system, ...tail], question);
    const memory = await this.#fitMemory(await countTokensAsync(others));
    if (dropped === 0 && memory === "whole") return undefined;
    this.#reporter.emit({
      type: "new_conversation_with_summary",
      summary: JSON.stringify(this.#history),
      summarizedCount: dropped,
      ...(question !== undefined && { pendingUserMessage: question }),
      ...(memory === "overflow" && { isOverflow: true }),
    });
    const kept = tail.map(withoutReport);
    if (this.#history.length === 0) return withQuestion([...system, ...fromFirstUser(kept)], question);
    return withQuestion([...system, memoryMessage(this.#history), ...kept], question);
  }

  #reportSummary(summarizedCount, hasHistorySummary) {
    this.#reporter.emit({
      type: "context_summarized",
      summary: JSON.stringify(this.#history),
      summarizedCount,
      ...(hasHistorySummary && { hasHistorySummary }),
    });
  }

  /** Keeps as much of the newest messages as leaves room: whole, or without their tool traffic, or not at all. */
  async #splitToFit(list, question) {
    const budget = this.#window() * KEPT_RATIO;
    const whole = this.#split(list, this.#options.keepMessages);
    const plain = { ...whole, tail: withoutToolTraffic(whole.tail) };
    for (const split of [whole, plain]) {
      const tokens = await countTokensAsync(withQuestion([...split.system, ...split.tail], question));
      if (tokens <= budget) return { ...split, dropped: split.conversation.length - split.tail.length };
    }
    const bare = this.#split(list, 0);
    return { ...bare, dropped: bare.conversation.length };
  }

  /** System messages, the newest messages, and the rounds whose question is not among those. */
  #split(messages, keep) {
    const list = Array.from(messages ?? []).filter(
      (message) => typeof message === "object" && message !== null,
    );
    const system = list.filter((message) => message.role === "system");
    const others = list.filter((message) => message.role !== "system");
    const memory = readMemory(others[0]);
    // A restarted process finds in the transcript what it had remembered.
    if (memory !== undefined && this.#history.length === 0) this.#remember(memory);
    const conversation = memory === undefined ? others : others.slice(1);
    const start = tailStart(conversation, keep);
    const rounds = roundsOf(conversation).filter((round) => round.index < start);
    return { system, conversation, tail: conversation.slice(start), rounds };
  }

  /** The rounds as pairs, by the summariser or else by rules. */
  async #summarise(rounds, signal) {
    if (rounds.length === 0) return [];
    const { summarize, timeoutMs, maxPairs } = this.#options;
    const prompt = pairsPrompt(rounds, maxPairs, this.#window() * PROMPT_RATIO);
    const answer = await callSummarizer(summarize, rounds.flatMap(conversationOf), prompt, {
      timeoutMs,
      signal,
    });
    if (signal?.aborted) return [];
    const { pairs, isCut } = parsePairs(answer ?? "");
    // An answer that broke off tells of the first rounds; one that came to its end, of all.
    const untold = pairs.length === 0 || isCut ? rounds.slice(pairs.length) : [];
    return [...pairs, ...(await this.#shortForm(untold))];
  }

  /** Clipped, or keywords where even clipped text takes too much of the window. */
  async #shortForm(pairs) {
    const newest = pairs.slice(Math.max(0, pairs.length - this.#options.maxPairs));
    for (const clipped of clippedForms(newest)) {
      if (await this.#fits(clipped)) return clipped;
    }
    return keywordPairs(newest);
  }

  /** Shrinks memory that fills the window, alone ("overflow") or with the other messages ("shrunk"). */
  async #fitMemory(otherTokens) {
    const { overflowRatio, preCheckRatio } = this.#options;
    const tokens = await countTokensAsync(memoryText(this.#history));
    const tokenLimit = Math.floor(this.#window() * overflowRatio);
    const isOverflow = tokens > tokenLimit;
    if (!isOverflow && tokens + otherTokens <= this.#window() * preCheckRatio) return "whole";
    if (isOverflow) {
      const message = `The memory of earlier conversations passes ${Math.round(overflowRatio * 100)} % of the context window; it is cut down.`;
      this.#reporter.emit({ type: "context_overflow", message, summaryTokens: tokens, tokenLimit });
    }
    this.#history = await this.#shortForm(this.#history);
    while (this.#history.length > 0 && !(await this.#fits(this.#history))) this.#history.shift();
    return isOverflow ? "overflow" : "shrunk";
  }

  async #fits(pairs) {
    return (await countTokensAsync(memoryText(pairs))) <= this.#window() * MEMORY_RATIO;
  }

  #remember(pairs) {
    this.#history = mergePairs(this.#history, pairs, this.#options.maxPairs);
  }
}

/** `messages` with the question at the end, where it is not already. */
function withQuestion(messages, question) {
  const list = Array.from(messages ?? []);
  return question === undefined || asks(list.at(-1), question) ? list : [...list, userMessage(question)];
}

function withoutQuestion(messages, question) {
  const list = Array.from(messages ?? []);
  return question !== undefined && asks(list.at(-1), question) ? list.slice(0, -1) : list;
}

function asks(message, question) {
  return message?.role === "user" && plainText(message.content) === question;
}

/** At least what the provider itself reported of the newest request, if it did, and what came after it. */
async function promptTokens(messages) {
  const [asReported, rest] = lastReport(messages);
  return Math.max(await countTokensAsync(messages), asReported + (await countTokensAsync(rest)));
}

/** Tokens of the newest answered request, its answer included, and the messages after them. */
function lastReport(messages) {
  const index = messages.findLastIndex(
    ({ usage, stopReason }) => usage?.totalTokens > 0 && stopReason !== "error" && stopReason !== "aborted",
  );
  if (index < 0) return [0, []];
  const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0 } = messages[index].usage;
  return [input + cacheRead + cacheWrite + output, messages.slice(index + 1)];
}

/** An answer in a new conversation: the prompt it was reported with is not this one's, and would mislead any gauge. */
function withoutReport(message) {
  const { usage } = message;
  if (typeof usage !== "object" || usage === null) return message;
  return { ...message, usage: { ...usage, input: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 } };
}

/** A conversation begins with the user. */
function fromFirstUser(messages) {
  const start = messages.findIndex((message) => message.role === "user");
  return start < 0 ? [] : messages.slice(start);
}

function conversationOf({ q, a }) {
  const question = { role: "user", content: q };
  return a === "" ? [question] : [question, { role: "assistant", content: a }];
}

module.exports = { RollingMemory };
