// Reads the extension's settings as the user of pi wrote them: the `strata` key of pi's settings files, global and project,
// then the environment variable PI_STRATA, then `/strata off`. A wrong setting is reported; all others hold.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, relative, sep } from "node:path";
import contract from "../lib/contract.js";
import { checkHookOptions } from "../lib/hook/options.js";
import { checkOptions, flag, nearest, show } from "../lib/options.js";
import { callsIn } from "../lib/shapes/text.js";

const paths = {
  allowed: 'an array of path patterns, such as ["PLAN.md", "docs/**"]',
  accepts: (value) => Array.isArray(value) && value.every((path) => typeof path === "string" && path !== ""),
};
const modelName = {
  allowed: 'a model as "provider/id"',
  accepts: (value) => typeof value === "string" && /^[^/]+\/.+/.test(value),
};
/** Settings of the extension itself, each with its default and its rule; all others are options of the hook. */
export const OWN_SETTINGS = {
  enabled: [true, flag],
  protectPaths: [[], paths],
  compactionModel: [undefined, modelName],
  persistEdits: [false, flag],
};
/** Defaults of hook options that differ in pi: the model has the tool that reads a marker's handle. */
const OTHER_DEFAULTS = { marker: "auto", recall: true };
/** Names by which calls give the file that they are about. */
export const PATH_ARGUMENTS = ["path", "file_path", "filePath", "filepath", "file", "filename"];
/** pi's settings file of a project. */
const PROJECT_FILE = join(".pi", "settings.json");
/** Holds `{ "enabled": false }` after `/strata off`. */
const OFF_FILE = "pi-strata.json";

/** The default of a setting; undefined if it has none. */
export function defaultOf(name) {
  return OTHER_DEFAULTS[name] ?? OWN_SETTINGS[name]?.[0] ?? contract.hookOptions[name]?.default;
}

/**
 * Reads the settings for a session in the folder `cwd`. Returns the hook's `options`, the extension's `own` settings, the
 * `sources` by name, pi's own `compaction` settings, and the `problems` found, one sentence each.
 */
export function readSettings(cwd, { env = process.env, isTrusted = true } = {}) {
  const problems = [];
  const globalFile = join(agentFolder(env), "settings.json");
  const places = [
    [abbreviated(globalFile), globalFile],
    ...(isTrusted ? [[PROJECT_FILE, join(cwd, PROJECT_FILE)]] : []),
  ];
  const files = places.map(([name, file]) => [name, fromFile(file, name, problems)]);
  const layers = [
    ...files.map(([name, settings]) => [
      name,
      objectIn(settings.strata, `the key "strata" in ${name}`, problems),
    ]),
    ["PI_STRATA", fromEnvironment(env, problems)],
    ["/strata off", offFile(env)],
  ];
  const [values, sources, faults] = [{}, {}, []];
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
    problems.push(`${source}: ${text} In force: ${inForce}.`);
  }
  const isOwn = ([name]) => Object.hasOwn(OWN_SETTINGS, name);
  const entries = Object.entries(values);
  return {
    options: { ...OTHER_DEFAULTS, ...Object.fromEntries(entries.filter((entry) => !isOwn(entry))) },
    own: Object.fromEntries(entries.filter(isOwn)),
    sources,
    compaction: Object.assign({}, ...files.map(([, settings]) => settings.compaction)),
    problems,
  };
}

/** The nearest right name and what is wrong, for a setting that is wrong; undefined for one that is right. */
function faultOf(name, value) {
  const known = [...Object.keys(OWN_SETTINGS), ...Object.keys(contract.hookOptions)];
  if (!known.includes(name)) {
    const near = nearest(name, known);
    return { name: near, text: `there is no setting ${show(name)}; the nearest is ${near}.` };
  }
  try {
    if (Object.hasOwn(OWN_SETTINGS, name)) checkOptions("", { [name]: value }, OWN_SETTINGS);
    else checkHookOptions("", { [name]: value });
    return undefined;
  } catch (error) {
    const words = wordsOf(name);
    const near =
      typeof value === "string" && words.length > 0 ? `; the nearest is ${show(nearest(value, words))}` : "";
    return { name, text: `${error.message.replace(/^(: )*(option )?/, "")}${near}.` };
  }
}

