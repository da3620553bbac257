// The pipeline's replaceable parts that need no database: what is kept of a history, how a request is put together,
// and the settings a host takes from its environment. `Pipeline` runs them one after the other.
"use strict";

const { native } = require("../native.js");
const { checkOptions, count, show } = require("../options.js");

const MAX_MESSAGES = 12;
/** UTF-16 units. */
const MAX_CHARS_PER_MESSAGE = 4_000;
/** Messages read from the provider: enough that the compressor, not the reading, decides what is left out. */
const HISTORY_LIMIT = 50;

const atLeastOne = {
  allowed: "a whole number from 1 on",
  accepts: (value) => count.accepts(value) && value >= 1,
};
const has = (method) => ({
  allowed: `an object with the method ${method}`,
  accepts: (value) => typeof value?.[method] === "function",
});

/** Keeps the newest messages and the beginning of each. What needs no cut comes back as it is, `===`. */
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
    const newest = messages.length > this.maxMessages ? messages.slice(-this.maxMessages) : messages;
    const isLong = ({ content }) => content.length > this.maxCharsPerMessage;
    if (!newest.some(isLong)) return newest;
    return newest.map((message) => (isLong(message) ? this.#clipped(message) : message));
  }

  #clipped(message) {
    return { ...message, content: native().clipText(message.content, this.maxCharsPerMessage) };
  }
}

class StandardAssembler {
  assemble(system, history, userMessage) {
    const prompt = system ? [{ role: "system", content: system }] : [];
    return [...prompt, ...history, { role: "user", content: userMessage }];
  }
}

/** Provider, compressor and assembler, one after the other. A cut is recorded where the provider can. */
class Pipeline {
  #provider;
  #compressor;
  #assembler;
  #historyLimit;

  constructor(options) {
    const { provider, compressor, assembler, historyLimit } = checkOptions("Pipeline", options, {
      provider: [undefined, has("getHistory")],
      compressor: [undefined, has("compress")],
      assembler: [undefined, has("assemble")],
      historyLimit: [HISTORY_LIMIT, atLeastOne],
    });
    if (provider === undefined) throw new TypeError("Pipeline: option provider is missing");
    this.#provider = provider;
    this.#compressor = compressor ?? new SimpleCompressor(pipelineConfigFromEnv());
    this.#assembler = assembler ?? new StandardAssembler();
    this.#historyLimit = historyLimit;
  }

  /** The request for the newest message of a chat. */
  async prepare(chatId, system, userMessage) {
    const history = await this.#provider.getHistory(chatId, this.#historyLimit);
    const compressed = await this.#compressor.compress(history);
    if (isCut(history, compressed)) await this.#record(history, compressed);
    return this.#assembler.assemble(system, compressed, userMessage);
  }

  async #record(history, compressed) {
    const { maxMessages = 0, maxCharsPerMessage = 0 } = this.#compressor;
    await this.#provider.recordCompression?.({
      original_count: history.length,
      compressed_count: compressed.length,
      max_messages: maxMessages,
      max_chars_per_message: maxCharsPerMessage,
    });
  }
}

function isCut(before, after) {
  return before.length !== after.length || before.some(({ content }, i) => content !== after[i].content);
}

function pipelineConfigFromEnv(env = process.env) {
  return {
    maxMessages: numberFrom(env, "TG_HISTORY_WINDOW", MAX_MESSAGES),
    maxCharsPerMessage: numberFrom(env, "MAX_CHARS_PER_MESSAGE", MAX_CHARS_PER_MESSAGE),
  };
}

function numberFrom(env, name, fallback) {
  const text = env[name];
  if (text === undefined || text === "") return fallback;
  const value = /^\s*\d+\s*$/.test(text) ? Number(text) : Number.NaN;
  if (!atLeastOne.accepts(value)) {
    throw new TypeError(`environment variable ${name} is ${show(text)}; it must be ${atLeastOne.allowed}`);
  }
  return value;
}

module.exports = { Pipeline, SimpleCompressor, StandardAssembler, pipelineConfigFromEnv };
