// The files that calls name, and the patterns by which the user protects some of them.

import { homedir } from "node:os";
import { isAbsolute, posix, relative, resolve, sep } from "node:path";
import { callsIn } from "../lib/shapes/text.js";

/** Arguments of calls that name a file. */
export const PATH_ARGUMENTS = ["path", "file_path", "filePath", "filepath", "file", "filename"];

/**
 * Returns a function that is true for results of calls on files that the patterns name. It must see a call before its
 * result, which does not name the file.
 */
export function pathProtection(patterns, cwd) {
  const tests = patterns.map((pattern) => testOf(pattern, cwd));
  const ids = new Set();
  const isNamed = ({ arguments: given }) => {
    const named = PATH_ARGUMENTS.map((name) => given?.[name]).filter((path) => typeof path === "string");
    // pi takes a leading @ for a mark of the model's.
    const paths = named.map((path) => resolve(cwd, fromHome(path.replace(/^@/, ""))));
    return tests.some((test) => paths.some(test));
  };
  return (message) => {
    for (const call of callsIn(message)) if (isNamed(call)) ids.add(call.id);
    return message.role === "toolResult" && ids.has(message.toolCallId);
  };
}

/** Replaces a leading `~` by the user's folder. */
export const fromHome = (path) => path.replace(/^~(?=$|[\\/])/, () => homedir());

/**
 * A test of absolute paths: `*` within a folder, `**` across folders, `?` for one character. A pattern without a folder fits in
 * every folder, and one that names a folder fits all that is in it. A last part with a wildcard names files, unless a slash follows.
 */
function testOf(pattern, cwd) {
  const written = slashed(fromHome(pattern));
  const parts = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" };
  const special = /\*\*\/|\*\*|\*|\?|[\\^$.|+()[\]{}]/g;
  const name = posix.normalize(written).replace(/\/$/, "");
  const body = name.replace(special, (part) => parts[part] ?? `\\${part}`);
  const inside = /[*?][^/]*$/.test(written) ? "" : "(?:/.*)?";
  const expression = new RegExp(`^${written.includes("/") ? "" : "(?:.*/)?"}${body}${inside}$`);
  const from = isAbsolute(name) ? (path) => path : (path) => relative(cwd, path);
  return (path) => expression.test(slashed(from(path)));
}

const slashed = (path) => path.split(sep).join("/");
