// One run of our hook over a recording, which the replay prints and the report shows. The loop is closed: the hook reads
// as usage what its own requests would have cost.

import { Call, Hook, Layers } from "../../hook/hook.js";
import options from "../../hook/options.js";
import { editsIn, reportOf } from "../replay.mjs";
import { billOf } from "./bill.mjs";
import { cacheModelOf } from "./caches.mjs";
import { ChangeLog } from "./changes.mjs";
import { estimatesOf } from "./estimates.mjs";
import { cacheOf } from "./policies.mjs";

/**
 * `{ cache, estimates, none, ours, reports, lines, changes }`: which cache the recorded provider has, the bills without and
 * with the hook, a report per call (`onCall` is told of each), the tokens above which each call would have dropped messages,
 * and the edits gathered into stretches of calls.
 */
export async function runOf(session, { contextWindow, prices, schedule, onCall }) {
  const estimates = await estimatesOf(session, { contextWindow });
  const setting = { contextWindow, prices, estimates };
  const none = await pricedCalls(session, async (messages) => messages, setting);
  const watched = new Watched({ contextWindow, schedule, cache: cacheOf(prices) });
  const ours = await pricedCalls(session, watched.policy, {
    ...setting,
    onCall: (call) => onCall?.(watched.answered(call)),
  });
  const { reports, lines, changes } = watched;
  return { cache: cacheModelOf(session), estimates, none, ours, reports, lines, changes };
}

/** The bill of a policy, with what each call cost under either cache as `series`. */
export async function pricedCalls(session, policy, { onCall, ...setting }) {
  const series = { prefix: [], breakpoint: [] };
  const watch = (call) => {
    for (const model of Object.keys(series)) series[model].push(rounded(call.dollars[model]));
    onCall?.(call);
  };
  return { ...(await billOf(session, policy, { ...setting, onCall: watch })), series };
}

/** Our hook as a policy, with an eye on what it decides. */
class Watched {
  reports = [];
  lines = [];
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
    const report = { ...reportOf(call, numbers.length, plan, sizes), ...times };
    this.reports.push(report);
    this.lines.push(Math.round(plan.line));
    return report;
  }
}

/** Ten thousandths of a cent are enough for a chart. */
function rounded(dollars) {
  return Math.round(dollars * 1e6) / 1e6;
}
