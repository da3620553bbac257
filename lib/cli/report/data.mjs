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
  const known = { [NONE]: run.none, [ours]: run.ours };
  const policies = [];
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
    format: session.format,
    contextWindow,
    prices,
    cache,
    ours,
    unplayed: session.unplayed,
    calls: callColumns(run, session),
    stretches: session.stretches.map(({ cause, opening, from }) => ({ cause, opening: runs(opening), from })),
    messages: messageColumns(session, scale),
    changes: run.changes.map((change) => rowOf(change, scale)),
    policies,
  };
}

function callColumns({ reports }, { calls }) {
  return {
    at: calls.map(({ at }) => at),
    stretch: calls.map(({ stretch }) => stretch),
    before: reports.map(({ tokensBefore }) => tokensBefore),
    after: reports.map(({ tokensAfter }) => tokensAfter),
    /** Tokens above which the schedule drops messages. */
    line: reports.map(({ limit }) => limit),
    reason: reports.map(({ reason }) => reason),
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
