// `pi-strata/pipeline`: a provider, a compressor and an assembler, one after the other; each can be the host's own.
"use strict";

const { areSame, isObject } = require("../helpers.js");
const { Reporter } = require("../hook/events.js");
const rules = require("../options.js");
const { isMedia } = require("../shapes/openai_messages.js");
const { answeredId, callsIn, clip, isResult } = require("../shapes/text.js");
const { PostgresProvider, SqliteProvider } = require("./history.js");

const { atLeastOne, checkMessages, checkOptions, checkValue, count, handler, rule } = rules;

const MAX_MESSAGES = 12;
/** UTF-16 units. */
const MAX_CHARS_PER_MESSAGE = 4_000;
/** Messages read beyond those that the compressor keeps, so that it decides what to drop. */
const HISTORY_MARGIN = 38;

const isWritten = (text) => /^\s*\d+\s*$/.test(text) && atLeastOne.accepts(Number(text));
const writtenNumber = rule(atLeastOne.allowed, isWritten);
const has = (method) =>
  rule(`an object with the method ${method}`, (value) => typeof value?.[method] === "function");

/**
 * Keeps the newest messages, results with their calls, and the beginning of each message. Returns uncut messages, and an uncut
 * list, as the same object.
 */
class SimpleCompressor {
  constructor(options) {
    const table = {
      maxMessages: [MAX_MESSAGES, atLeastOne],
      maxCharsPerMessage: [MAX_CHARS_PER_MESSAGE, atLeastOne],
    };
    Object.assign(this, checkOptions("SimpleCompressor", options, table));
    Object.freeze(this);
  }

  compress(messages) {
    checkMessages("SimpleCompressor.compress", messages);
    let start = Math.max(0, messages.length - this.maxMessages);
    while (start > 0 && isResult(messages[start])) start -= 1;
    const kept = withWholeCalls(messages.slice(start)).map((message) => this.#shortened(message));
    return areSame(kept, messages) ? messages : kept;
  }

  #shortened(message) {
    const { content, blocks } = message;
    if (typeof content !== "string" || content.length <= this.maxCharsPerMessage) return message;
    const { original: _, ...short } = message;
    short.content = clip(content, this.maxCharsPerMessage);
    if (Array.isArray(blocks)) short.blocks = blocks.filter(isMedia);
    return short;
  }
}

/** Drops results whose call is not directly before them, and calls without a result: providers reject them. */
function withWholeCalls(messages) {
  const groups = [];
  for (const message of messages) {
    if (isResult(message) && groups.length > 0) groups.at(-1).push(message);
    else groups.push([message]);
  }
  return groups.flatMap(wholeGroup);
}

/** Returns a message with its own results among those after it. */
function wholeGroup([first, ...results]) {
  if (isResult(first)) return [];
  const open = new Set(callsIn(first).map(({ id }) => id));
  const answers = results.filter((result) => open.delete(answeredId(result)));
  if (open.size === 0) return [first, ...answers];
  const field = first.tool_calls === undefined ? "toolCalls" : "tool_calls";
  const { original: _, [field]: all = [], ...message } = first;
  const calls = all.filter(({ id }) => !open.has(id));
  if (calls.length > 0) return [{ ...message, [field]: calls }, ...answers];
  return message.content ? [message] : [];
}

class StandardAssembler {
  assemble(system, history, userMessage) {
    checkMessages("StandardAssembler.assemble", history, "history");
    const prompt = system ? [{ role: "system", content: system }] : [];
    return [...prompt, ...history, { role: "user", content: userMessage }];
  }
}

/** Runs provider, compressor and assembler. Records a cut if the provider can. */
class Pipeline {
  #options;
  #reporter;

  constructor(options) {
    const checked = checkOptions("Pipeline", options, {
      provider: [undefined, has("getHistory")],
      compressor: [undefined, has("compress")],
      assembler: [undefined, has("assemble")],
      historyLimit: [undefined, atLeastOne],
      onEvent: [undefined, handler],
    });
    if (checked.provider === undefined)
      throw new TypeError("Pipeline: option provider is missing; it must have getHistory");
    checked.compressor ??= new SimpleCompressor(pipelineConfigFromEnv());
    checked.assembler ??= new StandardAssembler();
    const { maxMessages } = checked.compressor;
    checked.historyLimit ??= (count.accepts(maxMessages) ? maxMessages : MAX_MESSAGES) + HISTORY_MARGIN;
    this.#options = checked;
    this.#reporter = new Reporter(checked.onEvent, "Pipeline");
  }

  /** Resolves with the request for a chat's newest message. */
  async prepare(chatId, system, userMessage) {
    const { provider, compressor, assembler, historyLimit } = this.#options;
    const history = await provider.getHistory(chatId, historyLimit);
    checkMessages("Pipeline", history, "what provider.getHistory returned");
    const compressed = await compressor.compress(history);
    checkMessages("Pipeline", compressed, "what compressor.compress returned");
    if (isCut(history, compressed)) this.#record(chatId, history, compressed);
    return assembler.assemble(system, compressed, userMessage);
  }

  /** Records one row per cut turn. The task neither waits for it nor fails with it. */
  async #record(chatId, history, compressed) {
    const { provider, compressor } = this.#options;
    const { maxMessages = 0, maxCharsPerMessage = 0 } = compressor;
    const row = {
      original_count: history.length,
      compressed_count: compressed.length,
      max_messages: maxMessages,
      max_chars_per_message: maxCharsPerMessage,
    };
    try {
      await provider.recordCompression?.(row, chatId);
    } catch (error) {
      const message = `the event of a compression was not recorded: ${error?.message}`;
      this.#reporter.failedAt("recordFailed", error, { message });
    }
  }
}

function isCut(before, after) {
  const isOther = ({ content, toolCalls }, i) =>
    content !== after[i].content || toolCalls !== after[i].toolCalls;
  return before.length !== after.length || before.some(isOther);
}

function pipelineConfigFromEnv(env = process.env) {
  checkValue("pipelineConfigFromEnv: env", env, rule("an object", isObject));
  return {
    maxMessages: numberFrom(env, "TG_HISTORY_WINDOW", MAX_MESSAGES),
    maxCharsPerMessage: numberFrom(env, "MAX_CHARS_PER_MESSAGE", MAX_CHARS_PER_MESSAGE),
  };
}

function numberFrom(env, name, fallback) {
  const text = env[name];
  if (text === undefined || text === "") return fallback;
  checkValue(`environment variable ${name}`, text, writtenNumber);
  return Number(text);
}

module.exports = {
  Pipeline,
  PostgresProvider,
  SimpleCompressor,
  SqliteProvider,
  StandardAssembler,
  pipelineConfigFromEnv,
};
