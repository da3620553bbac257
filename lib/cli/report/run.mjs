// One run of our hook over a recording, which the replay prints and the report shows. The loop is closed: the hook reads
// as usage what its own requests would have cost.

import { Call, Hook, Layers } from "../../hook/hook.js";
import options from "../../hook/options.js";
import { ChangeLog, editsIn } from "../../inspector/changes.js";
import { reportOf } from "../replay.mjs";
import { billOf } from "./bill.mjs";
import { cacheModelOf } from "./caches.mjs";
import { estimatesOf } from "./estimates.mjs";
import { cacheOf } from "./policies.mjs";

/**
 * `{ cache, estimates, none, ours, reports, lines, changes }`: which cache the recorded provider has, the bills without and
 * with the hook of these options, a report per call (`onCall` is told of each), the tokens above which each call would have
 * dropped messages, and the edits gathered into stretches of calls, their savings in cl100k tokens.
 */
export async function runOf(session, { contextWindow, prices, hook: given, onCall }) {
  const estimates = estimatesOf(session, given);
  const setting = { contextWindow, prices, estimates };
  const none = await billOf(session, async (messages) => messages, setting);
  const own = { cache: cacheOf(prices), ...session.times, ...given, contextWindow };
  const hook = new Hook(new Layers(options.checkHookOptions("replay", own)));
  const [reports, lines, log] = [[], [], new ChangeLog()];
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
    const sizes = { tokensBefore, tokensAfter: tokens, contextWindow };
    const report = { ...reportOf(call, numbers.length, plan, sizes), ...times };
    reports.push(report);
    lines.push(Math.round(plan.threshold));
    onCall?.(report);
  };
  const ours = await billOf(session, policy, { ...setting, onCall: answered });
  return { cache: cacheModelOf(session), estimates, none, ours, reports, lines, changes: log.changes };
}
