// Reads the command line, and holds the text of `--help`. A command that reads a session takes every option of the hook that can be
// written as text, too.

import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import contract from "../contract.js";
import { attempt } from "../helpers.js";
import hookOptions from "../hook/options.js";
import rules from "../options.js";
import { decoderOf } from "./recording/lines.mjs";
import { reading, UsageError, wrapped } from "./terminal.mjs";

/** The hook's options, by their names on the command line: `--context-window`. Functions and times cannot be written. */
const HOOK_OPTIONS = Object.fromEntries(
  Object.entries(contract.hookOptions)
    .filter(([, { is }]) => is !== "handler" && is !== "times")
    .map(([name, { is }]) => [name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), { name, is }]),
);
const HOOK_FLAGS = Object.keys(HOOK_OPTIONS).map((name) => `--${name}`);
export const MORE = " (--help shows more)";

/** Fits 80 columns. */
export const HELP = `Usage: pi-strata COMMAND [options]

Keeps an LLM agent's context small: plays recorded sessions through the hook,
counts tokens. Every command takes --json, which prints one JSON document.

replay [session]      what each call would have saved, and by which prices
  --every N           print every N-th call only
  --html FILE         also write a report: one page with charts
explain [session]     every edit before one call, and why
  --call N            the call, from 1 (default: the last one)
count [file...]       exact tokens of files, by cl100k_base; "-", or no file, is
                      standard input. From Node 22 on it takes patterns.
  --encoding NAME     another encoding: o200k_base, ...
  --model NAME        the encoding of a model such as gpt-4o
  --tokenizer FILE    an open model's tokenizer.json, tekken.json or tiktoken
  --pattern REGEX     the pattern of a tiktoken file, or its name, such as kimi

The session is a file (pi's or Claude Code's JSONL, a JSON array of messages), a
folder, which stands for the newest session in it, "-" for standard input, or
nothing: the newest session of pi and Claude Code. Messages are pi's, OpenAI's,
Anthropic's or the AI SDK's. Options of replay and explain:
  --price INPUT[,OUTPUT]  dollars per million tokens; the model's family sets
                          the cache prices. Without it: as the session was
                          billed, else tokens are weighed
  --options FILE.json     the hook's options as JSON; those below outrank it
and the options of the hook, as index.d.ts describes them. Objects are JSON:
--cache '{"read":0.25}'. On Windows use --options. The window is 200,000 tokens
unless it is named, or 1,000,000 if a call reports more.
  ${wrapped(HOOK_FLAGS.join(" "), 78).join("\n  ")}

Examples:
  pi-strata replay --context-window 64000 --every 20 session.jsonl
  pi-strata replay --html report.html --price 3,15 ~/.pi/agent/sessions
  cat session.jsonl | pi-strata replay --json - | jq .summary
  pi-strata explain --call 120 session.jsonl
  pi-strata count --tokenizer Qwen3-8B/tokenizer.json prompt.txt

--version says which this is. Exit codes: 0 done; 2 something to mend (a missing
file, a wrong option); 1 any other failure. Colours follow NO_COLOR and
FORCE_COLOR.`;

/**
 * `{ help, json, hook, positionals, ...own }` of a command's arguments. `options` are the command's own, each with the parser of its
 * value. A command that takes files takes any number of them, and no options of the hook.
 */
export async function readArguments(command, args, { options, takesFiles = false }) {
  const ofHook = takesFiles ? {} : { options: undefined, ...HOOK_OPTIONS };
  const { values, positionals } = parsed(args, {
    help: { type: "boolean", short: "h" },
    json: { type: "boolean" },
    ...Object.fromEntries(Object.keys({ ...options, ...ofHook }).map((name) => [name, { type: "string" }])),
  });
  if (positionals.length > 1 && !takesFiles)
    throw new UsageError(`'${command}' takes at most 1 argument; there are ${positionals.length}${MORE}`);
  const { help, json, options: file, ...given } = values;
  const hook = file === undefined ? {} : await optionsIn(file);
  const own = {};
  for (const [name, value] of Object.entries(given)) {
    if (name in options) own[name] = options[name](value, `--${name}`);
    else hook[ofHook[name].name] = hookValue(value, ofHook[name]);
  }
  try {
    hookOptions.checkHookOptions("pi-strata", hook);
  } catch ({ message }) {
    const problem = message.replace("pi-strata: ", "").replace(", or a function", "");
    throw new UsageError(problem.replace("an object", "an object as JSON"));
  }
  return { help, json, hook, positionals, ...own };
}

async function optionsIn(file) {
  const read = readFile(file).then((bytes) => JSON.parse(decoderOf(bytes).decode(bytes)));
  const options = await reading(file, read);
  if (rules.record.accepts(options)) return options;
  throw new UsageError(`Cannot read ${file}: an object of the hook's options was expected.`);
}

function parsed(args, options) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch ({ message }) {
    const [, name] = /^Unknown option '(--?[^' ]+)/.exec(message) ?? [];
    if (name === undefined) throw new UsageError(`${message}${MORE}`);
    const near = rules.nearest(name.replace(/^-+/, ""), Object.keys(options));
    throw new UsageError(`unknown option '${name}'; did you mean --${near}?${MORE}`);
  }
}

/** The value of a hook option: JSON if it is valid JSON, else the text. Commas separate names, unless they are a JSON array. */
function hookValue(text, { is }) {
  const isNames = is === "names" && !text.trim().startsWith("[");
  if (isNames) return text.split(",").map((name) => name.trim());
  return attempt(() => JSON.parse(text), text);
}

/** A parser of the whole numbers from 1 on. */
export function wholeNumber(text, name) {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value > 0) return value;
  throw new UsageError(`${name} is ${JSON.stringify(text)}; it must be a whole number above 0.`);
}

/** A parser of `INPUT[,OUTPUT]`, dollars per million tokens. */
export function price(text, name) {
  const [, input, output] = /^(\d*\.?\d+)(?:,(\d*\.?\d+))?$/.exec(text.replaceAll(" ", "")) ?? [];
  if (Number(input) > 0) return { input: Number(input), ...(output && { output: Number(output) }) };
  throw new UsageError(
    `${name} is ${JSON.stringify(text)}; it must be INPUT or INPUT,OUTPUT in dollars per million tokens.`,
  );
}
