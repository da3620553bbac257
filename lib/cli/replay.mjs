// `pi-strata replay`: plays a recorded session through the hook, prints a line per call and the sums, and writes the report.

import { basename } from "node:path";
import contract from "../contract.js";
import { change, some, whole } from "./numbers.mjs";
import { price, wholeNumber } from "./options.mjs";
import { costText, lifeText, pricesText } from "./report/prices.mjs";
import * as reports from "./report/report.mjs";
import { runOf, settingOf, summaryOf } from "./report/run.mjs";
import { load } from "./session.mjs";
import { figureList } from "./terminal.mjs";

const CACHES = {
  prefix: "whatever beginning two requests share is read (prefix cache)",
  breakpoint: "whole earlier requests are read (breakpoint cache)",
};
const MISSES = "the cache of a replay misses only after pauses and edits";
const pair = (before, after) => `${whole(before)} → ${whole(after)}`;

/** The columns of a call: head, width and cell. */
const COLUMNS = [
  ["call", 6, (call) => whole(call.call)],
  ["messages", 15, (call) => pair(call.messagesBefore, call.messagesAfter)],
  ["tokens", 21, (call) => pair(call.tokensBefore, call.tokensAfter)],
  ["saved", 8, (call) => change(call.tokensBefore, call.tokensAfter)],
  ["ms", 9, (call) => call.totalMs.toFixed(2)],
];

export const replay = {
  options: { every: wholeNumber, html: String, price },
  /** Prints a run as it goes, and writes the report of the same run. */
  async run({ positionals, hook, every = 1, html, price: asked, json }) {
    if (html !== undefined) await reports.checkPlace(html);
    const { path, session } = await load(positionals);
    const setting = settingOf(session, hook, asked);
    const { oddCalls } = setting;
    const print = json ? () => {} : console.log;
    print(`${openingText(path, session, setting)}\n\n${rowOf(([head]) => head)}`);
    const onCall = (row) => {
      if (row.call % every === 0) print(rowOf(([, , cell]) => cell(row)));
    };
    const run = await runOf(session, { ...setting, onCall });
    const summary = summaryOf(run, setting);
    if (html !== undefined) {
      const named = { title: basename(path), name: reports.policyName(hook) };
      const data = await reports.reportData(session, run, { ...setting, ...named });
      await reports.writeReport(html, reports.reportHtml(data));
    }
    const { format, problems, unplayed } = session;
    const { calls } = run.record;
    const document = { session: path, format, problems, unplayed, oddCalls, calls, summary };
    return { document, text: `\n${closingText(session, summary, html)}` };
  },
};

/** One line of the table of calls. */
const rowOf = (cellOf) => COLUMNS.map((column) => cellOf(column).padStart(column[1])).join(" ");

/** What a replay assumes: the session, the prices, the cache, and where list and usage disagree. */
function openingText(path, { format, all, calls }, { prices, cache, contextWindow, oddCalls }) {
  return figureList([
    ["session", path],
    ["format", `${format}, ${some(all.length, "message")}, ${some(calls.length, "model call")}`],
    ["prices", pricesText(prices)],
    ["cache", `${CACHES[cache]}; ${lifeText(prices)}`],
    ["window", `${whole(contextWindow)} tokens`],
    oddCalls.length > 0 && ["usage", oddText(oddCalls.length, oddCalls.at(-1))],
  ]);
}

/** Says that some calls report less than their messages hold. */
function oddText(count, { call, reported, counted }) {
  return (
    `${some(count, "report")} below the size of the messages (call ${whole(call)}: ${whole(reported)} tokens, the ` +
    `messages make ${whole(counted)}): the host, or this hook, left something out; without the hook counts the messages`
  );
}

/** The sums. The layers' savings add up to the difference in tokens sent. */
function closingText({ unplayed, stretches, problems }, summary, html) {
  const { tokensSent, saved, cost } = summary;
  const both = ({ before, after }) => pair(before, after);
  const spread = (ms) =>
    ["median", "p95", "max"].map((name) => `${name} ${ms[name].toFixed(2)} ms`).join(", ");
  const left = Object.entries(unplayed).filter(([, calls]) => calls > 0);
  const acted = contract.LAYERS.filter((layer) => layer !== "repair" || saved.repair !== 0);
  const sent = `${both(tokensSent)} (${change(tokensSent.before, tokensSent.after)})`;
  return figureList([
    ["model calls", whole(summary.calls)],
    ...left.map(([which, calls]) => ["not played", `${some(calls, "call")} ${which}`]),
    ["recorded compactions", whole(stretches.filter(({ cause }) => cause === "compaction").length)],
    ["messages in the last call", both(summary.messages)],
    ["tokens sent, all calls", `${sent}, as the provider counts, estimated`],
    ...acted.map((layer) => [`  saved: ${contract.layers[layer]}`, whole(saved[layer])]),
    ["  saved in all", whole(tokensSent.before - tokensSent.after)],
    ["cost of the input, all calls", moneyText(summary)],
    cost.reported > 0 && ["  as it was reported", `${costText(cost.reported, cost.prices)}; ${MISSES}`],
    ["largest call", both(summary.peakTokens)],
    ["calls over the window", both(summary.callsOverWindow)],
    ["time per call", spread(summary.totalMs)],
    ["main thread held", spread(summary.blockedMs)],
    problems.length > 0 && ["lines skipped", whole(problems.length)],
    html !== undefined && ["report", `${html}, for any browser`],
  ]);
}

/** The cost with and without the hook. A request over the window has no price. */
function moneyText({ cost: { cache, prices, before, after }, callsOverWindow }) {
  const over = callsOverWindow.before;
  const [from, to] = [before, after].map((sum) => costText(sum, prices));
  return over > 0
    ? `${to}, ${cache} cache; impossible without the hook: ${some(over, "call")} over the window`
    : `${from} → ${to} (${change(before, after)}), ${cache} cache`;
}
