// The bill of a policy over one recorded session, under the two ways in which providers cache prompts.

import prices from "../../bill/prices.js";
import { Versions } from "./versions.mjs";

const { PER_MILLION } = prices;

/** The sums of a bill: the number of calls, their tokens, and by kind of cache the costs and the tokens read. */
export const emptyBill = () => ({
  calls: 0,
  tokens: 0,
  peak: 0,
  overflows: 0,
  dollars: { prefix: 0, breakpoint: 0 },
  readTokens: { prefix: 0, breakpoint: 0 },
});

/**
 * Plays a recording through `policy` (`(messages) => Promise<messages>`, called before each call with the messages before it)
 * and adds up the costs; `series` has the cost of each call. The loop is closed: the usage that a policy reads is that of its own
 * requests, not the recorded one. Sizes are the provider's tokens, by `estimates` (of `estimatesOf`). `onCall` gets each call:
 * `{ call, at, stretch, numbers, before, request, tokensBefore, tokens }`, its number, its answer's number, the messages before
 * it, and the versions that were sent.
 */
export async function billOf(
  recording,
  policy,
  { contextWindow, prices: by, estimates, versions = new Versions(), onCall },
) {
  const caches = { prefix: prefixCache(), breakpoint: breakpointCache() };
  const bill = { ...emptyBill(), series: { prefix: [], breakpoint: [] } };
  const played = recording.all.map((message) => ({ ...message, usage: undefined }));
  for (const [i, call] of recording.calls.entries()) {
    const { number, at, stretch } = call;
    const numbers = recording.numbersBefore(call);
    const before = numbers.map((each) => played[each]);
    const request = (await policy(before)).map((message) => versions.of(message));
    const { tokensOf, tokensBefore } = estimates[i];
    const tokens = tokensOf(countedIn(request));
    const answer = recording.message(at);
    for (const [kind, readable] of Object.entries(caches)) {
      const cached = readable(request, answer.timestamp, 1000 * by.ttlSeconds);
      const read = cached === undefined ? 0 : Math.min(tokens, tokensOf(countedIn(cached)));
      const unit = by.unit === "tokens" ? 1 : PER_MILLION;
      const cost = unit * (read * by.read + (tokens - read) * by.write);
      bill.dollars[kind] += cost;
      bill.series[kind].push(Number(cost.toPrecision(6)));
      bill.readTokens[kind] += read;
      if (kind === "prefix") played[at] = { ...answer, usage: usageOf(answer, tokens, read, by) };
    }
    bill.calls += 1;
    bill.tokens += tokens;
    bill.peak = Math.max(bill.peak, tokens);
    bill.overflows += tokens > contextWindow ? 1 : 0;
    onCall?.({ call: number, at, stretch, numbers, before, request, tokensBefore, tokens });
  }
  return bill;
}

/** cl100k tokens of a request. */
function countedIn(request) {
  return request.reduce((sum, { counted }) => sum + counted, 0);
}

/** Share of the input that a prefix cache served. */
export function hitRate({ readTokens, tokens }) {
  return tokens > 0 ? readTokens.prefix / tokens : 1;
}

/** The usage of the request that was really made, with its cost. */
function usageOf({ usage }, tokens, read, { unit, ...by }) {
  const [cacheRead, cacheWrite] = [Math.round(read), Math.round(tokens - read)];
  const costs = [cacheRead * by.read, cacheWrite * by.write].map((cost) => PER_MILLION * cost);
  const cost = unit === "tokens" ? undefined : { input: 0, cacheRead: costs[0], cacheWrite: costs[1] };
  return { input: 0, output: usage?.output ?? 0, cacheRead, cacheWrite, cost };
}

/** Returns the beginning that a request shares with the one before it; undefined if that has expired. */
function prefixCache() {
  let last;
  return (request, timeMs, ttlMs) => {
    const { request: earlier, timeMs: then } = last ?? {};
    last = { request, timeMs };
    return earlier === undefined || timeMs - then > ttlMs
      ? undefined
      : request.slice(0, commonRun(request, earlier));
  };
}

/** Returns the longest whole earlier request that one begins with; reading keeps an entry alive. */
function breakpointCache() {
  let entries = [];
  return (request, timeMs, ttlMs) => {
    entries = entries.filter((entry) => timeMs - entry.timeMs <= ttlMs);
    const whole = entries.filter((entry) => commonRun(request, entry.request) === entry.request.length);
    const [hit] = whole.sort((a, b) => b.request.length - a.request.length);
    if (hit !== undefined) hit.timeMs = timeMs;
    entries.push({ request, timeMs });
    return hit?.request;
  };
}

function commonRun(request, earlier) {
  const end = Math.min(request.length, earlier.length);
  let at = 0;
  while (at < end && request[at] === earlier[at]) at += 1;
  return at;
}
