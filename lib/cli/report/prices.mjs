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
 * `{ unit, source, family, ttlSeconds, input, read, write, output }` for a recording: dollars per million tokens, or tokens of
 * input per token where `unit` is "tokens". `named` is what the user names, `cache` the hook's option.
 */
export function pricesOf(recording, named, cache) {
  const answers = recording.calls.map(({ at }) => recording.message(at));
  const model = mostFrequent(
    answers.map(({ provider, model }) => [provider, model].filter(Boolean).join("/")),
  );
  const family = familyOf(model);
  const billed = named === undefined ? billedIn(answers, model) : undefined;
  const given = typeof cache === "object" ? cache : {};
  const ttlSeconds = given.ttlSeconds ?? family.ttlSeconds;
  const input = billed?.input ?? named?.input;
  const unit = input === undefined ? "tokens" : "dollars";
  const base = input ?? 1;
  return {
    unit,
    source: billed ? "billed" : named ? "named" : "family",
    model,
    ttlSeconds,
    input: base,
    read: given.read !== undefined ? given.read * base : (billed?.cacheRead ?? base * family.cacheRead),
    write: given.write !== undefined ? given.write * base : (billed?.cacheWrite ?? base * family.cacheWrite),
    output: billed?.output ?? named?.output ?? base * family.output,
  };
}

function billedIn(answers, model) {
  const learned = new Prices();
  let last;
  for (const { provider, model: own, usage } of answers) {
    const counts = countsOf(usage);
    if (counts !== undefined && [provider, own].filter(Boolean).join("/") === model)
      last = learned.of(model, usage, counts) ?? last;
  }
  return last && Object.fromEntries(KINDS.map((kind) => [kind, last[kind] / PER_MILLION]));
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
