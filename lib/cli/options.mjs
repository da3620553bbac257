// Reads the command line, and the text of `--help`. A command that reads a session takes every option of the hook that can be
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

/** The text of `--help`; the hook's options are listed in it. Fits 80 columns. */
export const helpText = async () => {
  const text = await readFile(new URL("help.txt", import.meta.url), "utf8");
  const lines = wrapped(HOOK_FLAGS.join(" "), 78);
  return text.trimEnd().replace("HOOK-OPTIONS", lines.join("\n  "));
};

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
