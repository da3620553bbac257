// The prices and the cache of a replay. Prices are those the user names, else those the session was billed at. Without either,
// tokens are weighed by the ratios of the model's family, and nothing is in dollars.

import { countsOf, familyOf, PER_MILLION, Prices } from "../../bill/prices.js";
import contract from "../../contract.js";
import { whole } from "../numbers.mjs";

const WORDS = {
  billed: "as the session was billed",
  named: "as --price names it",
  family: "as no price is known",
};
/** Providers and models whose cache serves whole earlier requests only. */
const WITH_BREAKPOINTS = /anthropic|claude/i;
/** Life of a cache entry paid for an hour. */
const HOUR_SECONDS = contract.constants.hourSeconds.default;
/** Prices that differ among calls. */
const KINDS = ["input", "read", "write"];
/** Prices of a call that was billed at nothing. */
const FREE = { input: 0, cacheRead: 0, cacheWrite: 0 };

/**
 * `{ prices, byCall, reported }` for a recording. Each price is in dollars per million tokens, or in tokens of input per token if
 * the `unit` is "tokens". `byCall` has `{ input, read, write }` per call. `prices` is `{ unit, source, model, ttlSeconds, input, read,
 * write, range }` of the most frequent model that was not free; `range` has the lowest and the highest price of all calls.
 * `ttlSeconds` is undefined if its provider publishes none. `reported` is the cost of the input by the usage of the calls, NaN if
 * one has none. `named` holds the user's prices, `cache` the hook's option.
 */
export function pricesOf(recording, named, cache = {}) {
  const answers = recording.calls.length > 0 ? recording.calls.map(({ at }) => recording.all[at]) : [{}];
  const own = new Prices(named);
  const calls = answers.map(({ usage, ...answer }) => {
    const isFree = usage?.cost?.total === 0;
    const [model, counts] = [modelOf(answer), countsOf(usage) ?? {}];
    const cost = named ? undefined : usage?.cost;
    return { model, counts, isFree, price: own.of(model, { cost }, counts) };
  });
  const known = calls.filter(({ price }) => price !== undefined);
  const isPriced = known.length > 0;
  const unit = isPriced ? PER_MILLION : 1;
  // A call without a price takes the first price of its model. Without one it was free if its bill says so, else it takes another
  // model's price of input. Without any price a token of input costs 1.
  const others = new Prices({ input: (known[0]?.price.input ?? 1) / PER_MILLION });
  const likely = ({ model, counts, isFree }) =>
    known.find((call) => call.model === model)?.price ??
    (isFree && isPriced ? FREE : others.of(model, {}, counts));
  const byCall = calls.map((call) => {
    const { input, cacheRead, cacheWrite } = call.price ?? likely(call);
    const read = cache.read === undefined ? cacheRead : cache.read * input;
    const write = cache.write === undefined ? cacheWrite : cache.write * input;
    return { input: input / unit, read: read / unit, write: write / unit };
  });
  const reported = calls.reduce((sum, { counts }, i) => {
    const { input, read, write } = byCall[i];
    return sum + unit * (counts.input * input + counts.cacheRead * read + counts.cacheWrite * write);
  }, 0);
  const model = mostFrequent(calls.filter((_, i) => byCall[i].input > 0));
  const isHourly = answers.some(({ usage }) => usage?.cacheWrite1h > 0);
  const prices = {
    unit: isPriced ? "dollars" : "tokens",
    source: named ? "named" : isPriced ? "billed" : "family",
    model,
    ttlSeconds: cache.ttlSeconds ?? (isHourly ? HOUR_SECONDS : familyOf(model).ttlSeconds),
    ...byCall[calls.findLastIndex((call) => call.model === model)],
    range: Object.fromEntries(KINDS.map((kind) => [kind, rangeOf(byCall.map((price) => price[kind]))])),
  };
  return { prices, byCall, reported };
}

const rangeOf = (values) => [Math.min(...values), Math.max(...values)];

/** The kind of cache that serves the model of these prices: "breakpoint" or "prefix". */
export function cacheKindOf({ format }, { model }) {
  return WITH_BREAKPOINTS.test(model || format) ? "breakpoint" : "prefix";
}

export const modelOf = ({ provider, model }) => [provider, model].filter(Boolean).join("/");

function mostFrequent(calls) {
  const counts = new Map();
  for (const { model } of calls) counts.set(model, (counts.get(model) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0][0];
}

/** The prices in words, for the first lines of a replay. */
export function pricesText({ unit, source, input, read, write, range }) {
  const ratio = (price) => `× ${Number((price / input).toPrecision(3))}`;
  const cached = `cache reads ${ratio(read)}, writes ${ratio(write)}`;
  if (unit === "tokens") return `${WORDS.family}: tokens are weighed, ${cached}; --price INPUT gives dollars`;
  const inputs = new Set(range.input.map((price) => `$${Number(price.toPrecision(4))}`));
  return `${[...inputs].join(" to ")} per million tokens of input, ${WORDS[source]}; ${cached}`;
}

/** The life of a cache entry in words. */
export function lifeText({ ttlSeconds }) {
  return `an entry lives ${ttlSeconds === undefined ? "through every pause" : `${whole(ttlSeconds)} s`}`;
}

/** A cost as it is printed. */
export function costText(cost, { unit }) {
  return unit === "dollars" ? `$${cost.toFixed(2)}` : `${whole(cost)} tokens`;
}

/** Prices as the hook's option takes them, relative to input. */
export function cacheOptionsOf({ input, read, write, ttlSeconds }) {
  return { read: read / input, write: write / input, ttlSeconds };
}
