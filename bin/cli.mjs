// The command-line tool: reads arguments and prints; the work is in lib/cli. Started by pi-strata.js, which any Node can read.

import { basename } from "node:path";
import { ledgerOf, ledgerText } from "../lib/cli/cache.mjs";
import { countFiles, countTable, expand } from "../lib/cli/count.mjs";
import { explainCall, explanationText } from "../lib/cli/explain.mjs";
import { HELP } from "../lib/cli/help.mjs";
import { price, readArguments, text, wholeNumber } from "../lib/cli/options.mjs";
import { callHeader, callLine, closingTable, openingTable } from "../lib/cli/print.mjs";
import { progressLine } from "../lib/cli/progress.mjs";
import { cacheModelOf } from "../lib/cli/report/caches.mjs";
import { reportData } from "../lib/cli/report/data.mjs";
import { estimatesOf } from "../lib/cli/report/estimates.mjs";
import { openReport, reportHtml } from "../lib/cli/report/html.mjs";
import { POLICIES, policyName } from "../lib/cli/report/policies.mjs";
import { pricesOf } from "../lib/cli/report/prices.mjs";
import { runOf, summaryOf } from "../lib/cli/report/run.mjs";
import { findSession, loadSession, UsageError } from "../lib/cli/session.mjs";
import contract from "../lib/contract.js";
import native from "../lib/native/native.js";
import rules from "../lib/options.js";

/** Exit code for what the user can mend: a missing file, an empty one, a wrong option. */
const EXIT_USAGE = 2;

/** Each command with the parsers of its own options. `run` returns the document of `--json` and the text instead of it. */
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

/** The session of the arguments, its path, and the fields that every document has. */
async function load([given]) {
  const path = await findSession(given);
  const session = await loadSession(path);
  const { format, problems, unplayed } = session;
  for (const { line, message } of problems) console.error(`line ${line} skipped: ${message}`);
  const name = path === "-" ? "standard input" : path;
  return { path: name, session, told: { session: name, format, problems, unplayed } };
}

/** Prints a run, and writes the report of the same run. */
async function runReplay({ positionals, hook, every = 1, html, price: named, json }) {
  const page = html === undefined ? undefined : await openReport(html);
  try {
    const { path, session, told } = await load(positionals);
    const contextWindow = hook.contextWindow ?? contract.hookOptions.contextWindow.default;
    const prices = pricesOf(session, named, hook.cache);
    const cache = cacheModelOf(session);
    const estimates = estimatesOf(session, hook);
    const setting = { contextWindow, prices, estimates };
    const oddCalls = estimates.flatMap(({ isOdd, tokensBefore, held }, i) =>
      isOdd ? [{ call: i + 1, reported: tokensBefore, counted: held }] : [],
    );
    const print = json ? () => {} : console.log;
    print(`${openingTable(path, session, { prices, cache, contextWindow, oddCalls })}\n\n${callHeader()}`);
    const line = progressLine("call", json ? session.calls.length : 0);
    const onCall = (report) => {
      if (report.call % every === 0) print(callLine(report));
      line.advance();
    };
    const run = await runOf(session, { ...setting, hook, onCall });
    line.stop();
    if (page !== undefined) {
      const others = progressLine("setting", Object.keys(POLICIES).length);
      const shown = { title: basename(path), ours: policyName(hook), onPolicy: others.advance };
      await page.write(await reportHtml(await reportData({ ...shown, ...setting, session, cache, run })));
      others.stop();
    }
    const cost = { cache, prices, before: run.none.dollars[cache], after: run.ours.dollars[cache] };
    const summary = { ...summaryOf(run), cost };
    const where = page === undefined ? "" : `\n\nThe report is in ${html}; open it in any browser.`;
    return {
      document: { ...told, oddCalls, calls: run.reports, summary },
      text: `\n${closingTable(session, summary)}${where}`,
    };
  } finally {
    await page?.discard();
  }
}

async function runExplain({ positionals, hook, call }) {
  const { path, session } = await load(positionals);
  const explained = await explainCall(session, call, hook);
  const document = { session: path, call: explained.call, ...explained.explanation };
  return { document, text: explanationText(path, explained) };
}

async function runCache({ positionals, hook, price: named }) {
  const { path, session, told } = await load(positionals);
  const ledger = await ledgerOf(session, { ...hook, prices: named });
  return { document: { ...told, ...ledger }, text: ledgerText(path, session, ledger) };
}

async function runCount({ positionals, ...by }) {
  if (by.tokenizer !== undefined && (by.encoding ?? by.model) !== undefined)
    throw new UsageError("--tokenizer names the encoding itself; leave --encoding and --model out.");
  const counts = await countFiles(positionals.length > 0 ? expand(positionals) : ["-"], by);
  for (const problem of counts.problems) console.error(problem);
  if (counts.problems.length > 0) process.exitCode = EXIT_USAGE;
  const { files, total } = counts;
  return { document: { files, total }, text: files.length > 0 ? countTable(counts) : undefined };
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
  if (read.help) return console.log(HELP[name]);
  const { document, text: shown } = await run(read);
  if (read.json) console.log(JSON.stringify(document));
  else if (shown !== undefined) console.log(shown);
}

// A reader that stops early (`| head`) is no failure.
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
