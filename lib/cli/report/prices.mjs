// The prices of a replay: those the user names, else those the session was billed at. Without either, tokens are weighed by the
// ratios of the model's family, and nothing is in dollars.

import prices from "../../bill/prices.js";

const { Prices, countsOf, familyOf, KINDS, PER_MILLION } = prices;
const WORDS = {
  billed: "as the session was billed",
  named: "as --price names it",
  family: "as no price is known",
};

/**
 * `{ unit, source, model, ttlSeconds, input, read, write, output }` for a recording: dollars per million tokens, or tokens of
 * input per token if `unit` is "tokens". `named` are the user's prices, `cache` is the hook's option.
 */
export function pricesOf(recording, named, cache) {
  const answers = recording.calls.map(({ at }) => recording.message(at));
  const model = mostFrequent(answers.map(modelOf));
  const family = familyOf(model);
  const billed = named === undefined ? billedIn(answers, model) : undefined;
  const base = named?.input ?? 1;
  const prices = billed ?? Object.fromEntries(KINDS.map((kind) => [kind, base * family[kind]]));
  const given = typeof cache === "object" ? cache : {};
  const { input } = prices;
  return {
    unit: (billed ?? named) ? "dollars" : "tokens",
    source: billed ? "billed" : named ? "named" : "family",
    model,
    ttlSeconds: given.ttlSeconds ?? family.ttlSeconds,
    input,
    read: given.read === undefined ? prices.cacheRead : given.read * input,
    write: given.write === undefined ? prices.cacheWrite : given.write * input,
    output: named?.output ?? prices.output,
  };
}

/** The prices that the newest calls of a model were billed at; undefined if none was. */
function billedIn(answers, model) {
  const learned = new Prices();
  const reported = answers.filter((answer) => modelOf(answer) === model && countsOf(answer.usage));
  const prices = reported.map(({ usage }) => learned.of(model, usage, countsOf(usage))).filter(Boolean);
  const last = prices.at(-1);
  return last && Object.fromEntries(KINDS.map((kind) => [kind, last[kind] / PER_MILLION]));
}

function modelOf({ provider, model }) {
  return [provider, model].filter(Boolean).join("/");
}

function mostFrequent(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const [found] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [""];
  return found;
}

/** The prices in words, for the first lines of a replay. */
export function pricesText({ unit, source, input, read, write }) {
  const ratio = (price) => `× ${Number((price / input).toPrecision(3))}`;
  const cached = `cache reads ${ratio(read)}, writes ${ratio(write)}`;
  if (unit === "tokens") return `${WORDS.family}: tokens are weighed, ${cached}; --price INPUT gives dollars`;
  return `$${Number(input.toPrecision(4))} per million tokens of input, ${WORDS[source]}; ${cached}`;
}

/** The cost of a request in dollars, or in tokens of input where no price is known. */
export function costOf(tokens, readTokens, { unit, read, write }) {
  return (unit === "dollars" ? PER_MILLION : 1) * (readTokens * read + (tokens - readTokens) * write);
}

/** A cost as it is printed. */
export function costText(cost, { unit }) {
  return unit === "dollars" ? `$${cost.toFixed(2)}` : `${Math.round(cost).toLocaleString("en-US")} tokens`;
}

/** Prices as the hook's option takes them, relative to input. */
export function cacheOf({ input, read, write, ttlSeconds }) {
  return { read: read / input, write: write / input, ttlSeconds };
}
