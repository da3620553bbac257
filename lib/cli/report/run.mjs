// Plays a recording through our hook. A replay prints the run, a report shows it, and `explain` explains its last call.
// Tokens are estimates of the provider's count.

import contract from "../../contract.js";
import { Call } from "../../hook/call.js";
import { Hook } from "../../hook/hook.js";
import { runs } from "../../inspector/changes.js";
import { CallLog } from "../../inspector/log.js";
import { apportioned, quantile } from "../numbers.mjs";
import { billOf, estimatesOf } from "./play.mjs";
import { cacheKindOf, cacheOptionsOf, pricesOf } from "./prices.mjs";

const { LAYERS } = contract;
/** Windows that most models have, in tokens. */
const WINDOWS = [contract.hookOptions.contextWindow.default, 1_000_000];

/** The policy that edits nothing. */
const unedited = async (messages) => messages;

/**
 * Settings of a run: `{ hook, contextWindow, prices, byCall, reported, estimates, oddCalls, cache }`. `hook` holds the hook's
 * options, `price` the user's price. Without an option the window is one that holds every prompt that was reported.
 */
export function settingOf(session, hook, price) {
  const { prices, byCall, reported } = pricesOf(session, price, hook.cache);
  const estimates = estimatesOf(session, hook);
  const largest = Math.max(0, ...estimates.map(({ reported = 0 }) => reported));
  const { contextWindow = WINDOWS.find((window) => window >= largest) ?? largest } = hook;
  const oddCalls = estimates.flatMap(({ isOdd, tokensBefore, reported }, i) =>
    isOdd ? [{ call: i + 1, reported, counted: tokensBefore }] : [],
  );
  const cache = cacheKindOf(session, prices);
  return { hook, contextWindow, prices, byCall, reported, estimates, oddCalls, cache };
}

/**
 * `{ none, ours, record, outcome }`: the bills without and with the hook of these options, the record of its calls, and what it did
 * at the last one. A row also has its number, its times, and the tokens that each layer saved. `onCall` gets each row. `setting` has
 * the fields of `settingOf`, and `calls` if not all are played.
 */
export async function runOf(session, { onCall, ...setting }) {
  const { hook: options, contextWindow, prices } = setting;
  const cache = options.cache === "auto" ? "auto" : cacheOptionsOf(prices);
  const hook = new Hook("replay", { ...session.times, ...options, cache, contextWindow });
  const log = new CallLog({ ttlSeconds: prices.ttlSeconds, warmedAt: session.times.warmedAt });
  let [outcome, times] = [];
  const policy = async (messages) => {
    const call = new Call();
    outcome = await hook.run(messages, call);
    times = call.times();
    call.end();
    return outcome.edited;
  };
  const answered = ({ number: call, at, stretch, answer, tokensBefore, tokens: tokensAfter }) => {
    const row = log.called(outcome, session.numbersBefore({ at, stretch }));
    const saved = savedByLayer(outcome.plan, tokensBefore - tokensAfter);
    Object.assign(row, { call, at, stretch, tokensBefore, tokensAfter, saved, ...times });
    log.answered(answer);
    onCall?.(row);
  };
  const none = await billOf(session, unedited, setting);
  const bill = await billOf(session, policy, { ...setting, onCall: answered });
  // The log knows only the messages of the calls; the recording knows where the host rewrote the past.
  const inRuns = ({ cause, opening, from }) => ({ cause, opening: runs(opening), from });
  const stretches = session.stretches.map(inRuns);
  return { none, ours: bill, record: { ...log.since(-1), stretches }, outcome };
}

/** `tokens` shared among the layers by what their edits saved. */
function savedByLayer({ edits }, tokens) {
  const weights = LAYERS.map(() => 0);
  for (const { layer, cl100kSaved } of edits) weights[layer] += cl100kSaved;
  const parts = apportioned(tokens, weights);
  return Object.fromEntries(LAYERS.map((layer, i) => [layer, parts[i]]));
}

/** The sums of a run, and its cost under the cache of the setting. */
export function summaryOf({ none, ours, record: { calls } }, { cache, prices, reported }) {
  const { messagesBefore = 0, messagesAfter = 0 } = calls.at(-1) ?? {};
  const savedBy = (layer) => calls.reduce((sum, { saved }) => sum + saved[layer], 0);
  const spread = (name) => {
    const values = calls.map((call) => call[name]);
    const at = (share) => quantile(values, share) ?? 0;
    return { median: at(0.5), p95: at(0.95), max: at(1) };
  };
  const pair = (name) => ({ before: none[name], after: ours[name] });
  return {
    calls: calls.length,
    messages: { before: messagesBefore, after: messagesAfter },
    tokensSent: pair("tokens"),
    peakTokens: pair("peak"),
    saved: Object.fromEntries(LAYERS.map((layer) => [layer, savedBy(layer)])),
    callsOverWindow: pair("overflows"),
    totalMs: spread("totalMs"),
    blockedMs: spread("blockedMs"),
    cost: { cache, prices, reported, before: none.dollars[cache], after: ours.dollars[cache] },
  };
}
