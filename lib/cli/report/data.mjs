// Everything the report shows of a replayed session, as one plain object of columns. It holds sizes, names of roles and
// tools, and dollars; never text of the conversation.

import counting from "../../count.js";
import options from "../../options.js";
import { measure, pricedCalls, ratesOf } from "../economy/measure.mjs";
import { POLICIES } from "../economy/policies.mjs";
import { callsOf, LAYERS } from "../replay.mjs";

/**
 * The report's data. `reports` are the replay's, `changes` a `ChangeLog`'s; `ours` names the policy that
 * was replayed; `onPolicy(name)` is told before each one is measured.
 */
export async function reportData({
  title,
  session,
  reports,
  changes,
  contextWindow,
  prices,
  ours,
  onPolicy,
}) {
  const { messages, format } = session;
  return {
    title,
    format,
    contextWindow,
    thresholdTokens: options.CONTEXT_RATIO * contextWindow,
    prices,
    ours,
    calls: callColumns(reports),
    messages: messageColumns(messages),
    changes: changes.map((change) => [
      change.index,
      change.action,
      change.from,
      change.to,
      Math.round(change.tokensSaved),
      change.reason,
    ]),
    costs: await costs(messages, { contextWindow, prices }, onPolicy),
  };
}

function callColumns(reports) {
  const column = (value) => reports.map(value);
  return {
    messages: column((report) => report.messagesBefore),
    before: column((report) => Math.round(report.tokensBefore)),
    after: column((report) => Math.round(report.tokensAfter)),
    reason: column((report) => report.reason),
    saved: Object.fromEntries(LAYERS.map((layer) => [layer, column((report) => report.saved[layer])])),
  };
}

function messageColumns(messages) {
  return {
    role: messages.map((message) => message.role),
    tool: messages.map((message) => (message.role === "toolResult" ? String(message.toolName ?? "?") : "")),
    tokens: messages.map((message) => counting.countTokens(message)),
  };
}

/** Dollars of each policy at each priced call, under both cache models. */
async function costs(messages, { contextWindow, prices }, onPolicy) {
  const numberOf = new Map(callsOf(messages).map((at, call) => [at, call + 1]));
  const policies = [];
  for (const [name, make] of Object.entries(POLICIES)) {
    onPolicy?.(name);
    const series = { prefix: [], breakpoint: [] };
    const score = await measure(messages, make({ contextWindow, prices }), {
      contextWindow,
      prices,
      onCall: ({ dollars }) => {
        for (const model of Object.keys(series)) series[model].push(rounded(dollars[model]));
      },
    });
    const { calls, peak, overflows, dollars } = score;
    policies.push({ name, series, calls, peak, overflows, dollars, rates: ratesOf(score) });
  }
  return { calls: pricedCalls(messages).map((at) => numberOf.get(at)), policies };
}

/** Ten thousandths of a cent are enough for a chart. */
function rounded(dollars) {
  return Math.round(dollars * 1e6) / 1e6;
}
