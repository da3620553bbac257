// Decides if the provider's cache is worth another refresh, or may go cold: on a cold cache a batch costs no rewriting.

import strata from "../index.js";
import contract from "../lib/contract.js";

/** Largest share of the prompt that a batch may leave to be worth a cold cache. */
const MAX_LEFT_SHARE = 0.95;
/** Default life in seconds of a cache that nobody refreshes. */
const TTL_SECONDS = contract.cacheTtlSeconds;

/**
 * True if letting the cache of the last request go cold costs less than keeping it. pi's `event` has the price of a refresh, the
 * loss without it, and the probability of a request in time. `messages` are those of the last request, `next` those of the next.
 * With a warm cache the next requests read the whole prompt. With a cold one the next request writes what a batch leaves, and
 * later ones read only that.
 */
export async function paysToLetCool(event, messages, next, options) {
  const { action, warmCost, missCost, continuationProbability: chance } = event;
  const cache = current(options.cache);
  if (action !== "warm" || cache?.read === undefined || !(missCost > 0) || !(warmCost >= 0) || !(chance > 0))
    return false;
  const coldAt = [...current(options.coldAt ?? []), next.at(-1).timestamp];
  const { tokensAfter: left } = await strata.explain(next, { ...options, coldAt });
  const { tokensAfter: held } = await strata.explain(messages, options);
  if (left > MAX_LEFT_SHARE * held) return false;
  const { read, write, ttlSeconds = TTL_SECONDS } = cache;
  const dollarsPerToken = missCost / (Math.max(write - read, read) * held);
  const refresh = warmCost / dollarsPerToken;
  const kept = refresh + chance * read * held;
  const cooled = chance * (write * left - expectedCalls(messages, 1000 * ttlSeconds) * read * (held - left));
  return cooled < kept;
}

/** The value of an option that may be a function. */
export const current = (option) => (typeof option === "function" ? option() : option);

/**
 * Calls expected before the cache next expires: as many as there were between two pauses so far. A session lasts about as long
 * again as it has lasted.
 */
function expectedCalls(messages, ttlMs) {
  const calls = messages.filter(({ role }) => role === "assistant").length;
  const isAfterPause = ({ timestamp }, i) => timestamp - messages[i - 1]?.timestamp > ttlMs;
  return calls / (1 + messages.filter(isAfterPause).length);
}
