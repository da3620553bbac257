// The metered calls of one session, as its file has them, and what they add up to.

import { existsSync, readFileSync } from "node:fs";
import { dollarsOf, promptOf } from "./usage.mjs";

/** Shorter beginnings no provider keeps: what is lost of them is no miss. In tokens, Anthropic's and OpenAI's least. */
const LEAST_CACHED_TOKENS = 1024;

/** Requests that are answered so are at fault themselves; all other failures may pass. */
const isRefused = ({ status }) =>
  status >= 400 && status < 500 && ![401, 403, 408, 409, 429].includes(status);

/** Calls in the order they began; one that was never seen to end is `isUnknown`. */
export function readCalls(file) {
  if (!existsSync(file)) return [];
  const calls = new Map();
  // The last line may have been cut off by the death of the process.
  for (const line of readFileSync(file, "utf8").split("\n").slice(0, -1)) {
    const { id, began, ...ended } = JSON.parse(line);
    calls.set(
      id,
      began === undefined ? { ...calls.get(id), ...ended, isUnknown: false } : { ...began, isUnknown: true },
    );
  }
  return Array.from(calls.values());
}

/** Dollars of these calls; `prices` in dollars per million tokens. */
export function spentOn(calls, prices) {
  return calls.reduce((sum, call) => sum + dollarsOf(call, prices), 0);
}

/**
 * The sums of `calls`. A miss is a call of the agent that found less in the cache than the one before it had sent;
 * `last` is that of the task before.
 */
export function billOf(calls, prices, last) {
  const count = (is) => calls.filter(is).length;
  const total = (kind) => calls.reduce((sum, { usage }) => sum + (usage?.[kind] ?? 0), 0);
  const kinds = ["input", "output", "cacheRead", "cacheWrite"];
  const ofAgent = calls.filter(({ usage, hasTools }) => usage !== undefined && hasTools);
  const missed = ofAgent
    .map((call, i) => missedIn(call, i === 0 ? last : ofAgent[i - 1]))
    .filter((tokens) => tokens >= LEAST_CACHED_TOKENS);
  const bill = {
    calls: calls.length,
    tokens: Object.fromEntries(kinds.map((kind) => [kind, total(kind)])),
    dollars: spentOn(calls, prices),
    misses: missed.length,
    missedTokens: missed.reduce((sum, tokens) => sum + tokens, 0),
    summaries: count(({ hasTools }) => !hasTools),
    refused: count(isRefused),
    failed: count((call) => !call.isUnknown && call.status !== 200 && !isRefused(call)),
    unknown: count(({ isUnknown, status, usage }) => isUnknown || (status === 200 && usage === undefined)),
  };
  return { bill, last: ofAgent.at(-1) ?? last };
}

function missedIn({ usage }, before) {
  return before === undefined ? 0 : promptOf(before) - usage.cacheRead;
}
