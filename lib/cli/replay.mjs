// Figures of a run of the hook over a recorded session, of each call and of all. Tokens are the provider's, estimated.
// Prints nothing.

import contract from "../contract.js";
import { scheduleOf } from "../hook/events.js";
import { shared } from "./numbers.mjs";

const { LAYERS } = contract;

/** Sizes before and after a plan, what it decided, and what each layer saved; the layers add up to the difference. */
export function reportOf(call, messagesBefore, plan, { tokensBefore, tokensAfter, contextWindow }) {
  const { saved: raw, dropped } = plan.totals(LAYERS.length);
  const saved = shared(tokensBefore - tokensAfter, raw);
  const { mode, why } = scheduleOf(plan);
  return {
    call,
    messagesBefore,
    messagesAfter: messagesBefore - dropped,
    tokensBefore,
    tokensAfter,
    schedule: mode,
    reason: why,
    saved: Object.fromEntries(LAYERS.map((layer, i) => [layer, saved[i]])),
    overWindow: { before: tokensBefore > contextWindow, after: tokensAfter > contextWindow },
  };
}

/** The sums of a run of `runOf`. */
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
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { median: at(0.5), p95: at(0.95), max: at(1) };
}
