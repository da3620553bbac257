// The extension's options as the user of pi sets them: the `strata` key of pi's own settings files, global and project,
// then the environment variable PI_STRATA. Reads only; what is wrong is told, and the rest still counts.

import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Settings that are the extension's own; all others are options of the hook. */
const OWN = new Set(["enabled"]);

/** `{ options, isEnabled, problems }` for a session in the folder `cwd`. */
export function readSettings(cwd, env = process.env) {
  const problems = [];
  const layers = [
    fromFile(join(agentFolder(env), "settings.json"), problems),
    fromFile(join(cwd, ".pi", "settings.json"), problems),
    fromEnvironment(env, problems),
  ];
  const given = Object.assign({}, ...layers);
  const options = Object.fromEntries(Object.entries(given).filter(([name]) => !OWN.has(name)));
  return { options: { marker: markerFor(env), ...options }, isEnabled: given.enabled !== false, problems };
}

/** Where pi keeps its global settings. */
function agentFolder(env) {
  const folder = env.PI_CODING_AGENT_DIR;
  if (!folder) return join(homedir(), ".pi", "agent");
  return folder.replace(/^~(?=$|[\\/])/, () => homedir());
}

function fromFile(file, problems) {
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return {};
  }
  try {
    return checked(JSON.parse(text)?.strata, `the key "strata" in ${file}`, problems);
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
