// The files that calls name, and the patterns by which the user protects some of them.

import { posix, relative, resolve, sep } from "node:path";
import { callsIn } from "../lib/shapes/text.js";

/** Arguments of calls that name a file. */
export const PATH_ARGUMENTS = ["path", "file_path", "filePath", "filepath", "file", "filename"];

/**
 * Returns a function that is true for results of calls on files that the patterns name. It must see a call before its
 * result, which does not name the file.
 */
export function pathProtection(patterns, cwd) {
  const expressions = patterns.map(expressionOf);
  const ids = new Set();
  const isNamed = ({ arguments: given }) => {
    const paths = PATH_ARGUMENTS.map((name) => given?.[name]).filter((path) => typeof path === "string");
    const inside = paths.map((path) => relative(cwd, resolve(cwd, path)).split(sep).join("/"));
    return expressions.some((expression) => inside.some((path) => expression.test(path)));
  };
  return (message) => {
    for (const call of callsIn(message)) if (isNamed(call)) ids.add(call.id);
    return message.role === "toolResult" && ids.has(message.toolCallId);
  };
}

/** `*` within a folder, `**` across folders, `?` for one character; a pattern without a folder fits in every folder. */
function expressionOf(pattern) {
  const parts = { "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]" };
  const special = /\*\*\/|\*\*|\*|\?|[\\^$.|+()[\]{}]/g;
  const body = posix.normalize(pattern).replace(special, (part) => parts[part] ?? `\\${part}`);
  return new RegExp(`^${pattern.includes("/") ? "" : "(?:.*/)?"}${body}$`);
}
