// The model in use by pi's catalogue, as the hook takes it: the window, the cache's prices and its time to live,
// and the size to stay below where longer prompts cost more. What the catalogue does not say is left to the hook.

import strata from "../index.js";

/** Share of a price step that requests stay below: 95 of 100 estimates of a prompt are off by 0.4 % at most. */
const STEP_MARGIN = 0.98;
/** Tokens that a call adds to the context, the mean of 1,745 calls in seven recorded sessions. */
const TOKENS_PER_CALL = 900;
/** Price of a token written for an hour, relative to input, at Anthropic. */
const HOUR_WRITE = 2;
/** Seconds that entries live which were asked to live long, where the catalogue does not say: what providers document. */
const LONG_SECONDS = {
  "anthropic-messages": 3_600,
  "bedrock-converse-stream": 3_600,
  "openai-responses": 86_400,
};
/** Shares of the input's price outside of which a price is a mistake. */
const READ_RANGE = [0.001, 1];
const WRITE_RANGE = [0.5, 3];

/** `{ contextWindow, cache, maxPromptTokens, note }` of a model of pi's; `note` says in one line what they rest on. */
export function termsOf(model, env = process.env) {
  const contextWindow = isAmount(model?.contextWindow) ? model.contextWindow : strata.getContextWindow();
  const name = `${model?.provider ?? "unknown"}/${model?.id ?? "model"}`;
  const prices = pricesOf(model?.cost);
  if (prices === undefined)
    return {
      contextWindow,
      note: `Prices of ${name}: pi's catalogue names none; they are learned from the bills.`,
    };
  const cache = { read: prices.read, write: prices.write, ...livesLong(model, env) };
  const { steps, isOdd } = stepsOf(model.cost, prices.read);
  const step = steps.find(
    ({ above, factor }) => above < contextWindow && paysToStayBelow(above, factor, cache),
  );
  const maxPromptTokens = step && Math.floor(STEP_MARGIN * step.above);
  const parts = [
    `Prices of ${name}: $${model.cost.input} a million tokens of input, cache reads × ${round(cache.read)}, writes × ${round(cache.write)}`,
    step &&
      `× ${round(step.factor)} above ${number(step.above)}, so requests stay below ${number(maxPromptTokens)}`,
    isOdd && "some of its price steps are no prices and are passed over",
  ];
  return { contextWindow, cache, maxPromptTokens, note: `${parts.filter(Boolean).join("; ")}.` };
}

/** Shares of the input's price; undefined without one. What nobody charges for costs what input does. */
function pricesOf(cost) {
  if (!isAmount(cost?.input)) return undefined;
  const share = (price, [least, most]) => {
    const relative = price / cost.input;
    return relative >= least && relative <= most ? relative : undefined;
  };
  const read = share(cost.cacheRead, READ_RANGE);
  return read && { read, write: Math.max(1, share(cost.cacheWrite, WRITE_RANGE) ?? 1) };
}

/** Entries live as long as pi asks for them to. */
function livesLong({ api, promptCache, cost }, { PI_CACHE_RETENTION }) {
  const isLong = PI_CACHE_RETENTION === "long";
  const named = isLong ? (promptCache?.long ?? LONG_SECONDS[api]) : promptCache?.short;
  const ttlSeconds = isAmount(named) ? named : undefined;
  const isDear = isLong && ttlSeconds !== undefined && cost.cacheWrite > cost.input;
  return { ttlSeconds, ...(isDear && api !== "openai-responses" && { write: HOUR_WRITE }) };
}

/** Sizes above which a request costs more, the smallest first, each with how many times as much. */
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

/** Above the step each call pays more for all it reads; below it each token that a call adds is written anew once. */
function paysToStayBelow(above, factor, { read, write }) {
  return (factor - 1) * read * above > (write - read) * TOKENS_PER_CALL;
}

function isAmount(value) {
  return typeof value === "number" && Number.isFinite(value) && value > 0;
}

function round(value) {
  return Number(value.toPrecision(3));
}

function number(tokens) {
  return Math.round(tokens).toLocaleString("en-US");
}