/** Words that an option accepts. */
function wordsOf(name) {
  const { is } = contract.hookOptions[name] ?? {};
  if (is === "economy") return Object.keys(contract.economies);
  return Array.isArray(is) ? is : [];
}

/** A value as the user would write it, in one short line. */
export function shown(value) {
  if (typeof value === "function") return "a function";
  return JSON.stringify(value) ?? String(value);
}

/** Switches every later session off, or on again. */
export function switchOff(isOff, env = process.env) {
  const file = join(agentFolder(env), OFF_FILE);
  if (isOff) writeFileSync(file, `${JSON.stringify({ enabled: false })}\n`);
  else rmSync(file, { force: true });
}

/** The folder of pi's global settings. */
function agentFolder(env) {
  const folder = env.PI_CODING_AGENT_DIR;
  if (!folder) return join(homedir(), ".pi", "agent");
  return folder.replace(/^~(?=$|[\\/])/, () => homedir());
}

/** A path with `~` for the user's folder. */
function abbreviated(path) {
  const home = homedir() + sep;
  return path.startsWith(home) ? `~${sep}${path.slice(home.length)}` : path;
}

function offFile(env) {
  const { enabled } = fromFile(join(agentFolder(env), OFF_FILE), OFF_FILE, []);
  return enabled === false ? { enabled } : {};
}

/** The object in a JSON file; empty if there is no file. */
function fromFile(file, name, problems) {
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return {};
  }
  try {
    return objectIn(JSON.parse(text), name, problems);
  } catch {
    problems.push(`${name} is not JSON, so it sets nothing.`);
    return {};
  }
}

/** `PI_STRATA=off`, or the same object as in the settings files. */
function fromEnvironment({ PI_STRATA: text }, problems) {
  if (!text || text === "on") return {};
  if (text === "off") return { enabled: false };
  try {
    return objectIn(JSON.parse(text), "PI_STRATA", problems);
  } catch {
    problems.push('PI_STRATA must be "on", "off" or a JSON object of options.');
    return {};
  }
}

function objectIn(given, where, problems) {
  if (given === undefined) return {};
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given;
  problems.push(`${where} must be an object, not ${show(given)}.`);
  return {};
}

/** Keeps the results of calls about files that the user's patterns name. */
export class ProtectedPaths {
  #patterns;
  #cwd;
  #calls = new Map();

  constructor(patterns, cwd) {
    this.#patterns = patterns.map(expressionOf);
    this.#cwd = cwd;
  }

  /** Notes the calls of a list: a result alone does not name its file. */
  learn(messages) {
    if (this.#patterns.length === 0) return;
    for (const { id, arguments: given } of messages.flatMap(callsIn))
      if (!this.#calls.has(id)) this.#calls.set(id, this.#isNamed(given));
  }

  has({ role, toolCallId }) {
    return role === "toolResult" && this.#calls.get(toolCallId) === true;
  }

  #isNamed(given) {
    const paths = PATH_ARGUMENTS.map((name) => given?.[name]).filter((path) => typeof path === "string");
    return paths.some((path) => {
      const inside = isAbsolute(path) ? relative(this.#cwd, path) : path;
      const plain = inside
        .split(sep)
        .join("/")
        .replace(/^(\.\/)+/, "");
      return this.#patterns.some((pattern) => pattern.test(plain));
    });
  }
}

/** `*` within a folder, `**` across folders, `?` for one character; a pattern without a folder fits in every folder. */
function expressionOf(pattern) {
  const parts = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" };
  const body = pattern
    .replace(/^(\.\/)+/, "")
    .replace(/\*\*\/|\*\*|\*|\?|[\\^$.|+()[\]{}]/g, (part) => parts[part] ?? `\\${part}`);
  return new RegExp(`^${pattern.includes("/") ? "" : "(?:.*/)?"}${body}$`);
}
