// Plays a recording through a policy and bills it, under the two ways in which providers cache prompts. Sizes are the provider's
// tokens, estimated by a line through the size that was reported for each call. Each model has its own slope.

import { isDeepStrictEqual } from "node:util";
import { countsOf, PER_MILLION } from "../../bill/prices.js";
import { countTokens } from "../../tools/count.js";
import { quantile } from "../numbers.mjs";
import { modelOf } from "./prices.mjs";

/** Smallest number of cl100k tokens between two calls that shows how the provider counts. */
const MIN_STEP_TOKENS = 200;
/** Range of provider tokens per cl100k token. A value outside of it has another cause than counting. */
const SCALES = [0.5, 3];
/** A report smaller than its messages by more than this share and these tokens is about another list. */
const DISAGREES_SHARE = 0.1;
const DISAGREES_TOKENS = 2_000;
/** Quantile of the usual overhead if messages were left out: most requests lack some, and the largest may be an outlier. */
const ODD_SHARE = 0.9;

/**
 * One `{ tokensBefore, reported, isOdd, tokensOf }` per call of a recording. `tokensBefore` are the tokens of its messages: those
 * `reported`, or an estimate. `isOdd` is true if far fewer were reported: the host, or our hook, left some out.
 * `tokensOf(counted)` converts `counted` cl100k tokens of another request at this call. Without usage it only adds
 * `overheadTokens`.
 */
export function estimatesOf(recording, { overheadTokens = 0 } = {}) {
  const calls = recording.calls.map((call) => {
    const { model, usage } = recording.all[call.at];
    const counted = countedIn(recording.messagesBefore(call));
    return { stretch: call.stretch, model, reported: countsOf(usage)?.prompt, counted };
  });
  const told = calls.filter(({ reported }) => reported !== undefined);
  const models = [...new Set(told.map(({ model }) => model))];
  const scales = models.map((model) => scalesBetween(told.filter((call) => call.model === model)));
  const common = quantile(scales.flat(), 0.5) ?? 1;
  const scaleBy = new Map(models.map((model, i) => [model, quantile(scales[i], 0.5)]));
  const scaleOf = ({ model }) => scaleBy.get(model) ?? common;
  const beside = (call) => call.reported - scaleOf(call) * call.counted;
  const isOdd = (call) => -beside(call) > Math.max(DISAGREES_TOKENS, DISAGREES_SHARE * call.reported);
  const others = told.filter((call) => !isOdd(call));
  const usual = quantile(others.map(beside), others.length < told.length ? ODD_SHARE : 0.5) ?? overheadTokens;
  let last = usual;
  return calls.map((call) => {
    if (call.reported !== undefined) last = isOdd(call) ? usual : beside(call);
    const [base, scale] = [last, scaleOf(call)];
    const lineAt = (tokens) => Math.round(Math.max(0, base + scale * tokens));
    const { reported } = call;
    const tokensBefore = reported === undefined || isOdd(call) ? lineAt(call.counted) : reported;
    const tokensOf = (tokens) => (tokens === call.counted ? tokensBefore : lineAt(tokens));
    return { tokensBefore, reported, isOdd: isOdd(call), tokensOf };
  });
}

/** cl100k tokens of messages, each counted once. */
export const countedIn = (messages) => messages.reduce((sum, message) => sum + countOf(message), 0);
const counts = new WeakMap();

function countOf(message) {
  if (!counts.has(message)) counts.set(message, countTokens(message));
  return counts.get(message);
}

/** Provider tokens per cl100k token, from each report of one model to its next in the same stretch. */
function scalesBetween(told) {
  return told.flatMap((call, i) => {
    const last = told[i - 1];
    if (last?.stretch !== call.stretch) return [];
    const tokens = call.counted - last.counted;
    const scale = (call.reported - last.reported) / tokens;
    return tokens >= MIN_STEP_TOKENS && scale >= SCALES[0] && scale <= SCALES[1] ? [scale] : [];
  });
}

/**
 * Plays a recording through `policy` (`(messages) => Promise<messages>`, called before each call with the messages before it)
 * and adds up the costs; `series` has the cost of each call. The loop is closed: a policy reads the usage of its own requests under
 * the `cache` of the setting, not the recorded one. `byCall` has a price per call; without it `prices` holds for all. `calls` lists
 * the calls to play, by default all. `onCall` gets each call: `{ number, at, stretch, before, request, answer, tokensBefore,
 * tokens }`, its number, its answer's number, the messages before it, those that were sent, and the answer with its usage.
 */
