// The extension's options as the user of pi sets them: the `strata` key of pi's own settings files, global and project,
// then the environment variable PI_STRATA, then `/strata off`. What is wrong is told, and the rest still counts.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, relative, sep } from "node:path";

const isFlag = { allowed: "true or false", accepts: (value) => typeof value === "boolean" };
const isPaths = {
  allowed: 'an array of path patterns, such as ["PLAN.md", "docs/**"]',
  accepts: (value) => Array.isArray(value) && value.every((path) => typeof path === "string" && path !== ""),
};
const isModel = {
  allowed: 'a model as "provider/id"',
  accepts: (value) => typeof value === "string" && /^[^/]+\/.+/.test(value),
};
/** Settings that are the extension's own; all others are options of the hook. */
const OWN = { enabled: isFlag, protectPaths: isPaths, compactionModel: isModel, persistEdits: isFlag };
/** Arguments by which calls name the file that they are about. */
const PATH_ARGUMENTS = ["path", "file_path", "filePath", "filepath", "file", "filename"];
/** Holds `{ "enabled": false }` after `/strata off`. */
const OFF_FILE = "pi-strata.json";

/** `{ options, own, isEnabled, problems }` for a session in the folder `cwd`. */
export function readSettings(cwd, env = process.env) {
  const problems = [];
  const layers = [
    fromFile(join(agentFolder(env), "settings.json"), problems),
    fromFile(join(cwd, ".pi", "settings.json"), problems),
    fromEnvironment(env, problems),
    offFile(env),
  ];
  const given = Object.assign({}, ...layers);
  const own = {};
  const options = {};
  for (const [name, value] of Object.entries(given)) {
    const rule = OWN[name];
    if (rule === undefined) options[name] = value;
    else if (rule.accepts(value)) own[name] = value;
    else problems.push(`${name} must be ${rule.allowed}`);
  }
  return { options: { marker: markerFor(env), ...options }, own, isEnabled: own.enabled !== false, problems };
}

/** Has every later session begin switched off, or not any more. */
export function switchOff(isOff, env = process.env) {
  const file = join(agentFolder(env), OFF_FILE);
  if (isOff) writeFileSync(file, `${JSON.stringify({ enabled: false })}\n`);
  else rmSync(file, { force: true });
}

/** The file of pi's global settings. */
function agentFolder(env) {
  const folder = env.PI_CODING_AGENT_DIR;
  if (!folder) return join(homedir(), ".pi", "agent");
  return folder.replace(/^~(?=$|[\\/])/, () => homedir());
}

function offFile(env) {
  const { enabled } = fromFile(join(agentFolder(env), OFF_FILE), [], (settings) => settings);
  return enabled === false ? { enabled } : {};
}

function fromFile(file, problems, pick = (settings) => settings?.strata) {
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return {};
  }
  try {
    return checked(pick(JSON.parse(text)), `the key "strata" in ${file}`, problems);
  } catch {
    problems.push(`${file} is not JSON`);
    return {};
  }
}

/** `PI_STRATA=off`, or the same object as in the settings files. */
function fromEnvironment({ PI_STRATA: text }, problems) {
  if (!text || text === "on") return {};
  if (text === "off") return { enabled: false };
  try {
    return checked(JSON.parse(text), "PI_STRATA", problems);
  } catch {
    problems.push('PI_STRATA must be "on", "off" or a JSON object of options');
    return {};
  }
}

function checked(given, where, problems) {
  if (given === undefined) return {};
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given;
  problems.push(`${where} must be an object`);
  return {};
}

/** Markers speak the user's language, of the two they know. */
function markerFor({ LC_ALL, LC_MESSAGES, LANG }) {
  const locale = LC_ALL || LC_MESSAGES || LANG || Intl.DateTimeFormat().resolvedOptions().locale;
  return /^zh/i.test(locale) ? "zh" : "en";
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

  /** Takes in the calls of a list: a result alone does not name its file. */
  learn(messages) {
    if (this.#patterns.length === 0) return;
    const blocks = messages.flatMap(({ role, content }) => (role === "assistant" && content) || []);
    for (const { type, id, arguments: given } of blocks) {
      if (type === "toolCall" && !this.#calls.has(id)) this.#calls.set(id, this.#isNamed(given));
    }
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

/** `*` within a folder, `**` across folders, `?` for one character; a pattern without a folder fits in every one. */
function expressionOf(pattern) {
  const parts = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" };
  const body = pattern
    .replace(/^(\.\/)+/, "")
    .replace(/\*\*\/|\*\*|\*|\?|[\\^$.|+()[\]{}]/g, (part) => parts[part] ?? `\\${part}`);
  return new RegExp(`^${pattern.includes("/") ? "" : "(?:.*/)?"}${body}$`);
}
