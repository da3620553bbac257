#!/usr/bin/env node
// The command-line tool: parses arguments and prints; the work is in lib/cli.

import { Presets, SingleBar } from "cli-progress";
import { Command, InvalidArgumentError, Option } from "commander";
import { CALL_HEADER, callLine, closingTable } from "../lib/cli/print.mjs";
import { callsOf, replay, summarize } from "../lib/cli/replay.mjs";
import { loadSession, UsageError } from "../lib/cli/session.mjs";
import native from "../lib/native.js";

/** Exit code for what the user can mend: a missing file, an empty one, a wrong option. */
const EXIT_USAGE = 2;

function positiveInteger(text) {
  const number = Number(text);
  if (!Number.isInteger(number) || number <= 0)
    throw new InvalidArgumentError("It must be a whole number above 0.");
  return number;
}

async function runReplay(path, { contextWindow, schedule, json, every }) {
  const session = await loadSession(path);
  for (const { line, message } of session.problems) console.error(`line ${line} skipped: ${message}`);
  const bar = progressBar(callsOf(session.messages).length);
  const reports = [];
  if (!json) console.log(CALL_HEADER);
  for await (const report of replay(session.messages, { contextWindow, schedule })) {
    reports.push(report);
    if (!json && report.call % every === 0) bar.print(callLine(report));
    bar.advance();
  }
  bar.stop();
  const summary = summarize(reports);
  if (json)
    console.log(
      JSON.stringify({ format: session.format, problems: session.problems, calls: reports, summary }),
    );
  else console.log(`\n${closingTable(session, summary)}`);
}

/** A progress bar on a terminal; in a pipe only what is printed. */
function progressBar(total) {
  if (!process.stdout.isTTY || !process.stderr.isTTY) {
    return { print: (line) => console.log(line), advance() {}, stop() {} };
  }
  const bar = new SingleBar({ stream: process.stderr, clearOnComplete: true }, Presets.shades_classic);
  bar.start(total, 0);
  return {
    print(line) {
      process.stderr.write("\r\x1b[K");
      console.log(line);
      bar.render();
    },
    advance: () => bar.increment(),
    stop: () => bar.stop(),
  };
}

const program = new Command("pi-strata")
  .description("Keeps an LLM agent's context small: replay recorded sessions through the hook.")
  .version(native.status().version)
  .exitOverride();

program
  .command("replay")
  .description("Play a recorded session (pi JSONL, Claude Code transcript) call by call through the hook.")
  .argument("<file>", 'the session, or "-" for standard input')
  .option("--context-window <tokens>", "the model's context window", positiveInteger, 200_000)
  .addOption(
    new Option("--schedule <name>", "when the layers may move").choices(["everyCall"]).default("everyCall"),
  )
  .option("--json", "print one JSON document instead of the tables")
  .option("--every <n>", "print every n-th call only", positiveInteger, 1)
  .addHelpText(
    "after",
    `
Examples:
  pi-strata replay ~/.pi/agent/sessions/project/session.jsonl
  pi-strata replay --context-window 64000 --every 20 session.jsonl
  cat session.jsonl | pi-strata replay --json - | jq .summary`,
  )
  .action(runReplay);

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
