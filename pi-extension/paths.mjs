// The files that calls name, and the patterns by which the user protects some of them.

import { homedir } from "node:os";
import { isAbsolute, posix, relative, resolve, sep } from "node:path";
import { callsIn } from "../lib/shapes/text.js";

/** Arguments of calls that name a file. */
export const PATH_ARGUMENTS = ["path", "file_path", "filePath", "filepath", "file", "filename"];
/** Longest path, UTF-16 units: PATH_MAX of Linux. A longer argument is a text. */
const MAX_PATH_UNITS = 4096;

/**
 * Returns a function that is true for results of calls on files that the patterns name. It must see a call before its
 * result, which does not name the file.
 */
export function pathProtection(patterns, cwd) {
  const tests = patterns.map((pattern) => testOf(pattern, cwd));
  const ids = new Set();
  const isNamed = (call) => {
    const named = PATH_ARGUMENTS.map((name) => call?.arguments?.[name]).filter(
      (path) => typeof path === "string" && path.length <= MAX_PATH_UNITS,
    );
    // pi takes a leading @ for a mark of the model's.
    const paths = named.map((path) => resolve(cwd, fromHome(path.replace(/^@/, ""))));
    return tests.some((test) => paths.some(test));
  };
  return (message) => {
    for (const call of callsIn(message)) if (isNamed(call)) ids.add(call.id);
    if (message.role !== "toolResult") return false;
    // A script of pi's codemode names its calls there.
    const nested = message.nestedCalls?.calls;
    return ids.has(message.toolCallId) || (Array.isArray(nested) && nested.some(isNamed));
  };
}

/** Replaces a leading `~` by the user's folder. */
export const fromHome = (path) => path.replace(/^~(?=$|[\\/])/, () => homedir());

/**
 * A test of absolute paths: `*` matches within a folder, `**` across folders, `?` one character. A pattern without a folder matches
 * in every folder, and one that names a folder matches everything in it. A last part with a wildcard names files, unless a slash
 * follows.
 */
function testOf(pattern, cwd) {
  const written = slashed(fromHome(pattern));
  const name = posix.normalize(written).replace(/\/$/, "");
  const start = written.includes("/") ? "" : "**/";
  const ends = /[*?][^/]*$/.test(written) ? [""] : ["", "/**"];
  const forms = ends.map((end) => `${start}${name}${end}`.split(/(\*\*\/|\*\*|[*?])/));
  const from = isAbsolute(name) ? (path) => path : (path) => relative(cwd, path);
  return (path) => forms.some((parts) => fits(parts, slashed(from(path))));
}

/** True if `path` matches the parts, which are wildcards and texts. Never backtracks, as a regular expression would. */
function fits(parts, path) {
  let ends = new Set([0]);
  for (const part of parts) {
    const next = new Set();
    for (const end of ends) for (const at of endsOf(part, path, end, next)) next.add(at);
    ends = next;
  }
  return ends.has(path.length);
}

/** Yields where a part of a pattern can end that begins at `start`, up to an end that is known. */
function* endsOf(part, path, start, known) {
  if (part.startsWith("*")) {
    for (let at = start; at <= path.length && !known.has(at); at += 1) {
      if (part !== "**/" || at === start || path[at - 1] === "/") yield at;
      if (part === "*" && path[at] === "/") break;
    }
  } else if (part === "?" ? ![undefined, "/"].includes(path[start]) : path.startsWith(part, start))
    yield start + part.length;
}

const slashed = (path) => path.split(sep).join("/");
