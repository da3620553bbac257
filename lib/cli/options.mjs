// Reads the command line: each command's own options, and every option of the hook that can be written as text.

import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import contract from "../contract.js";
import hookOptions from "../hook/options.js";
import rules from "../options.js";
import { printable, reading, UsageError } from "./terminal.mjs";

/** The hook's options, by their names on the command line: `--context-window`. Functions and times cannot be written. */
const HOOK_OPTIONS = Object.fromEntries(
  Object.entries(contract.hookOptions)
    .filter(([, { is }]) => is !== "handler" && is !== "times")
    .map(([name, { is }]) => [name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`), { name, is }]),
);
export const HOOK_FLAGS = Object.keys(HOOK_OPTIONS).map((name) => `--${name}`);
const MORE = " (--help shows more)";

/**
 * `{ help, json, hook, positionals, ...own }` of a command's arguments. `own` names its options with their parsers. A command that
 * takes files takes any number of them, and no options of the hook.
 */
export async function readArguments(command, args, { own, takesFiles = false }) {
  const ofHook = takesFiles ? {} : HOOK_OPTIONS;
  const names = [...Object.keys(own), ...Object.keys(ofHook), ...(takesFiles ? [] : ["options"])];
  const { values, positionals } = parsed(args, {
    help: { type: "boolean", short: "h" },
    json: { type: "boolean" },
    ...Object.fromEntries(names.map((name) => [name, { type: "string" }])),
  });
  if (positionals.length > 1 && !takesFiles)
    throw new UsageError(`'${command}' takes at most 1 argument; there are ${positionals.length}${MORE}`);
  const hook = values.options === undefined ? {} : await optionsIn(values.options);
  const read = { help: values.help, json: values.json, hook, positionals };
  for (const [name, value] of Object.entries(values)) {
    if (name in ofHook) hook[ofHook[name].name] = hookValue(value, ofHook[name]);
    if (name in own) read[name] = own[name](value, `--${name}`);
  }
  try {
    hookOptions.checkHookOptions("pi-strata", hook);
  } catch (error) {
    throw new UsageError(error.message.replace("pi-strata: ", "").replace(", or a function", ""));
  }
  return read;
}

function parsed(args, options) {
  try {
    return parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    if (!error.code?.startsWith("ERR_PARSE_ARGS")) throw error;
    const [, name] = /^Unknown option '(--?[^' ]+)/.exec(error.message) ?? [];
    if (name === undefined) throw new UsageError(`${error.message}${MORE}`);
    const near = rules.nearest(name.replace(/^-+/, ""), Object.keys(options));
    throw new UsageError(`unknown option '${printable(name)}'; did you mean --${near}?${MORE}`);
  }
}

/** The value of a hook option: JSON if it is valid JSON, else the text. Commas separate names. */
function hookValue(text, { is }) {
  if (is === "names") return text.split(",").map((name) => name.trim());
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function optionsIn(file) {
  const text = await reading(file, readFile(file, "utf8"));
  const refuse = (reason) => {
    throw new UsageError(`Cannot read ${printable(file)}: ${reason}.`);
  };
  try {
    const options = JSON.parse(text);
    if (rules.record.accepts(options)) return options;
  } catch {
    refuse("it is not valid JSON");
  }
  return refuse("an object of the hook's options was expected");
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

export const text = (value) => value;
