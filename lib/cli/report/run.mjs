// One run of our hook over a recording, which the replay prints and the report shows. The loop is closed: the usage that the hook
// reads is that of its own requests. Tokens are the provider's, estimated.

import contract from "../../contract.js";
import { scheduleOf } from "../../hook/events.js";
import { Call, Hook, Layers } from "../../hook/hook.js";
import options from "../../hook/options.js";
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
  const none = await billOf(session, async (messages) => messages, setting);
  const own = { cache: cacheOf(prices), ...session.times, ...given, contextWindow };
  const hook = new Hook(new Layers(options.checkHookOptions("replay", own)));
  const [reports, log] = [[], new ChangeLog()];
  let last;
  const policy = async (messages) => {
    const call = new Call();
    const { edited, plan } = await hook.run(messages, call, true);
    last = { plan, times: call.times() };
    call.end();
    return edited;
  };
  const answered = ({ call, numbers, tokensBefore, tokens }) => {
    const { plan, times } = last;
    // The scale of the provider's tokens is learned as the session goes on.
    const unscaled = (edit) => ({ ...edit, tokensSaved: edit.tokensSaved / plan.scale });
    log.watch(call, editsIn(plan, numbers).map(unscaled));
    const sizes = { messagesBefore: numbers.length, tokensBefore, tokensAfter: tokens };
    const report = { call, ...sizes, ...decisionOf(plan, sizes), ...times };
    reports.push(report);
    onCall?.(report);
  };
  const ours = await billOf(session, policy, { ...setting, onCall: answered });
  return { none, ours, reports, changes: log.changes };
}

/** What a plan decided, and what each layer saved; the layers add up to the difference of the sizes. */
function decisionOf(plan, { messagesBefore, tokensBefore, tokensAfter }) {
  const { saved: raw, dropped } = plan.totals(LAYERS.length);
  const saved = shared(tokensBefore - tokensAfter, raw);
  const { mode: schedule, why: reason } = scheduleOf(plan);
  return {
    messagesAfter: messagesBefore - dropped,
    schedule,
    reason,
    limit: Math.round(plan.threshold),
    saved: Object.fromEntries(LAYERS.map((layer, i) => [layer, saved[i]])),
  };
}

/** The sums of a run. */
export function summaryOf({ none, ours, reports }) {
  const last = reports.at(-1) ?? { messagesBefore: 0, messagesAfter: 0 };
  const savedBy = (layer) => reports.reduce((sum, { saved }) => sum + saved[layer], 0);
  return {
    calls: reports.length,
    messages: { before: last.messagesBefore, after: last.messagesAfter },
    tokensSent: { before: none.tokens, after: ours.tokens },
    peakTokens: { before: none.peak, after: ours.peak },
    saved: Object.fromEntries(LAYERS.map((layer) => [layer, savedBy(layer)])),
    callsOverWindow: { before: none.overflows, after: ours.overflows },
    totalMs: quantiles(reports.map(({ totalMs }) => totalMs)),
    blockedMs: quantiles(reports.map(({ blockedMs }) => blockedMs)),
  };
}

function quantiles(values) {
  const at = (share) => quantile(values, share) ?? 0;
  return { median: at(0.5), p95: at(0.95), max: at(1) };
}
