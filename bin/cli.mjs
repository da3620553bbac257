// The command-line tool: picks the command and prints its answer; the work is in lib/cli. Started by pi-strata.js, which any Node
// can read.

import { cache } from "../lib/cli/cache.mjs";
import { count } from "../lib/cli/count.mjs";
import { explain } from "../lib/cli/explain.mjs";
import { HELP } from "../lib/cli/help.mjs";
import { readArguments } from "../lib/cli/options.mjs";
import { replay } from "../lib/cli/replay.mjs";
import { UsageError } from "../lib/cli/terminal.mjs";
import native from "../lib/native/native.js";
import rules from "../lib/options.js";

/** Each command: the parsers of its `own` options, and `run`, which returns the document of `--json` and the text instead of it. */
const COMMANDS = { replay, explain, cache, count };

async function main([name = "--help", ...args]) {
  if (name === "--version" || name === "-V") return console.log(native.status().version);
  if (name === "--help" || name === "-h" || name === "help") return console.log(HELP[args[0]] ?? HELP.all);
  if (!Object.hasOwn(COMMANDS, name)) {
    const near = rules.nearest(name, Object.keys(COMMANDS));
    throw new UsageError(`unknown command '${name.slice(0, 40)}'; did you mean ${near}? (--help shows more)`);
  }
  const read = await readArguments(name, args, COMMANDS[name]);
  if (read.help) return console.log(HELP[name]);
  const { document, text } = await COMMANDS[name].run(read);
  if (read.json) console.log(JSON.stringify(document));
  else if (text !== undefined) console.log(text);
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
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
