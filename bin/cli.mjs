// The command-line tool: picks the command and prints its answer; the work is in lib/cli. Started by pi-strata.js, which
// refuses an old Node.

import { count } from "../lib/cli/count.mjs";
import { explain } from "../lib/cli/explain.mjs";
import { helpText, MORE, readArguments } from "../lib/cli/options.mjs";
import { replay } from "../lib/cli/replay.mjs";
import { UsageError } from "../lib/cli/terminal.mjs";
import native from "../lib/native/native.js";

/** Each command: its `options`, and `run`, which returns the document of `--json` and the text that is printed otherwise. */
const COMMANDS = { replay, explain, count };

async function main([name = "--help", ...args]) {
  if (name === "--version" || name === "-V") return native.status().version;
  if (name === "--help" || name === "-h" || name === "help") return helpText();
  if (!Object.hasOwn(COMMANDS, name)) {
    const known = Object.keys(COMMANDS).join(", ");
    throw new UsageError(`unknown command '${name.slice(0, 40)}'; there are ${known}${MORE}`);
  }
  const read = await readArguments(name, args, COMMANDS[name]);
  if (read.help) return helpText();
  const { document, text } = await COMMANDS[name].run(read);
  return read.json ? JSON.stringify(document) : text;
}

// A reader that stops early (`| head`) is no failure; a full disk is.
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", ({ code, message }) => {
    if (code === "EPIPE") process.exit();
    if (stream === process.stdout) console.error(`Cannot write the output: ${message}.`);
    process.exit(1);
  });
}

try {
  const text = await main(process.argv.slice(2));
  if (text !== undefined) console.log(text);
} catch (error) {
  console.error(error.message);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
