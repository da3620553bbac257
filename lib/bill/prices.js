// Prices of tokens: from the call's bill, from earlier bills of its model, or from the host. Without these a token has only
// a weight relative to input, by the family of its model.
"use strict";

const { cacheFamilies, cacheOptions, constants } = require("../contract.js");
const { amount, checkOptions, positive, show } = require("../options.js");

const PER_MILLION = 1e-6;
/** Price of a token written to the cache for an hour, relative to input: Anthropic's, and nobody else writes for an hour. */
const HOUR_WRITE = constants.hourWrite.default;
/** Highest believable price of a token in dollars. A bill above it is a mistake. */
const MAX_PRICE = 1e-3;
/** Price of an answer's token relative to input: what most providers charge. */
const OUTPUT_SHARE = 5;
/** Kinds of tokens, as `usage` and `usage.cost` name them. The first billed one gives the price of input. */
const KINDS = ["input", "cacheWrite", "cacheRead", "output"];
/** Longest believable prompt in tokens. */
const MAX_TOKENS = 1e9;

const PRICE_OPTIONS = {
  input: [undefined, positive],
  read: [undefined, amount],
  write: [undefined, amount],
  output: [undefined, amount],
};
/** The family of an unknown model. */
const NO_FAMILY = { read: cacheOptions.read.default, write: 1 };

/** Prices relative to input and the published lifetime of a cache entry, for a model named `model` or `provider/model`. */
function familyOf(model) {
  const name = model.toLowerCase();
  const families = Object.entries(cacheFamilies);
  const familyIn = (text) => families.find(([family]) => text.includes(family))?.[1];
  const known = familyIn(name.slice(name.lastIndexOf("/") + 1)) ?? familyIn(name) ?? NO_FAMILY;
  const { read, write, ttlSeconds } = known;
  return { input: 1, cacheRead: read, cacheWrite: write, output: OUTPUT_SHARE, ttlSeconds };
}

/** Checks prices in dollars per million tokens, `{ input, read, write, output }`, of which only `input` is needed. */
function checkPrices(owner, given) {
  if (given === undefined) return undefined;
  const prices = checkOptions(`${owner}: prices`, given, PRICE_OPTIONS);
  if (prices.input === undefined)
    throw new TypeError(`${owner}: option prices is ${show(given)}; it must name the price of input`);
  return prices;
}

/**
 * Token counts of a usage report; `prompt`, their sum without the answer; and `cacheWrite1h`, those written for an hour. Undefined if
 * the report is unusable.
 */
function countsOf(usage) {
  const count = (value) => (Number.isFinite(value) && value > 0 ? value : 0);
  const counts = Object.fromEntries(KINDS.map((kind) => [kind, count(usage?.[kind])]));
  const prompt = counts.input + counts.cacheRead + counts.cacheWrite;
  const cacheWrite1h = Math.min(count(usage?.cacheWrite1h), counts.cacheWrite);
  return prompt > 0 && prompt <= MAX_TOKENS ? { ...counts, prompt, cacheWrite1h } : undefined;
}

class Prices {
  #given;
  #billed = new Map();
  /** Share of the written tokens that a model last wrote for an hour. */
  #hourly = new Map();

  /** `given` is in dollars per million tokens, or a function that returns such prices for a model. */
  constructor(given) {
    this.#given = typeof given === "function" ? given : () => given;
  }

  /** Dollars of a token of each kind in a call of `model`. Undefined if neither a bill nor the host has a price. */
  of(model, { cost }, counts) {
    const family = familyOf(model);
    if (counts.cacheWrite > 0) this.#hourly.set(model, counts.cacheWrite1h / counts.cacheWrite);
    const hourly = this.#hourly.get(model) ?? 0;
    family.cacheWrite += hourly * (HOUR_WRITE - family.cacheWrite);
    const own = this.#billed.get(model) ?? {};
    this.#billed.set(model, own);
    for (const kind of KINDS) {
      const price = cost?.[kind] / counts[kind];
      if (price > 0 && price <= MAX_PRICE) own[kind] = price;
    }
    const total = billedOf(cost, counts);
    if (Object.keys(own).length === 0 && total !== undefined) own.input = total / costOf(counts, family);
    const known = KINDS.find((kind) => own[kind] > 0);
    if (known === undefined) return this.#named(model, hourly);
    const input = own[known] / family[known];
    return Object.fromEntries(KINDS.map((kind) => [kind, own[kind] ?? input * family[kind]]));
  }

  /** The host's prices in dollars per token, if this share of writes is for an hour; undefined without any. */
  #named(model, hourly) {
    const given = this.#given(model);
    if (!(given?.input > 0)) return undefined;
    const family = familyOf(model);
    const { input, read = input * family.cacheRead, write = input * family.cacheWrite } = given;
    const prices = {
      input,
      cacheRead: read,
      cacheWrite: write + hourly * (HOUR_WRITE * input - write),
      output: given.output ?? OUTPUT_SHARE * input,
    };
    return Object.fromEntries(KINDS.map((kind) => [kind, prices[kind] * PER_MILLION]));
  }
}

/** Cost of tokens at these prices, answer included. */
const costOf = (counts, prices) => KINDS.reduce((sum, kind) => sum + counts[kind] * prices[kind], 0);

/** Dollars of a call by its own bill. Undefined if the bill is missing or absurd. */
function billedOf(cost, counts) {
  const most = MAX_PRICE * (counts.prompt + counts.output);
  const parts = KINDS.map((kind) => cost?.[kind]).filter(Number.isFinite);
  const sums = [cost?.total, parts.reduce((sum, part) => sum + part, 0)];
  return sums.find((dollars) => dollars > 0 && dollars <= most);
}

/** The part of Anthropic's usage for the request. With server tools the usage sums up several prompts, this one first. */
const requestIn = (usage) => [usage?.iterations].flat().find((one) => one?.type === "message");

module.exports = { PER_MILLION, Prices, billedOf, checkPrices, costOf, countsOf, familyOf, requestIn };
