// The command-line tool: reads arguments and prints; the work is in lib/cli. Started by pi-strata.js, which any Node can read.

import { basename } from "node:path";
import { ledgerOf, ledgerText } from "../lib/cli/cache.mjs";
import { countFiles, countTable, expand } from "../lib/cli/count.mjs";
import { explainCall, explanationText } from "../lib/cli/explain.mjs";
import { HELP } from "../lib/cli/help.mjs";
import { price, readArguments, text, wholeNumber } from "../lib/cli/options.mjs";
import { callHeader, callLine, closingTable, openingTable } from "../lib/cli/print.mjs";
import { progressLine } from "../lib/cli/progress.mjs";
import { summaryOf } from "../lib/cli/replay.mjs";
import { cacheModelOf } from "../lib/cli/report/caches.mjs";
import { reportData } from "../lib/cli/report/data.mjs";
import { estimatesOf } from "../lib/cli/report/estimates.mjs";
import { openReport, reportHtml } from "../lib/cli/report/html.mjs";
import { POLICIES, policyName } from "../lib/cli/report/policies.mjs";
import { pricesOf } from "../lib/cli/report/prices.mjs";
import { runOf } from "../lib/cli/report/run.mjs";
import { findSession, loadSession, UsageError } from "../lib/cli/session.mjs";
import contract from "../lib/contract.js";
import native from "../lib/native/native.js";
import rules from "../lib/options.js";

/** Exit code for what the user can mend: a missing file, an empty one, a wrong option. */
const EXIT_USAGE = 2;

const COMMANDS = {
  replay: { run: runReplay, own: { every: wholeNumber, html: text, price }, takesHook: true, most: 1 },
  explain: { run: runExplain, own: { call: wholeNumber }, takesHook: true, most: 1 },
  cache: { run: runCache, own: { price }, takesHook: true, most: 1 },
  count: {
    run: runCount,
    own: { encoding: text, model: text, tokenizer: text, pattern: text },
    takesHook: false,
    most: Infinity,
  },
};

/** The session of the arguments, and its path. */
async function load([given]) {
  const path = await findSession(given);
  const session = await loadSession(path);
  for (const { line, message } of session.problems) console.error(`line ${line} skipped: ${message}`);
  return { path: path === "-" ? "standard input" : path, session };
}

/** Prints and reports one and the same run. */
async function runReplay({ positionals, hook, every = 1, html, price: named, json }) {
  const page = html === undefined ? undefined : await openReport(html);
  try {
    const { path, session } = await load(positionals);
    const contextWindow = hook.contextWindow ?? contract.hookOptions.contextWindow.default;
    const prices = pricesOf(session, named, hook.cache);
    const cache = cacheModelOf(session);
    const odd = oddCalls(session, hook);
    if (!json)
      console.log(`${openingTable(path, session, { prices, cache, contextWindow, odd })}\n\n${callHeader()}`);
    const line = json ? progressLine("call", session.calls.length) : undefined;
    const onCall = (report) => {
      if (!json && report.call % every === 0) console.log(callLine(report));
      line?.advance();
    };
    const run = await runOf(session, { contextWindow, hook, prices, onCall });
    line?.stop();
    if (page !== undefined) {
      const others = progressLine("setting", Object.keys(POLICIES).length);
      const shown = { title: basename(path), ours: policyName(hook), onPolicy: others.advance };
      await page.write(await reportHtml(await reportData({ ...shown, session, contextWindow, prices, run })));
      others.stop();
    }
    const cost = { cache, prices, before: run.none.dollars[cache], after: run.ours.dollars[cache] };
    const { format, problems, unplayed } = session;
    const closing = { ...summaryOf(run), cost };
    if (json)
      console.log(
        JSON.stringify({
          session: path,
          format,
          problems,
          unplayed,
          oddCalls: odd,
          calls: run.reports,
          summary: closing,
        }),
      );
    else console.log(`\n${closingTable(session, closing)}`);
    if (!json && html !== undefined) console.log(`\nThe report is in ${html}; open it in any browser.`);
  } finally {
    await page?.discard();
  }
}

/** Calls whose report is smaller than their messages: `{ call, reported, counted }`, both in the provider's tokens. */
function oddCalls(session, hook) {
  return estimatesOf(session, hook).flatMap(({ isOdd, tokensBefore, estimate: { scale, counted } }, i) =>
    isOdd ? [{ call: i + 1, reported: tokensBefore, counted: Math.round(scale * counted) }] : [],
  );
}

async function runExplain({ positionals, hook, call, json }) {
  const { path, session } = await load(positionals);
  const explained = await explainCall(session, call, hook);
  if (json) console.log(JSON.stringify({ session: path, call: explained.call, ...explained.explanation }));
  else console.log(explanationText(path, explained));
}

async function runCache({ positionals, hook, price: named, json }) {
  const { path, session } = await load(positionals);
  const ledger = await ledgerOf(session, { ...hook, prices: named });
  const { format, problems, unplayed } = session;
  if (json) console.log(JSON.stringify({ session: path, format, problems, unplayed, ...ledger }));
  else console.log(ledgerText(path, session, ledger));
}

async function runCount({ positionals, json, ...by }) {
  if (by.tokenizer !== undefined && (by.encoding ?? by.model) !== undefined)
    throw new UsageError("--tokenizer names the encoding itself; leave --encoding and --model out.");
  const counts = await countFiles(positionals.length > 0 ? expand(positionals) : ["-"], by);
  for (const problem of counts.problems) console.error(problem);
  if (counts.problems.length > 0) process.exitCode = EXIT_USAGE;
  if (json) console.log(JSON.stringify({ files: counts.files, total: counts.total }));
  else if (counts.files.length > 0) console.log(countTable(counts));
}

async function main([name = "--help", ...args]) {
  if (name === "--version" || name === "-V") return console.log(native.status().version);
  if (name === "--help" || name === "-h" || name === "help") return console.log(HELP[args[0]] ?? HELP.all);
  if (!Object.hasOwn(COMMANDS, name)) {
    const near = rules.nearest(name, Object.keys(COMMANDS));
    throw new UsageError(`unknown command '${name.slice(0, 40)}'; did you mean ${near}? (--help shows more)`);
  }
  const { run, own, ...takes } = COMMANDS[name];
  const read = readArguments(name, args, own, takes);
  return read.help ? console.log(HELP[name]) : run(read);
}

// Who reads our output may have read enough (`| head`): then there is nothing left to do.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(error.message);
  process.exitCode = error instanceof UsageError ? EXIT_USAGE : 1;
}
