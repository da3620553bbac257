// A provider that counts what it is really sent, caches it, bills it and refuses what is over its window. No network, no
// clock of its own: the time of a request comes with it.

import { commonRun } from "./same.mjs";
import { Sizes } from "./sizes.mjs";

/** Tokens of the frame around each message. */
const FRAME_TOKENS = 4;

/** Tokens of one image where nothing else is said. */
const IMAGE_TOKENS = 1200;

/** Tokens that Anthropic's API reports as uncached beside a prompt that is written to the cache. */
const UNCACHED_TOKENS = 3;

/** Dollars of an output token, in input tokens: that of the Claude models. */
const OUTPUT_PRICE = 5;

const PER_MILLION = 1e-6;

/** Dollars per million tokens of Claude Opus 4.5 with a five-minute cache. */
export const PRICES = { unit: "dollars", input: 5, read: 0.5, write: 6.25, ttlSeconds: 300 };

/** What a provider is where nothing else is said; `scale` is provider tokens per cl100k token. */
export const PROVIDER = {
  contextWindow: 200_000,
  scale: 1.27,
  basePrompt: 8000,
  imageTokens: IMAGE_TOKENS,
  cache: "prefix",
  prices: PRICES,
  /** Other scales, base prompts and image prices, by model. */
  models: {},
};

/** See above; one for one conversation. */
export class Provider {
  #settings;
  #sizes = new Sizes();
  #caches = new Map();
  /** The list that was weighed last for each model, and its tokens up to each message's end. */
  #weighed = new Map();

  /** @param settings those of `PROVIDER` that differ; `cache` is "prefix", "breakpoint" or "none" */
  constructor(settings) {
    this.#settings = { ...PROVIDER, ...settings };
  }

  get contextWindow() {
    return this.#settings.contextWindow;
  }

  set contextWindow(tokens) {
    this.#settings.contextWindow = tokens;
  }

  /** The host sends another prompt and other tools from now on. */
  set basePrompt(tokens) {
    this.#settings.basePrompt = tokens;
    this.#caches.clear();
  }

  /** Tokens of one message to this model; 0 if it is not sent or says nothing. */
  tokensOf(message, model) {
    const { tokens, images } = this.#sizes.of(message);
    if (tokens === 0 && images === 0) return 0;
    const { scale, imageTokens } = this.#ratesOf(model);
    return scale * tokens + imageTokens * images + FRAME_TOKENS;
  }

  /** Tokens of a prompt that holds all of these messages. */
  promptOf(messages, model) {
    const { messages: last, sums } = this.#weighed.get(model) ?? { messages: [], sums: [] };
    let at = 0;
    while (at < messages.length && at < last.length && messages[at] === last[at]) at += 1;
    sums.length = at;
    let tokens = sums.at(-1) ?? this.#ratesOf(model).basePrompt;
    for (; at < messages.length; at += 1) {
      tokens += this.tokensOf(messages[at], model);
      sums.push(tokens);
    }
    this.#weighed.set(model, { messages: messages.slice(), sums });
    return Math.round(tokens);
  }

  /** To be called after a message was changed in place. */
  forget(message) {
    this.#sizes.forget(message);
    this.#weighed.clear();
    for (const cache of this.#caches.values()) cache.forget(message);
  }

  /**
   * Takes a request: `{ tokens, read, isRefused }`, `read` being those that came from the cache. One that fails before
   * it is read (`isLost`) leaves nothing in the cache.
   */
  receive(sent, { model, timeMs, isLost = false }) {
    const cache = this.#cacheOf(model);
    const { tokens, unchanged } = cache.weigh(sent, (message) => this.tokensOf(message, model));
    if (tokens > this.#settings.contextWindow) return { tokens, read: 0, isRefused: true };
    if (isLost) return { tokens, read: 0, isRefused: false };
    return { tokens, read: cache.take(sent, unchanged, timeMs), isRefused: false };
  }

  /** The usage of an answer to what `receive` told of, as pi writes it. */
  usageOf(answer, { tokens, read }, model) {
    const { cache, prices } = this.#settings;
    const output = Math.round(this.tokensOf(answer, model));
    const uncached = cache === "none" ? tokens - read : Math.min(UNCACHED_TOKENS, tokens - read);
    const usage = { input: uncached, output, cacheRead: read, cacheWrite: tokens - read - uncached };
    const cost = {
      input: PER_MILLION * prices.input * usage.input,
      output: PER_MILLION * prices.input * OUTPUT_PRICE * output,
      cacheRead: PER_MILLION * prices.read * read,
      cacheWrite: PER_MILLION * prices.write * usage.cacheWrite,
    };
    const total = cost.input + cost.output + cost.cacheRead + cost.cacheWrite;
    return { ...usage, totalTokens: tokens + output, cost: { ...cost, total } };
  }

  #ratesOf(model) {
    const { scale, basePrompt, imageTokens, models } = this.#settings;
    return { scale, basePrompt, imageTokens, ...models[model] };
  }

  #cacheOf(model) {
    let cache = this.#caches.get(model);
    if (cache === undefined) {
      const { cache: kind, prices } = this.#settings;
      cache = new PromptCache(this.#ratesOf(model).basePrompt, kind, 1000 * prices.ttlSeconds);
      this.#caches.set(model, cache);
    }
    return cache;
  }
}

/** The last request to one model, and how long which beginnings of it are remembered. */
class PromptCache {
  #base;
  #kind;
  #ttlMs;
  #sent = [];
  /** Tokens up to each message's end, the base prompt among them. */
  #sums = [];
  /** The same of the request that was weighed last. */
  #weighed = [];
  /** Beginnings that may be read, by their number of messages, with the time of their last use. */
  #entries = [];

  constructor(base, kind, ttlMs) {
    this.#base = base;
    this.#kind = kind;
    this.#ttlMs = ttlMs;
  }

  /** Tokens of a request, and how many of its messages are those of the last one. */
  weigh(sent, tokensOf) {
    const unchanged = commonRun(sent, this.#sent);
    this.#weighed = this.#sums.slice(0, unchanged);
    let tokens = this.#sumAt(unchanged);
    for (let at = unchanged; at < sent.length; at += 1) {
      tokens += tokensOf(sent[at]);
      this.#weighed.push(tokens);
    }
    return { tokens: Math.round(tokens), unchanged };
  }

  /** Keeps the request that was weighed last; tokens of it that were there already. */
  take(sent, unchanged, timeMs) {
    const isAlive = (entry) => !(timeMs - entry.timeMs > this.#ttlMs);
    const alive = this.#entries.filter((entry) => entry.length <= unchanged && isAlive(entry));
    this.#sent = sent.slice();
    this.#sums = this.#weighed;
    if (this.#kind === "none") return 0;
    const longest = alive.reduce((best, entry) => Math.max(best, entry.length), -1);
    const length = longest >= 0 && this.#kind === "prefix" ? unchanged : longest;
    // Reading an entry reads all that it begins with.
    for (const entry of alive) if (entry.length <= length) entry.timeMs = timeMs;
    const made = [0, sent.length].filter((of) => !alive.some((entry) => entry.length === of));
    this.#entries = [...alive, ...made.map((of) => ({ length: of, timeMs }))];
    return length < 0 ? 0 : Math.floor(this.#sumAt(length));
  }

  forget(message) {
    const at = this.#sent.indexOf(message);
    if (at >= 0) this.#sent.length = at;
  }

  #sumAt(length) {
    return length === 0 ? this.#base : this.#sums[length - 1];
  }
}
