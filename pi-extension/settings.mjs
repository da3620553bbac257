// Reads the user's settings. Later places outrank earlier ones: the key `strata` of pi's global and project settings, the
// environment variable PI_STRATA, `/strata off`. A wrong setting is reported, and all others hold.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import contract from "../lib/contract.js";
import { checkHookOptions } from "../lib/hook/options.js";
import { checkOptions, flag, names, nearest, record, show } from "../lib/options.js";
import { fromHome } from "./paths.mjs";

/** Settings of the extension itself, each with its default and its rule; all others are options of the hook. */
export const OWN_SETTINGS = {
  enabled: [true, flag],
  protectPaths: [[], names],
};
/** Defaults of hook options that differ in pi: the model has the tool that reads a marker's handle. */
export const OTHER_DEFAULTS = { marker: "auto", recall: true };
export const SETTINGS = [...Object.keys(contract.hookOptions), ...Object.keys(OWN_SETTINGS)];
/** pi's settings file of a project. */
const PROJECT_FILE = join(".pi", "settings.json");
/** Settings for a word in PI_STRATA. */
const WORDS = { on: {}, off: { enabled: false } };

/** The default of a setting; undefined if it has none. */
export const defaultOf = (name) =>
  OTHER_DEFAULTS[name] ?? OWN_SETTINGS[name]?.[0] ?? contract.hookOptions[name]?.default;

/**
 * Reads the settings for a session in the folder `cwd`. Returns the `values` and their `sources` by name, pi's own `compaction`
 * settings, whether pi `blocksImages`, and the `problems` found, one sentence each.
 */
export function readSettings(cwd, { env = process.env, isTrusted = true } = {}) {
  const [values, sources, problems, faults] = [{}, {}, [], []];
  const object = (name, read, allowed = "a JSON object") => {
    let value;
    try {
      value = read();
    } catch (error) {
      if (error.code === "ENOENT") return {};
    }
    if (record.accepts(value)) return value;
    problems.push(`${name} must be ${allowed}; it sets nothing.`);
    return {};
  };
  const inFile = (file) =>
    object(file, () => JSON.parse(readFileSync(resolve(cwd, file), "utf8").replace(/^\uFEFF/, "")));
  const global = join(agentFolder(env), "settings.json");
  const files = (isTrusted ? [global, PROJECT_FILE] : [global]).map((file) => [file, inFile(file)]);
  const word = env.PI_STRATA || "on";
  const layers = [
    ...files.map(([file, { strata = {} }]) => [file, object(`the key "strata" in ${file}`, () => strata)]),
    ["PI_STRATA", object("PI_STRATA", () => WORDS[word] ?? JSON.parse(word), '"on", "off" or a JSON object')],
    ["/strata off", inFile(offFile(env))],
  ];
  for (const [source, given] of layers) {
    for (const [name, value] of Object.entries(given)) {
      const fault = faultOf(name, value);
      if (fault === undefined) [values[name], sources[name]] = [value, source];
      else faults.push({ ...fault, source });
    }
  }
  for (const { name, text, source } of faults) {
    const value = values[name] ?? defaultOf(name);
    const from = sources[name] === undefined ? "the default" : `from ${sources[name]}`;
    const inForce = value === undefined ? `no ${name}` : `${name} ${shown(value)}, ${from}`;
    problems.push(`${source}: ${text}. In force: ${inForce}.`);
  }
  const [compaction, images] = ["compaction", "images"].map((key) =>
    files.map(([, settings]) => settings[key]).reduce(merged, {}),
  );
  return { values, sources, compaction, blocksImages: images?.blockImages === true, problems };
}

/** Merges two values of a setting of pi's: objects key by key; otherwise the later value holds if there is one. */
function merged(value, later = value) {
  if (!record.accepts(value) || !record.accepts(later)) return later;
  const entries = Object.entries(later).map(([name, inner]) => [name, merged(value[name], inner)]);
  return { ...value, ...Object.fromEntries(entries) };
}

/** The problem with a wrong setting, and the nearest right name; undefined for a right one. */
function faultOf(name, value) {
  if (!SETTINGS.includes(name)) {
    const near = nearest(name, SETTINGS);
    return { name: near, text: `there is no setting ${show(name)}; the nearest is ${near}` };
  }
  try {
    if (Object.hasOwn(OWN_SETTINGS, name)) checkOptions("", { [name]: value }, OWN_SETTINGS);
    else checkHookOptions("", { [name]: value });
    return undefined;
  } catch (error) {
    const { is } = contract.hookOptions[name] ?? {};
    const words = is === "economy" ? Object.keys(contract.economies) : is;
    const hasWords = Array.isArray(words) && typeof value === "string";
    const near = hasWords ? `; the nearest is ${show(nearest(value, words))}` : "";
    return { name, text: error.message.replace(/^(: )*(option )?/, "") + near };
  }
}

/** A value as the user would write it, in one short line. */
export const shown = (value) => (typeof value === "function" ? "a function" : JSON.stringify(value));

/** Switches every later session off, or on again. */
export function switchOff(isOff, env = process.env) {
  if (isOff) writeFileSync(offFile(env), `${JSON.stringify(WORDS.off)}\n`);
  else rmSync(offFile(env), { force: true });
}

/** The file in pi's folder after `/strata off`. */
const offFile = (env) => join(agentFolder(env), "pi-strata.json");

/** The folder of pi's global settings. */
function agentFolder({ PI_CODING_AGENT_DIR: folder }) {
  return folder ? fromHome(folder) : join(homedir(), ".pi", "agent");
}
