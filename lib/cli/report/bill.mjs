// The bill of a policy over one recorded session, under both cache models.

import prices from "../../bill/prices.js";
import { BreakpointCache, PrefixCache } from "./caches.mjs";
import { costOf } from "./prices.mjs";
import { Versions } from "./versions.mjs";

const { PER_MILLION } = prices;

/**
 * Plays a recording through `policy` (`(messages) => Promise<messages>`, called before each call with the messages before it)
 * and adds up the costs; `series` has the cost of each call. The loop is closed: the usage that a policy reads is that of its own
 * requests, not the recorded one. Sizes are the provider's tokens, by `estimates` (of `estimatesOf`). `onCall` gets each call:
 * `{ call, at, stretch, numbers, before, request, tokensBefore, tokens, dollars }`, its number, its answer's number, the messages
 * before it, and the versions that were sent.
 */
export async function billOf(
  recording,
  policy,
  { contextWindow, prices: by, estimates, versions = new Versions(), onCall },
) {
  const caches = { prefix: new PrefixCache(), breakpoint: new BreakpointCache() };
  const ttlMs = 1000 * by.ttlSeconds;
  const played = new Map();
  const playedAs = (number) => {
    if (!played.has(number)) played.set(number, { ...recording.message(number), usage: undefined });
    return played.get(number);
  };
  const bill = { ...emptyBill(), series: { prefix: [], breakpoint: [] } };
  for (const [i, { number: call, at, stretch }] of recording.calls.entries()) {
    const numbers = recording.numbersBefore(recording.calls[i]);
    const before = numbers.map(playedAs);
    const request = (await policy(before)).map((message) => versions.of(message));
    const { tokensOf, tokensBefore } = estimates[i];
    const tokens = tokensOf(countedIn(request));
    const answer = recording.message(at);
    const cost = {};
    for (const [model, cache] of Object.entries(caches)) {
      const cached = cache.read(request, answer.timestamp, ttlMs);
      const read = cached === undefined ? 0 : Math.min(tokens, tokensOf(countedIn(cached)));
      cost[model] = costOf(tokens, read, by);
      bill.dollars[model] += cost[model];
      bill.series[model].push(Number(cost[model].toPrecision(6)));
      bill.readTokens[model] += read;
      if (model === "prefix") played.set(at, withUsage(answer, tokens, read, by));
    }
    bill.calls += 1;
    bill.tokens += tokens;
    bill.peak = Math.max(bill.peak, tokens);
    bill.overflows += tokens > contextWindow ? 1 : 0;
    onCall?.({ call, at, stretch, numbers, before, request, tokensBefore, tokens, dollars: cost });
  }
  return bill;
}

/** cl100k tokens of a request. */
function countedIn(request) {
  return request.reduce((sum, { counted }) => sum + counted, 0);
}

export function emptyBill() {
  return {
    calls: 0,
    tokens: 0,
    peak: 0,
    overflows: 0,
    dollars: { prefix: 0, breakpoint: 0 },
    readTokens: { prefix: 0, breakpoint: 0 },
  };
}

/** Share of the input that a prefix cache served. */
export function hitRate({ readTokens, tokens }) {
  return tokens > 0 ? readTokens.prefix / tokens : 1;
}

/** `message` with the usage and the cost of the request that was really made. */
function withUsage(message, tokens, read, { unit = "dollars", ...by }) {
  const [cacheRead, cacheWrite] = [Math.round(read), Math.round(tokens - read)];
  const cost = {
    input: 0,
    cacheRead: PER_MILLION * cacheRead * by.read,
    cacheWrite: PER_MILLION * cacheWrite * by.write,
  };
  const output = message.usage?.output ?? 0;
  return {
    ...message,
    usage: { input: 0, output, cacheRead, cacheWrite, ...(unit === "dollars" && { cost }) },
  };
}
