// One run of our hook over a recording, which the replay prints, and the page that shows it. Tokens are the provider's, estimated.
// The page's data holds sizes, names of roles and tools, and dollars; never text of the conversation.

import { access, constants, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import contract from "../../contract.js";
import { Call } from "../../hook/call.js";
import { createTransformContext, Hook } from "../../hook/hook.js";
import { ChangeLog, editsIn, rowOf, runs } from "../../inspector/changes.js";
import { quantile, shared } from "../numbers.mjs";
import { onFile, REASONS } from "../terminal.mjs";
import { billOf, hitRate } from "./play.mjs";
import { cacheOf } from "./prices.mjs";

const { LAYERS } = contract;
/** The page is one file with everything in it, made by `npm run build:report` from report/ and shipped with the package. */
const PAGE = new URL("page.html", import.meta.url);
const REFUSALS = { ...REASONS, ENOENT: "its folder is not there; make it first" };
/** The policy that edits nothing. */
const NONE = "no compression";
/** Names a hook whose options are none of `SETTINGS`. */
const OWN = "these options";
const SETTINGS = {
  everyCall: { schedule: "everyCall" },
  "sticky, faithful": { economy: "faithful" },
  "sticky, balanced": {},
  "sticky, thrifty": { economy: "thrifty" },
};

/** Makes our hook with these options a policy, `(messages) => Promise<messages>`. It gets the prices that its bill uses. */
export const ours =
  (options) =>
  ({ contextWindow, prices }) =>
    createTransformContext({ contextWindow, cache: cacheOf(prices), ...options });

/** Makers of the policies that a report compares, by name; each gets `{ contextWindow, prices }`. */
export const POLICIES = {
  [NONE]: () => async (messages) => messages,
  ...Object.fromEntries(Object.entries(SETTINGS).map(([name, options]) => [name, ours(options)])),
};

/** The name of the policy with these options of the hook. */
export function policyName({ contextWindow, cache, schedule, economy = "balanced", ...others }) {
  const name = schedule === "everyCall" ? schedule : `sticky, ${economy}`;
  return name in SETTINGS && Object.keys(others).length === 0 ? name : OWN;
}

/**
 * `{ none, ours, reports, changes }`: the bills without and with the hook of these options, a report per call (`onCall` gets
 * each), and the edits gathered into stretches of calls, their savings in cl100k tokens. `setting` is that of `billOf`.
 */
export async function runOf(session, { hook: given, onCall, ...setting }) {
  const { contextWindow, prices } = setting;
  const own = { cache: cacheOf(prices), ...session.times, ...given, contextWindow };
  const hook = new Hook("replay", own);
  const [reports, log] = [[], new ChangeLog()];
  let last;
  const policy = async (messages) => {
    const call = new Call();
    const { edited, plan, conversation } = await hook.run(messages, call);
    last = { plan, tokens: conversation.tokens(), times: call.times() };
    call.end();
    return edited;
  };
  const answered = (played) => {
    const { plan, tokens, times } = last;
    // The scale of the provider's tokens is learned as the session goes on.
    const unscaled = (edit) => ({ ...edit, tokensSaved: edit.tokensSaved / plan.scale });
    log.watch(played.call, editsIn(plan, played.numbers, tokens).map(unscaled));
    const report = { ...reportOf(plan, played), ...times };
    reports.push(report);
    onCall?.(report);
  };
  const none = await billOf(session, POLICIES[NONE](), setting);
  const bill = await billOf(session, policy, { ...setting, onCall: answered });
  return { none, ours: bill, reports, changes: log.changes };
}

function reportOf(plan, { call, numbers, tokensBefore, tokens: tokensAfter }) {
  const savedBy = LAYERS.map(() => 0);
  let dropped = 0;
  for (const { layer, action, count, cl100kSaved } of plan.edits) {
    savedBy[layer] += cl100kSaved;
    if (action === "drop") dropped += count;
  }
  const saved = shared(tokensBefore - tokensAfter, savedBy);
  return {
    call,
    messagesBefore: numbers.length,
    messagesAfter: numbers.length - dropped,
    tokensBefore,
    tokensAfter,
    schedule: plan.schedule,
    reason: plan.reason,
    limit: Math.round(plan.threshold),
    saved: Object.fromEntries(LAYERS.map((layer, i) => [layer, saved[i]])),
  };
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

/** The page's data: one plain object of columns. `name` is that of the run's policy; `onPolicy` is called when one was measured. */
export async function reportData({ title, session, cache, name: ours, run, onPolicy, ...setting }) {
  const { contextWindow, prices, estimates } = setting;
  const { calls, format, unplayed, all } = session;
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
      role: all.map(({ role }) => role),
      tool: all.map(({ role, toolName = "?" }) => (role === "toolResult" ? String(toolName) : "")),
      tokens: all.map((_, number) => Math.round(scale * session.tokens(number))),
    },
    changes: run.changes.map((change) => rowOf(change, scale)),
    policies,
  };
}

/** The finished page. */
export async function reportHtml(data) {
  const page = await readFile(PAGE, "utf8");
  // A script element ends at the first `</`.
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  // A function: `$` in the data must not be read as a pattern of `replace`.
  return page.replace('"{{data}}"', () => json);
}

/** Refuses a place for a report, before the long work for it begins. */
export async function checkPlace(path) {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory();
  await writing(path, isFolder ? Promise.reject({ code: "EISDIR" }) : access(dirname(path), constants.W_OK));
}

/** Writes a report and puts it in the place of an earlier one, which a failure leaves as it was. */
export async function writeReport(path, text) {
  const beside = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  const written = writeFile(beside, text).then(() => rename(beside, path));
  await writing(
    path,
    written.finally(() => rm(beside, { force: true })),
  );
}

const writing = (path, work) => onFile("write", path, work, REFUSALS);
