// One run of our hook over a recording, which the replay prints, and the page that shows it beside other settings. Tokens are the
// provider's, estimated. The page's data holds sizes, names of roles and tools, and dollars; never text of the conversation.

import { access, constants, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import contract from "../../contract.js";
import { Call } from "../../hook/call.js";
import { createTransformContext, Hook } from "../../hook/hook.js";
import { CallLog } from "../../inspector/log.js";
import { pageWith } from "../../inspector/page.js";
import { quantile, shared } from "../numbers.mjs";
import { onFile, REASONS } from "../terminal.mjs";
import { billOf, hitRate } from "./play.mjs";
import { cacheOf } from "./prices.mjs";

const { LAYERS } = contract;
/** What the page may do as a file: run the script and use the styles that are in it. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:";
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
 * `{ none, ours, record }`: the bills without and with the hook of these options, and the record of its calls. A row also has its
 * number, its times, and the tokens that each layer saved. `onCall` gets each row. `setting` is that of `billOf`.
 */
export async function runOf(session, { hook: given, onCall, ...setting }) {
  const { contextWindow, prices } = setting;
  const hook = new Hook("replay", { cache: cacheOf(prices), ...session.times, ...given, contextWindow });
  const log = new CallLog();
  let [calls, row, plan] = [0];
  const policy = async (messages) => {
    const call = new Call();
    const outcome = await hook.run(messages, call);
    const times = call.times();
    call.end();
    row = Object.assign(log.called(outcome, session.numbersBefore(session.calls[calls])), times);
    calls += 1;
    plan = outcome.plan;
    return outcome.edited;
  };
  const answered = ({ number: call, answer, tokensBefore, tokens: tokensAfter }) => {
    const saved = savedByLayer(plan, tokensBefore - tokensAfter);
    Object.assign(row, { call, tokensBefore, tokensAfter, saved });
    log.answered(answer);
    onCall?.(row);
  };
  const none = await billOf(session, POLICIES[NONE](), setting);
  const bill = await billOf(session, policy, { ...setting, onCall: answered });
  return { none, ours: bill, record: log.since(-1) };
}

/** `tokens` shared among the layers by what their edits saved. */
function savedByLayer({ edits }, tokens) {
  const weights = LAYERS.map(() => 0);
  for (const { layer, cl100kSaved } of edits) weights[layer] += cl100kSaved;
  const parts = shared(tokens, weights);
  return Object.fromEntries(LAYERS.map((layer, i) => [layer, parts[i]]));
}

/** The sums of a run, and its cost under the cache of the setting. */
export function summaryOf({ none, ours, record: { calls } }, { cache, prices }) {
  const { messagesBefore = 0, messagesAfter = 0 } = calls.at(-1) ?? {};
  const savedBy = (layer) => calls.reduce((sum, { saved }) => sum + saved[layer], 0);
  const spread = (name) => {
    const values = calls.map((call) => call[name]);
    const at = (share) => quantile(values, share) ?? 0;
    return { median: at(0.5), p95: at(0.95), max: at(1) };
  };
  const pair = (name) => ({ before: none[name], after: ours[name] });
  return {
    calls: calls.length,
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

/**
 * The page's data: the record of a run, and the bills of other settings. `name` is that of the run's policy; `onPolicy` is called
 * when one was measured.
 */
export async function reportData(session, { none, ours, record }, { title, name, onPolicy, ...setting }) {
  const { contextWindow, prices, cache } = setting;
  const policies = [];
  const known = { [NONE]: none, [name]: ours };
  for (const policy of new Set([...Object.keys(POLICIES), name])) {
    const bill = known[policy] ?? (await billOf(session, POLICIES[policy](setting), setting));
    policies.push({ name: policy, hitRate: hitRate(bill), ...bill });
    onPolicy?.();
  }
  const { format, length, unplayed } = session;
  return { title, format, length, unplayed, contextWindow, prices, cache, ours: name, policies, ...record };
}

/** The finished page. */
export const reportHtml = (data) =>
  pageWith(data).replace("<title>", `<meta http-equiv="Content-Security-Policy" content="${POLICY}">\n$&`);

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