export async function billOf(recording, policy, setting) {
  const { contextWindow, prices: by, byCall, estimates, cache = "prefix", onCall } = setting;
  const { calls = recording.calls } = setting;
  const life = { ttlMs: 1000 * (by.ttlSeconds ?? Infinity), warmedAt: recording.times.warmedAt };
  const caches = { prefix: cacheModel("prefix", life), breakpoint: cacheModel("breakpoint", life) };
  const bill = {
    ...{ calls: 0, tokens: 0, peak: 0, overflows: 0 },
    dollars: { prefix: 0, breakpoint: 0 },
    readTokens: { prefix: 0, breakpoint: 0 },
    series: { prefix: [], breakpoint: [] },
  };
  const played = recording.all.map((message) => ({ ...message, usage: undefined }));
  const unit = by.unit === "tokens" ? 1 : PER_MILLION;
  for (const [i, call] of calls.entries()) {
    const { number, at, stretch } = call;
    const before = recording.numbersBefore(call).map((each) => played[each]);
    const request = await policy(before);
    const { tokensOf, tokensBefore } = estimates[i];
    const tokens = tokensOf(countedIn(request));
    const answer = recording.all[at];
    const price = byCall?.[i] ?? by;
    for (const [kind, readable] of Object.entries(caches)) {
      const cached = readable(request, modelOf(answer), answer.timestamp);
      const read = cached === undefined ? 0 : Math.min(tokens, tokensOf(countedIn(cached)));
      const cost = unit * (read * price.read + (tokens - read) * price.write);
      bill.dollars[kind] += cost;
      bill.series[kind].push(Number(cost.toPrecision(6)));
      bill.readTokens[kind] += read;
      if (kind === cache)
        played[at] = { ...answer, usage: usageOf(answer, { tokens, read, price, unit: by.unit }) };
    }
    bill.calls += 1;
    bill.tokens += tokens;
    bill.peak = Math.max(bill.peak, tokens);
    bill.overflows += tokens > contextWindow ? 1 : 0;
    onCall?.({ number, at, stretch, before, request, answer: played[at], tokensBefore, tokens });
  }
  return bill;
}

/** The usage of the request sent, with its cost where a price is known. It writes for an hour as the recorded one did. */
function usageOf({ usage }, { tokens, read, price, unit }) {
  const [cacheRead, cacheWrite] = [Math.round(read), Math.round(tokens - read)];
  const costs = [cacheRead * price.read, cacheWrite * price.write].map((cost) => PER_MILLION * cost);
  const cost = unit === "dollars" ? { input: 0, cacheRead: costs[0], cacheWrite: costs[1] } : undefined;
  const cacheWrite1h = usage?.cacheWrite1h > 0 ? cacheWrite : undefined;
  return { input: 0, output: usage?.output ?? 0, cacheRead, cacheWrite, cacheWrite1h, cost };
}

/**
 * A cache that returns the longest prefix of a request that it holds for a model, or undefined. A "prefix" cache serves any
 * beginning of an earlier request, a "breakpoint" cache only whole ones. Reading keeps an entry alive; at the times `warmedAt`
 * the host keeps the newest alive.
 */
function cacheModel(kind, { ttlMs, warmedAt }) {
  let entries = [];
  const isAlive = (entry, timeMs) => !(timeMs - entry.timeMs > ttlMs);
  const warm = (entry, timeMs) => {
    if (timeMs > entry?.timeMs && isAlive(entry, timeMs)) entry.timeMs = timeMs;
  };
  return (request, model, timeMs) => {
    for (const time of warmedAt) if (time <= timeMs) warm(entries.at(-1), time);
    entries = entries.filter((entry) => isAlive(entry, timeMs));
    const own = entries.filter((entry) => entry.model === model);
    const { best, length } = longestRun(request, own, kind);
    if (best !== undefined) best.timeMs = timeMs;
    entries.push({ request, model, timeMs });
    return best && request.slice(0, length);
  };
}

/** The entry with the longest beginning that the request can read, and the length of that. */
function longestRun(request, entries, kind) {
  let [best, length] = [undefined, -1];
  // Starts with the newest, usually the longest. Skips entries that cannot be longer.
  for (const entry of entries.toReversed()) {
    const run = entry.request.length > length ? commonRun(request, entry.request) : -1;
    if (run > length && (kind === "prefix" || run === entry.request.length)) [best, length] = [entry, run];
  }
  return { best, length };
}

/** Number of messages that both requests begin with. A copy of the same content is the same to a provider. */
function commonRun(request, earlier) {
  const differs = (message, at) => message !== earlier[at] && !isDeepStrictEqual(message, earlier[at]);
  const at = request.findIndex(differs);
  return at === -1 ? request.length : at;
}
