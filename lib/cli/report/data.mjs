// Everything the report shows of a recorded session, as one plain object of columns. It holds sizes, names of roles and tools,
// and dollars; never text of the conversation.

import { rowOf } from "../../inspector/changes.js";
import { runs } from "../../inspector/past.js";
import { billOf, hitRate } from "./bill.mjs";
import { NONE, POLICIES } from "./policies.mjs";

/**
 * The report's data. `setting` is that of `billOf`, `run` the run of `runOf` and `ours` its policy's name; `onPolicy` is called
 * when each other one was measured.
 */
export async function reportData({ title, session, cache, ours, run, onPolicy, ...setting }) {
  const { contextWindow, prices, estimates } = setting;
  const { calls, format, unplayed } = session;
  const column = (name) => run.reports.map((report) => report[name]);
  const policies = [];
  const known = { [NONE]: run.none, [ours]: run.ours };
  for (const name of new Set([...Object.keys(POLICIES), ours])) {
    const bill = known[name] ?? (await billOf(session, POLICIES[name]({ contextWindow, prices }), setting));
    const { readTokens, ...shown } = bill;
    policies.push({ name, ...shown, hitRate: hitRate(bill) });
    onPolicy?.();
  }
  // Messages and edits share one scale, so that no edit saves more than its message has.
  const scale = estimates.at(-1)?.scale ?? 1;
  return {
    title,
    format,
    contextWindow,
    prices,
    cache,
    ours,
    unplayed,
    calls: {
      at: calls.map(({ at }) => at),
      stretch: calls.map(({ stretch }) => stretch),
      before: column("tokensBefore"),
      after: column("tokensAfter"),
      /** Tokens above which the schedule drops messages. */
      line: column("limit"),
      reason: column("reason"),
    },
    stretches: session.stretches.map(({ cause, opening, from }) => ({ cause, opening: runs(opening), from })),
    messages: {
      role: session.all.map(({ role }) => role),
      tool: session.all.map(({ role, toolName = "?" }) => (role === "toolResult" ? String(toolName) : "")),
      tokens: session.all.map((_, number) => Math.round(scale * session.tokens(number))),
    },
    changes: run.changes.map((change) => rowOf(change, scale)),
    policies,
  };
}
