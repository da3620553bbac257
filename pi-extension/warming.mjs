// Decides if the provider's cache is worth another refresh, or may go cold: on a cold cache a batch costs no rewriting.

import strata from "../index.js";

/** A batch that leaves more than this share of the prompt is no reason to let the cache go. */
const MAX_LEFT_SHARE = 0.95;
/** A cache that nobody refreshed is gone after so long. */
const PAUSE_MS = 300_000;

/**
 * True if letting the cache of the last request go cold costs less than keeping it. `event` is pi's: the price of a refresh,
 * what is lost without it, and how likely a request comes in time. In tokens of input: kept warm, the next request reads the
 * whole prompt, and so do those after it; gone cold, it writes what a batch leaves, and those after it read only that.
 */
export async function paysToLetCool(event, { messages }, options) {
  const { action, warmCost, missCost, continuationProbability: chance } = event ?? {};
  const cache = options.cache?.();
  if (action !== "warm" || cache === undefined || !(missCost > 0) || !(warmCost >= 0) || !(chance > 0))
    return false;
  const now = Date.now();
  const asked = { role: "user", content: ".", timestamp: now };
  const cold = [...(options.coldAt?.() ?? []), now];
  const ifCold = { ...options, coldAt: () => cold, onEvent: undefined };
  const { tokensAfter: left } = await strata.explain([...messages, asked], ifCold);
  const { tokensAfter: held } = await strata.explain(messages, { ...options, onEvent: undefined });
  if (left > MAX_LEFT_SHARE * held) return false;
  const { read, write } = cache;
  const dollarsPerToken = missCost / (Math.max(write - read, read) * held);
  const refresh = warmCost / dollarsPerToken;
  const kept = refresh + chance * read * held;
  const cooled = chance * (write * left - expectedCalls(messages) * read * (held - left));
  return cooled < kept;
}

/**
 * Calls expected before the next pause. A session that has lasted for so many calls lasts about as many more, and the stretches
 * between pauses are as long as they were.
 */
function expectedCalls(messages) {
  const calls = messages.filter(({ role }) => role === "assistant").length;
  const isAfterPause = ({ timestamp }, i) => timestamp - messages[i - 1]?.timestamp > PAUSE_MS;
  return calls / (1 + messages.filter(isAfterPause).length);
}
