// Settings of the hook that follow from the model in use: its window and prices in pi's catalogue, and the size above which
// pi compacts. The hook learns what the catalogue omits.

import strata from "../index.js";
import contract from "../lib/contract.js";

/** Share of a size that requests stay below: 95 of 100 estimates of a prompt are off by 0.4 % at most. */
export const MARGIN = 0.98;
/** Tokens that a call adds to the context, the mean of 1,745 calls in seven recorded sessions. */
const TOKENS_PER_CALL = 900;
/** Default of pi's `compaction.reserveTokens`. */
const PI_RESERVE_TOKENS = 16_384;
/** Least share of the window that pi's trigger must leave for requests; below it pi's compaction is declined. */
const LEAST_SHARE = 0.5;
/** Price of a token written for an hour, relative to input, at Anthropic. */
const HOUR_WRITE = contract.constants.hourWrite.default;
/** Documented lifetime in seconds of entries written to live long, by API, for models whose catalogue entry omits it. */
const LONG_SECONDS = {
  "anthropic-messages": 3_600,
  "bedrock-converse-stream": 3_600,
  "openai-responses": 86_400,
};
/** The lifetime that pi asks for in OpenAI's explicit cache mode, from GPT-5.6 on. */
const EXPLICIT_SECONDS = 1_800;
/** Believable cache prices, as shares of the input's price. */
const READ_RANGE = [0.001, 1];
const WRITE_RANGE = [0.5, 3];

/**
 * The hook's settings for a model of pi's: `contextWindow`, `cache`, `maxPromptTokens` with its `source`, and the price `step`
 * just above that. pi compacts above `compactsAbove`; `declines` is true if that leaves too little of the window. `isBlind` is true
 * if the model takes no images. `limit` is the window that the server named in a refusal.
 */
export function termsOf(
  model,
  compaction,
  { limit = Number.POSITIVE_INFINITY, blocksImages = false, env = process.env } = {},
) {
  const catalogued = isAmount(model?.contextWindow) ? model.contextWindow : strata.getContextWindow();
  const { cache, steps } = pricesOf(model ?? {}, env);
  const step = steps.find(({ above, factor }) => above < catalogued && paysToStayBelow(above, factor, cache));
  const compactsAbove = triggerOf(model, catalogued, compaction);
  const declines = compactsAbove < LEAST_SHARE * catalogued;
  const [most] = [
    { source: "a price step", tokens: MARGIN * step?.above },
    { source: "pi's compaction", tokens: declines ? 0 : MARGIN * compactsAbove - TOKENS_PER_CALL },
  ]
    .filter(({ tokens }) => isAmount(tokens))
    .sort((a, b) => a.tokens - b.tokens);
  return {
    catalogued,
    limit,
    contextWindow: Math.min(catalogued, limit),
    windowSource: limit < catalogued ? "a refusal" : "pi's catalogue",
    cache,
    step,
    maxPromptTokens: most && Math.floor(most.tokens),
    source: most?.source,
    compactsAbove,
    declines,
    isBlind: blocksImages || (Array.isArray(model?.input) && !model.input.includes("image")),
  };
}

/** The size of a context above which pi compacts it; undefined if the user switched that off. */
function triggerOf(model, contextWindow, compaction) {
  if (compaction?.enabled === false) return undefined;
  const own = compaction?.modelOverrides?.[`${model?.provider}/${model?.id}`]?.reserveTokens;
  const given = [own, compaction?.reserveTokens].find((tokens) => Number.isInteger(tokens) && tokens >= 0);
  return contextWindow - (given ?? PI_RESERVE_TOKENS);
}

/** Most tokens of a request: the window less what the hook keeps free for the answer, and no more than pi leaves alone. */
export function roomOf({ compactsAbove, declines }, contextWindow, reserve) {
  const room = contextWindow - reserve;
  return declines || compactsAbove === undefined ? room : Math.min(room, compactsAbove);
}

/** Prices relative to input, the lifetime that pi asks for, and the sizes above which a request costs more. */
function pricesOf({ cost, api, promptCache, compat }, { PI_CACHE_RETENTION }) {
  const share = (price, [least, most]) => {
    const relative = Number((price / cost.input).toPrecision(6));
    return relative >= least && relative <= most ? relative : undefined;
  };
  if (!isAmount(cost?.input)) return { steps: [] };
  const read = share(cost.cacheRead, READ_RANGE);
  const isLong = PI_CACHE_RETENTION === "long" && compat?.supportsLongCacheRetention !== false;
  const long = compat?.supportsExplicitPromptCacheMode ? EXPLICIT_SECONDS : promptCache?.long;
  const named = isLong ? (long ?? LONG_SECONDS[api]) : promptCache?.short;
  const ttlSeconds = isAmount(named) ? named : undefined;
  const isDear = isLong && ttlSeconds && cost.cacheWrite > cost.input && api !== "openai-responses";
  const write = isDear ? HOUR_WRITE : Math.max(1, share(cost.cacheWrite, WRITE_RANGE) ?? 1);
  const steps = [cost.tiers ?? []]
    .flat()
    .filter((tier) => isAmount(tier?.inputTokensAbove) && isAmount(tier.input))
    .map(({ inputTokensAbove, input, cacheRead }) => ({
      above: inputTokensAbove,
      factor: read && isAmount(cacheRead) ? cacheRead / cost.cacheRead : input / cost.input,
    }))
    .sort((a, b) => a.above - b.above);
  const cache = read && { read, write, ttlSeconds };
  return { cache, steps };
}

/**
 * True if reading the whole context above the step costs more extra than rewriting what one call adds below it. Without a
 * price of cache reads all tokens cost the same.
 */
function paysToStayBelow(above, factor, { read, write } = { read: 1, write: 1 }) {
  return (factor - 1) * read * above > (write - read) * TOKENS_PER_CALL;
}

const isAmount = (value) => Number.isFinite(value) && value > 0;
