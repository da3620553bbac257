// The prices and the cache of a replay. Prices are those the user names, else those the session was billed at. Without either,
// tokens are weighed by the ratios of the model's family, and nothing is in dollars.

import { countsOf, familyOf, HOUR_SECONDS, PER_MILLION, Prices } from "../../bill/prices.js";
import { whole } from "../numbers.mjs";

const WORDS = {
  billed: "as the session was billed",
  named: "as --price names it",
  family: "as no price is known",
};
/** Providers and models whose cache serves whole earlier requests only. */
const WITH_BREAKPOINTS = /anthropic|claude/i;

/**
 * `{ unit, source, model, ttlSeconds, input, read, write }` for a recording: dollars per million tokens, or tokens of
 * input per token if `unit` is "tokens". `named` are the user's prices, `cache` is the hook's option.
 */
export function pricesOf(recording, named, cache = {}) {
  const answers = recording.calls.map(({ at }) => recording.all[at]);
  const model = mostFrequent(answers.map(modelOf)) ?? "";
  const own = new Prices(named);
  const bills = answers.flatMap(({ usage, ...answer }) => {
    const counts = modelOf(answer) === model ? countsOf(usage) : undefined;
    return (counts && own.of(model, usage, counts)) ?? [];
  });
  const family = familyOf(model);
  const isHourly = answers.some(({ usage }) => usage?.cacheWrite1h > 0);
  const perToken = own.named(model) ?? bills.at(-1);
  const unit = perToken === undefined ? 1 : PER_MILLION;
  const { input, cacheRead, cacheWrite } = perToken ?? family;
  return {
    unit: perToken === undefined ? "tokens" : "dollars",
    source: named ? "named" : perToken ? "billed" : "family",
    model,
    ttlSeconds: cache.ttlSeconds ?? (isHourly ? HOUR_SECONDS : family.ttlSeconds),
    input: input / unit,
    read: ((cache.read ?? cacheRead / input) * input) / unit,
    write: ((cache.write ?? cacheWrite / input) * input) / unit,
  };
}

/** The kind of cache that serves the model of these prices: "breakpoint" or "prefix". */
export function cacheKindOf({ format }, { model }) {
  return WITH_BREAKPOINTS.test(model || format) ? "breakpoint" : "prefix";
}

const modelOf = ({ provider, model }) => [provider, model].filter(Boolean).join("/");

function mostFrequent(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0];
}

/** The prices in words, for the first lines of a replay. */
export function pricesText({ unit, source, input, read, write }) {
  const ratio = (price) => `× ${Number((price / input).toPrecision(3))}`;
  const cached = `cache reads ${ratio(read)}, writes ${ratio(write)}`;
  if (unit === "tokens") return `${WORDS.family}: tokens are weighed, ${cached}; --price INPUT gives dollars`;
  return `$${Number(input.toPrecision(4))} per million tokens of input, ${WORDS[source]}; ${cached}`;
}

/** A cost as it is printed. */
export function costText(cost, { unit }) {
  return unit === "dollars" ? `$${cost.toFixed(2)}` : `${whole(cost)} tokens`;
}

/** Prices as the hook's option takes them, relative to input. */
export function cacheOf({ input, read, write, ttlSeconds }) {
  return { read: read / input, write: write / input, ttlSeconds };
}
