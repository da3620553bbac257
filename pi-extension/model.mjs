// Settings of the hook that follow from the model in use: its window and prices in pi's catalogue, and the size above which
// pi compacts. What the catalogue omits is learned by the hook.

import strata from "../index.js";
import { whole } from "../lib/cli/numbers.mjs";
import contract from "../lib/contract.js";

/** Share of a size that requests stay below: 95 of 100 estimates of a prompt are off by 0.4 % at most. */
const MARGIN = 0.98;
/** Tokens that a call adds to the context, the mean of 1,745 calls in seven recorded sessions. */
const TOKENS_PER_CALL = 900;
/** Default of pi's `compaction.reserveTokens`. */
const PI_RESERVE_TOKENS = 16_384;
/** Least share of the window that pi's trigger must leave for requests; below it pi's compaction is declined. */
const LEAST_SHARE = 0.5;
/** Most of the window that the hook keeps free by default, as a share. */
const MAX_RESERVED_SHARE = 0.25;
/** Price of a token written for an hour, relative to input, at Anthropic. */
const HOUR_WRITE = 2;
/** Documented lifetime in seconds of entries written to live long, by API, for models whose catalogue entry omits it. */
const LONG_SECONDS = {
  "anthropic-messages": 3_600,
  "bedrock-converse-stream": 3_600,
  "openai-responses": 86_400,
};
/** Believable cache prices, as shares of the input's price. */
const READ_RANGE = [0.001, 1];
const WRITE_RANGE = [0.5, 3];

/**
 * The hook's settings for a model of pi's, `{ contextWindow, cache, maxPromptTokens, source, compactsAbove, declines, notes }`:
 * `source` names what sets `maxPromptTokens`, `compactsAbove` is the size above which pi compacts, `declines` is true if that
 * leaves too little of the window, and `notes` are sentences about all of it.
 */
export function termsOf(model, compaction, env = process.env) {
  const contextWindow = isAmount(model?.contextWindow) ? model.contextWindow : strata.getContextWindow();
  const prices = priceTerms(model, contextWindow, env);
  const compactsAbove = triggerOf(model, contextWindow, compaction);
  const declines = compactsAbove < LEAST_SHARE * contextWindow;
  const belowPi = declines ? undefined : MARGIN * compactsAbove - TOKENS_PER_CALL;
  const [source, limit] = [
    ["a price step", prices.step && MARGIN * prices.step.above],
    ["pi's compaction", belowPi],
  ].reduce((least, next) => (next[1] < (least[1] ?? Number.POSITIVE_INFINITY) ? next : least), []);
  const notes = [prices.note];
  if (compactsAbove !== undefined && !declines)
    notes.push(`pi compacts above ${whole(compactsAbove)} tokens; requests stay below that.`);
  return {
    contextWindow,
    cache: prices.cache,
    maxPromptTokens: limit && Math.floor(limit),
    source,
    compactsAbove,
    declines,
    notes,
  };
}

/** The size of a context above which pi compacts it; undefined if the user switched that off. */
function triggerOf(model, contextWindow, compaction = {}) {
  if (compaction.enabled === false) return undefined;
  const own = compaction.modelOverrides?.[`${model?.provider}/${model?.id}`]?.reserveTokens;
  const given = [own, compaction.reserveTokens].find((tokens) => Number.isInteger(tokens) && tokens >= 0);
  return contextWindow - (given ?? PI_RESERVE_TOKENS);
}

/** Most tokens of a request that leaves room for the answer: the window less what the hook keeps free. */
export function roomOf(contextWindow, reserveTokens) {
  const usual = Math.min(contract.hookOptions.reserveTokens.default, MAX_RESERVED_SHARE * contextWindow);
  return contextWindow - (reserveTokens ?? usual);
}

/** What the catalogue's prices say: `{ cache, step, note }`. */
function priceTerms(model, contextWindow, env) {
  const name = `${model?.provider ?? "unknown"}/${model?.id ?? "model"}`;
  const prices = pricesOf(model?.cost);
  if (prices === undefined)
    return { note: `Prices of ${name}: pi's catalogue names none; they are learned from the bills.` };
  const cache = { read: prices.read, write: prices.write, ...livesLong(model, env) };
  const { steps, isOdd } = stepsOf(model.cost, prices.read);
  const step = steps.find(
    ({ above, factor }) => above < contextWindow && paysToStayBelow(above, factor, cache),
  );
  const parts = [
    `Prices of ${name}: $${model.cost.input} a million tokens of input, cache reads × ${round(cache.read)}, writes × ${round(cache.write)}`,
    step &&
      `× ${round(step.factor)} above ${whole(step.above)}, so requests stay below ${whole(MARGIN * step.above)}`,
    isOdd && "some of its price steps are no prices and are ignored",
  ];
  return { cache, step, note: `${parts.filter(Boolean).join("; ")}.` };
}

/** Prices as shares of the input's price; undefined without one. A missing price counts as the input's. */
function pricesOf(cost) {
  if (!isAmount(cost?.input)) return undefined;
  const share = (price, [least, most]) => {
    const relative = price / cost.input;
    return relative >= least && relative <= most ? relative : undefined;
  };
  const read = share(cost.cacheRead, READ_RANGE);
  return read && { read, write: Math.max(1, share(cost.cacheWrite, WRITE_RANGE) ?? 1) };
}

/** The lifetime that pi asks for, and its price. */
function livesLong({ api, promptCache, cost }, { PI_CACHE_RETENTION }) {
  const isLong = PI_CACHE_RETENTION === "long";
  const named = isLong ? (promptCache?.long ?? LONG_SECONDS[api]) : promptCache?.short;
  const ttlSeconds = isAmount(named) ? named : undefined;
  const isDear = isLong && ttlSeconds !== undefined && cost.cacheWrite > cost.input;
  return { ttlSeconds, ...(isDear && api !== "openai-responses" && { write: HOUR_WRITE }) };
}

/** Sizes above which a request costs more, smallest first, each with its factor. */
function stepsOf({ input, cacheRead, tiers }, read) {
  const given = Array.isArray(tiers) ? tiers : [];
  const steps = given
    .filter((tier) => isAmount(tier?.inputTokensAbove) && isAmount(tier.input))
    .map((tier) => {
      const base = read * input;
      const held =
        isAmount(tier.cacheRead) && isAmount(cacheRead) ? tier.cacheRead / base : tier.input / input;
      return { above: tier.inputTokensAbove, factor: held };
    })
    .sort((a, b) => a.above - b.above);
  return { steps, isOdd: steps.length < given.length || (tiers !== undefined && !Array.isArray(tiers)) };
}

/** True if reading the whole context above the step costs more extra than rewriting what one call adds below it. */
function paysToStayBelow(above, factor, { read, write }) {
  return (factor - 1) * read * above > (write - read) * TOKENS_PER_CALL;
}

function isAmount(value) {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function round(value) {
  return Number(value.toPrecision(3));
}
