// Everything the report shows of a recorded session, as one plain object of columns, and of one run: what the page says
// of our own policy is what its row in the table says. It holds sizes, names of roles and tools, and dollars; never text
// of the conversation.

import contract from "../../contract.js";
import { rowOf } from "../../inspector/changes.js";
import { runs } from "../../inspector/past.js";
import { billOf, hitRate } from "./bill.mjs";
import { NONE, POLICIES } from "./policies.mjs";

const { LAYERS } = contract;

/** The report's data. `run` is that of `runOf`, `ours` its policy's name; `onPolicy()` is told when each other was measured. */
export async function reportData({ title, session, contextWindow, prices, ours, run, onPolicy }) {
  const { estimates } = run;
  const known = { [NONE]: run.none, [ours]: run.ours };
  const policies = [];
  for (const name of new Set([...Object.keys(POLICIES), ours])) {
    const setting = { contextWindow, prices, estimates };
    const bill = known[name] ?? (await billOf(session, POLICIES[name]({ contextWindow, prices }), setting));
    const { series, calls, tokens, peak, overflows, dollars } = bill;
    policies.push({ name, series, calls, tokens, peak, overflows, dollars, hitRate: hitRate(bill) });
    onPolicy?.();
  }
  // One scale for a message's own tokens and what its edits save, or one of a thousand tokens might save more than that.
  const scale = estimates.at(-1)?.estimate.scale ?? 1;
  return {
    title,
    format: session.format,
    contextWindow,
    prices,
    cache: run.cache,
    ours,
    unplayed: session.unplayed,
    calls: callColumns(run, session),
    stretches: session.stretches.map(({ cause, opening, from }) => ({ cause, opening: runs(opening), from })),
    messages: messageColumns(session, scale),
    changes: run.changes.map((change) => rowOf(change, scale)),
    costs: { calls: session.calls.map(({ number }) => number), policies },
  };
}

function callColumns({ reports, lines }, session) {
  const column = (value) => reports.map(value);
  return {
    at: session.calls.map(({ at }) => at),
    stretch: session.calls.map(({ stretch }) => stretch),
    before: column((report) => report.tokensBefore),
    after: column((report) => report.tokensAfter),
    /** Tokens that a call may hold before the schedule that decided it drops messages. */
    line: lines,
    reason: column((report) => report.reason),
    saved: Object.fromEntries(LAYERS.map((layer) => [layer, column((report) => report.saved[layer])])),
  };
}

function messageColumns(session, scale) {
  const messages = Array.from({ length: session.length }, (_, number) => session.message(number));
  return {
    role: messages.map((message) => message.role),
    tool: messages.map((message) => (message.role === "toolResult" ? String(message.toolName ?? "?") : "")),
    tokens: messages.map((_, number) => Math.round(scale * session.tokens(number))),
  };
}
