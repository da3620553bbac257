// Reads the command line: each command's own options, and every option of the hook that can be written as text.

import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import contract from "../contract.js";
import hookOptions from "../hook/options.js";
import rules from "../options.js";
import { REASONS, UsageError } from "./session.mjs";
import { printable } from "./table.mjs";

/** The hook's options, by their names on the command line: `--context-window`. Functions and times cannot be written. */
const HOOK_OPTIONS = Object.fromEntries(
  Object.entries(contract.hookOptions)
    .filter(([, { is }]) => is !== "handler" && is !== "times")
    .map(([name, option]) => [dashed(name), { ...option, name }]),
);
export const HOOK_FLAGS = Object.keys(HOOK_OPTIONS).map((name) => `--${name}`);

/** `{ help, json, hook, positionals, ...own }` of a command's arguments. `own` names its options with their parsers. */
export function readArguments(command, args, own, { takesHook, most }) {
  const ofHook = takesHook ? HOOK_OPTIONS : {};
  const names = [...Object.keys(own), ...Object.keys(ofHook), ...(takesHook ? ["options"] : [])];
  const switches = { help: { type: "boolean", short: "h" }, json: { type: "boolean" } };
  const texts = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const { values, positionals } = parsed(args, { ...switches, ...texts });
  if (positionals.length > most)
    throw new UsageError(
      `'${command}' takes at most ${most} argument; there are ${positionals.length}${MORE}`,
    );
  const { help = false, json = false, options } = values;
  const given = (known) => Object.entries(known).filter(([name]) => values[name] !== undefined);
  const hook = options === undefined ? {} : optionsIn(options);
  for (const [name, option] of given(ofHook)) hook[option.name] = hookValue(values[name], option);
  try {
    hookOptions.checkHookOptions("pi-strata", hook);
  } catch (error) {
    throw new UsageError(error.message.replace("pi-strata: ", "").replace(", or a function", ""));
  }
  const ownValues = given(own).map(([name, parse]) => [name, parse(values[name], `--${name}`)]);
  return { help, json, hook, positionals, ...Object.fromEntries(ownValues) };
}

const MORE = " (--help shows more)";

function parsed(args, options) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!error.code?.startsWith("ERR_PARSE_ARGS")) throw error;
    const [, name] = /'(--?[^' ]+)/.exec(error.message) ?? [];
    if (error.code !== "ERR_PARSE_ARGS_UNKNOWN_OPTION") throw new UsageError(`${error.message}${MORE}`);
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

function optionsIn(file) {
  try {
    const options = JSON.parse(readFileSync(file, "utf8"));
    if (typeof options === "object" && options !== null && !Array.isArray(options)) return options;
  } catch (error) {
    const reason =
      error instanceof SyntaxError ? "it is not valid JSON" : (REASONS[error.code] ?? error.message);
    throw new UsageError(`Cannot read ${printable(file)}: ${reason}.`);
  }
  throw new UsageError(`Cannot read ${printable(file)}: an object of the hook's options was expected.`);
}

/** A parser of the whole numbers from 1 on. */
export function wholeNumber(text, name) {
  const value = Number(text);
  if (text.trim() !== "" && Number.isInteger(value) && value > 0) return value;
  throw new UsageError(`${name} is ${JSON.stringify(text)}; it must be a whole number above 0.`);
}

/** A parser of `INPUT[,OUTPUT]`, dollars per million tokens. */
export function price(text, name) {
  const parts = text.split(",").map((part) => (part.trim() === "" ? Number.NaN : Number(part)));
  const [input, output] = parts;
  const isPrice = (value) => Number.isFinite(value) && value >= 0;
  if (parts.length <= 2 && input > 0 && parts.every(isPrice))
    return { input, ...(output !== undefined && { output }) };
  throw new UsageError(
    `${name} is ${JSON.stringify(text)}; it must be INPUT or INPUT,OUTPUT in dollars per million tokens.`,
  );
}

export const text = (value) => value;

function dashed(name) {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}
