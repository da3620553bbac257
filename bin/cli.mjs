// The command-line tool: parses arguments and prints; the work is in lib/cli. Started by pi-strata.js, which any Node can
// read.

import { basename } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { ledgerOf, ledgerText } from "../lib/cli/cache.mjs";
import { countFiles, countTable } from "../lib/cli/count.mjs";
import { explainCall, explanationText } from "../lib/cli/explain.mjs";
import { expand } from "../lib/cli/patterns.mjs";
import { callHeader, callLine, closingTable } from "../lib/cli/print.mjs";
import { progressBar } from "../lib/cli/progress.mjs";
import { summaryOf } from "../lib/cli/replay.mjs";
import { PRICES } from "../lib/cli/report/caches.mjs";
import { reportData } from "../lib/cli/report/data.mjs";
import { openReport, reportHtml } from "../lib/cli/report/html.mjs";
import { POLICIES, POLICY_OF } from "../lib/cli/report/policies.mjs";
import { runOf } from "../lib/cli/report/run.mjs";
import { loadSession, UsageError } from "../lib/cli/session.mjs";
import native from "../lib/native/native.js";

/** Exit code for what the user can mend: a missing file, an empty one, a wrong option. */
const EXIT_USAGE = 2;

/** A parser of the numbers that `accepts` takes. */
const number = (accepts, allowed) => (text) => {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(value) || !accepts(value)) throw new InvalidArgumentError(`It must be ${allowed}.`);
  return value;
};

const positiveInteger = number((value) => Number.isInteger(value) && value > 0, "a whole number above 0");
const factor = number((value) => value > 0, "a number above 0");
const price = number((value) => value >= 0, "a number from 0 on");

/** The prices asked for. Cache prices not named follow the input price as the defaults do. */
function pricesOf({ priceInput: input, priceRead, priceWrite, ttl }) {
  const per = input / PRICES.input;
  return {
    input,
    read: priceRead ?? per * PRICES.read,
    write: priceWrite ?? per * PRICES.write,
    ttlSeconds: ttl,
  };
}

async function load(file) {
  const session = await loadSession(file);
  for (const { line, message } of session.problems) console.error(`line ${line} skipped: ${message}`);
  return session;
}

/** Prints and reports one and the same run. */
async function runReplay(file, options) {
  const { contextWindow, schedule, json, every, html } = options;
  const prices = pricesOf(options);
  const page = html === undefined ? undefined : await openReport(html);
  const session = await load(file);
  const bar = progressBar(session.calls.length + (html === undefined ? 0 : Object.keys(POLICIES).length));
  if (!json) console.log(callHeader());
  const onCall = (report) => {
    if (!json && report.call % every === 0) bar.print(callLine(report));
    bar.advance();
  };
  const run = await runOf(session, { contextWindow, schedule, prices, onCall });
  if (page !== undefined) {
    const shown = { title: basename(file), ours: POLICY_OF[schedule], onPolicy: bar.advance };
    const data = await reportData({ ...shown, session, contextWindow, prices, run });
    await page.writeFile(await reportHtml(data));
    await page.close();
  }
  bar.stop();
  const { format, problems, unplayed } = session;
  const { reports: calls } = run;
  const closing = { ...summaryOf(run), dollars: billsOf(run, prices) };
  if (json) console.log(JSON.stringify({ format, problems, unplayed, calls, summary: closing }));
  else console.log(`\n${closingTable(session, closing)}`);
  if (!json && html !== undefined) console.log(`\nThe report is in ${html}; open it in any browser.`);
}

/** Input dollars under the cache that the recorded provider has. */
function billsOf({ cache, none, ours }, prices) {
  return { cache, prices, before: none.dollars[cache], after: ours.dollars[cache] };
}

async function runExplain(file, { call, contextWindow, schedule, json }) {
  const explained = await explainCall(await load(file), call, { contextWindow, schedule });
  if (json) console.log(JSON.stringify({ call: explained.call, ...explained.explanation }));
  else console.log(explanationText(explained));
}

async function runCache(file, { contextWindow, schedule, priceInput, json }) {
  const session = await load(file);
  const prices = priceInput === undefined ? undefined : { input: priceInput };
  const ledger = await ledgerOf(session, { contextWindow, schedule, prices });
  const { format, problems, unplayed } = session;
  console.log(json ? JSON.stringify({ format, problems, unplayed, ...ledger }) : ledgerText(session, ledger));
}

async function runCount(files, { json, ...by }) {
  const paths = files.length > 0 ? await expand(files) : ["-"];
  const counts = await countFiles(paths, by);
  for (const problem of counts.problems) console.error(problem);
  if (counts.problems.length > 0) process.exitCode = EXIT_USAGE;
  if (json) console.log(JSON.stringify({ files: counts.files, total: counts.total }));
  else if (counts.files.length > 0) console.log(countTable(counts));
}

