// One run of our hook over a recording, which the replay prints and the report shows. The loop is closed: the usage that the hook
// reads is that of its own requests. Tokens are the provider's, estimated.

import contract from "../../contract.js";
import { Call } from "../../hook/call.js";
import { scheduleOf } from "../../hook/events.js";
import { Hook } from "../../hook/hook.js";
import { ChangeLog, editsIn } from "../../inspector/changes.js";
import { quantile, shared } from "../numbers.mjs";
import { billOf } from "./bill.mjs";
import { cacheOf } from "./prices.mjs";

const { LAYERS } = contract;

/**
 * `{ none, ours, reports, changes }`: the bills without and with the hook of these options, a report per call (`onCall` gets
 * each), and the edits gathered into stretches of calls, their savings in cl100k tokens.
 */
export async function runOf(session, { hook: given, onCall, ...setting }) {
  const { contextWindow, prices } = setting;
  const own = { cache: cacheOf(prices), ...session.times, ...given, contextWindow };
  const hook = new Hook("replay", own);
  const [reports, log] = [[], new ChangeLog()];
  let last;
  const policy = async (messages) => {
    const call = new Call();
    const { edited, plan } = await hook.run(messages, call, true);
    last = { plan, times: call.times() };
    call.end();
    return edited;
  };
  const answered = ({ call, numbers, tokensBefore, tokens: tokensAfter }) => {
    const { plan, times } = last;
    // The scale of the provider's tokens is learned as the session goes on.
    const unscaled = (edit) => ({ ...edit, tokensSaved: edit.tokensSaved / plan.scale });
    log.watch(call, editsIn(plan, numbers).map(unscaled));
    const raw = LAYERS.map(() => 0);
    let dropped = 0;
    for (const { layer, action, count, tokensSaved } of plan.edits) {
      raw[layer] += tokensSaved;
      if (action === "drop") dropped += count;
    }
    const saved = shared(tokensBefore - tokensAfter, raw);
    const { mode: schedule, why: reason } = scheduleOf(plan);
    const report = {
      call,
      messagesBefore: numbers.length,
      messagesAfter: numbers.length - dropped,
      tokensBefore,
      tokensAfter,
      schedule,
      reason,
      limit: Math.round(plan.threshold),
      saved: Object.fromEntries(LAYERS.map((layer, i) => [layer, saved[i]])),
      ...times,
    };
    reports.push(report);
    onCall?.(report);
  };
  const none = await billOf(session, async (messages) => messages, setting);
  const ours = await billOf(session, policy, { ...setting, onCall: answered });
  return { none, ours, reports, changes: log.changes };
}

/** The sums of a run, and its cost under the cache of the setting. */
export function summaryOf({ none, ours, reports }, { cache, prices }) {
  const { messagesBefore = 0, messagesAfter = 0 } = reports.at(-1) ?? {};
  const savedBy = (layer) => reports.reduce((sum, { saved }) => sum + saved[layer], 0);
  const spread = (name) => {
    const values = reports.map((report) => report[name]);
    const at = (share) => quantile(values, share) ?? 0;
    return { median: at(0.5), p95: at(0.95), max: at(1) };
  };
  const pair = (name) => ({ before: none[name], after: ours[name] });
  return {
    calls: reports.length,
    messages: { before: messagesBefore, after: messagesAfter },
    tokensSent: pair("tokens"),
    peakTokens: pair("peak"),
    saved: Object.fromEntries(LAYERS.map((layer) => [layer, savedBy(layer)])),
    callsOverWindow: pair("overflows"),
    totalMs: spread("totalMs"),
    blockedMs: spread("blockedMs"),
    cost: { cache, prices, before: none.dollars[cache], after: ours.dollars[cache] },
  };
}
