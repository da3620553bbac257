// Everything the report shows of a recorded session, as one plain object of columns, and of one run: what the page says
// of our own policy is what its row in the table says. It holds sizes, names of roles and tools, and dollars; never text
// of the conversation.

import contract from "../../contract.js";
import { Call, Hook, Layers } from "../../hook/hook.js";
import options from "../../hook/options.js";
import native from "../../native/native.js";
import counting from "../../tools/count.js";
import { editsIn, reportOf } from "../replay.mjs";
import { billOf, hitRate } from "./bill.mjs";
import { ChangeLog } from "./changes.mjs";
import { estimatesOf } from "./estimates.mjs";
import { cacheOf, POLICIES } from "./policies.mjs";

const { LAYERS } = contract;

/**
 * `{ data, reports }`: the report's data, and the calls of our own policy as a replay would report them. `ours` is the
 * policy's name and its schedule; `onPolicy()` is told when each one was measured.
 */
export async function reportData({ title, session, contextWindow, prices, ours, onPolicy }) {
  const estimates = await estimatesOf(session, { contextWindow });
  const watched = new Watched({ contextWindow, schedule: ours.schedule, cache: cacheOf(prices) });
  const policies = [];
  for (const [name, make] of Object.entries(POLICIES)) {
    const isOurs = name === ours.name;
    const series = { prefix: [], breakpoint: [] };
    const policy = isOurs ? watched.policy : make({ contextWindow, prices });
    const bill = await billOf(session, policy, {
      contextWindow,
      prices,
      estimates,
      onCall(call) {
        for (const model of Object.keys(series)) series[model].push(rounded(call.dollars[model]));
        if (isOurs) watched.answered(call);
      },
    });
    const { calls, tokens, peak, overflows, dollars } = bill;
    policies.push({ name, series, calls, tokens, peak, overflows, dollars, hitRate: hitRate(bill) });
    onPolicy?.();
  }
  const { reports, changes } = watched;
  // One scale for a message's own tokens and what its edits save, or one of a thousand tokens might save more than that.
  const { scale } = estimates.at(-1).estimate;
  const data = {
    title,
    format: session.format,
    contextWindow,
    prices,
    ours: ours.name,
    unplayed: session.unplayed,
    calls: callColumns(reports, session, contextWindow),
    stretches: session.stretches.map(({ cause, opening, from }) => ({ cause, opening: runs(opening), from })),
    messages: messageColumns(session, scale),
    changes: changes.map(({ message, action, from, to, tokensSaved, reason, kept = [] }) => [
      message,
      action,
      from,
      to,
      Math.round(scale * tokensSaved),
      reason,
      kept.map(({ lines, why }) => [lines, why]),
    ]),
    costs: { calls: session.calls.map(({ number }) => number), policies },
  };
  return { data, reports };
}

/** Our hook as a policy, with an eye on what it decides. */
class Watched {
  reports = [];
  #log = new ChangeLog();
  #hook;
  #last;

  constructor(settings) {
    this.#hook = new Hook(new Layers(options.checkHookOptions("replay", settings)));
  }

  /** Their `tokensSaved` in cl100k tokens: the scale of the provider's is learned as the session goes on. */
  get changes() {
    return this.#log.changes;
  }

  policy = async (messages) => {
    const call = new Call();
    const { edited, plan } = await this.#hook.run(messages, call, true);
    this.#last = { plan, times: call.times() };
    call.end();
    return edited;
  };

  answered({ call, numbers, tokensBefore, tokens }) {
    const { plan, times } = this.#last;
    const sizes = { tokensBefore, tokensAfter: tokens, contextWindow: this.#hook.contextWindow() };
    const edits = editsIn(plan, numbers);
    this.#log.watch(
      call,
      edits.map((edit) => ({ ...edit, tokensSaved: edit.tokensSaved / plan.scale })),
    );
    this.reports.push({ ...reportOf(call, numbers.length, plan, sizes), ...times });
  }
}

function callColumns(reports, session, contextWindow) {
  const column = (value) => reports.map(value);
  const { high } = native.native().watersOf("balanced");
  const ratio = contract.hookOptions.contextRatio.default;
  const lines = { everyCall: ratio, sticky: Math.min(high, ratio) };
  return {
    at: session.calls.map(({ at }) => at),
    stretch: session.calls.map(({ stretch }) => stretch),
    before: column((report) => report.tokensBefore),
    after: column((report) => report.tokensAfter),
    /** What a call may hold before the schedule that decided it drops messages. */
    line: column((report) => Math.round(lines[report.schedule] * contextWindow)),
    reason: column((report) => report.reason),
    saved: Object.fromEntries(LAYERS.map((layer) => [layer, column((report) => report.saved[layer])])),
  };
}

function messageColumns(session, scale) {
  const messages = Array.from({ length: session.length }, (_, number) => session.message(number));
  return {
    role: messages.map((message) => message.role),
    tool: messages.map((message) => (message.role === "toolResult" ? String(message.toolName ?? "?") : "")),
    tokens: messages.map((message) => Math.round(scale * counting.countTokens(message))),
  };
}

/** Ascending numbers as pairs, the first of a run and one more than its last. */
function runs(numbers) {
  const found = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last?.[1] === number) last[1] += 1;
    else found.push([number, number + 1]);
  }
  return found;
}

/** Ten thousandths of a cent are enough for a chart. */
function rounded(dollars) {
  return Math.round(dollars * 1e6) / 1e6;
}