const program = new Command("pi-strata")
  .description("Keeps an LLM agent's context small: replay recorded sessions through the hook, count tokens.")
  .version(native.status().version)
  .configureOutput({
    outputError: (text, write) => write(`${text.trimEnd().replaceAll("\n", " ")} (--help shows more)\n`),
  })
  .addHelpText(
    "after",
    `
Examples:
  pi-strata replay session.jsonl                      what each call would have saved
  pi-strata replay --html report.html session.jsonl   the same as a page with charts
  pi-strata explain --call 120 session.jsonl          every edit before one call, and why
  pi-strata cache session.jsonl                       dollars billed, cache misses and why
  pi-strata count README.md                           exact tokens, by cl100k_base or --model

Exit codes: 0 done; 2 something to mend (a missing file, a wrong option); 1 any other failure.
Colours follow NO_COLOR and FORCE_COLOR; a progress bar is drawn on a terminal only.`,
  )
  .exitOverride();

/** A command that reads a recorded session, with the options it has in common with the others that do; `more` ends its help. */
function sessionCommand(name, description, more) {
  const schedule = new Option("--schedule <name>", "when the layers may move");
  return program
    .command(name)
    .description(description)
    .argument("<file>", 'the session, or "-" for standard input')
    .option("--context-window <tokens>", "the model's context window", positiveInteger, 200_000)
    .addOption(schedule.choices(["auto", "everyCall", "sticky"]).default("auto"))
    .option("--json", "print one JSON document instead of the tables")
    .addHelpText("after", more);
}

sessionCommand(
  "replay",
  "Play a recorded session (pi JSONL, Claude Code transcript) call by call through the hook.",
  `
Examples:
  pi-strata replay ~/.pi/agent/sessions/project/session.jsonl
  pi-strata replay --context-window 64000 --every 20 session.jsonl
  pi-strata replay --html report.html session.jsonl
  cat session.jsonl | pi-strata replay --json - | jq .summary`,
)
  .option("--every <n>", "print every n-th call only", positiveInteger, 1)
  .option("--html <file>", "also write a report: one page with charts that needs no network")
  .option("--price-input <dollars>", "price of a million input tokens", price, PRICES.input)
  .option(
    "--price-read <dollars>",
    "the same, read from the cache (default: a tenth of the input price)",
    price,
  )
  .option(
    "--price-write <dollars>",
    "the same, written to the cache (default: 1.25 times the input price)",
    price,
  )
  .option("--ttl <seconds>", "life of a cache entry", price, PRICES.ttlSeconds)
  .action(runReplay);

sessionCommand(
  "explain",
  "Say what the hook would do before one call of a recorded session, and why.",
  `
Examples:
  pi-strata explain --call 120 session.jsonl
  pi-strata explain --json session.jsonl | jq .schedule`,
)
  .option("--call <n>", "the call, from 1 (default: the last one)", positiveInteger)
  .action(runExplain);

sessionCommand(
  "cache",
  "Read a recorded session's bill back: dollars, cache misses and why, what the hook cost and saved.",
  `
Name the window and the schedule that the hook had.
Tokens and costs are those the session reports. What it would have cost without the hook is estimated, and only
where the sizes it reports show that the hook was at work. A cost of 0, as on a subscription, is reckoned from prices.

Examples:
  pi-strata cache session.jsonl
  pi-strata cache --json session.jsonl | jq .misses`,
)
  .option(
    "--price-input <dollars>",
    "price of a million input tokens (default: as billed, else as listed); the other prices follow",
    factor,
  )
  .action(runCache);

program
  .command("count")
  .description("Count exact cl100k_base tokens of files.")
  .argument("[file...]", 'text files; "-", or none, is standard input')
  .option("--encoding <name>", "the encoding: cl100k_base (default), o200k_base, ...")
  .option("--model <name>", "the model whose encoding is wanted, such as gpt-4o")
  .addOption(
    new Option(
      "--tokenizer <file>",
      "count by an open model's tokenizer.json, tekken.json or tiktoken file",
    ).conflicts(["encoding", "model"]),
  )
  .option("--pattern <regex>", "the pattern of a tiktoken file")
  .option("--json", "print one JSON document instead of the table")
  .addHelpText(
    "after",
    `
Examples:
  pi-strata count README.md src/*.ts
  pi-strata count --tokenizer Qwen3-8B/tokenizer.json prompt.txt
  pi-strata count --model gpt-4o prompt.txt
  pbpaste | pi-strata count
  pi-strata count --json prompt.txt | jq .total`,
  )
  .action(runCount);

// Who reads our output may have read enough (`| head`): then there is nothing left to do.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
}

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof UsageError) {
    console.error(error.message);
    process.exitCode = EXIT_USAGE;
  } else if (error.code?.startsWith("commander.")) {
    process.exitCode = error.exitCode === 0 ? 0 : EXIT_USAGE;
  } else {
    console.error(error.message);
    process.exitCode = 1;
  }
}
