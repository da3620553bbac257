// What the edits of a session did to its files, line by line, and which of it is left in the end: the last diff.

import { addLines, stringsIn } from "../economy/lines.mjs";
import { callsIn } from "./texts.mjs";

const OLD = ["oldText", "old_string", "old_str", "oldString", "old_text"];
const NEW = ["newText", "new_string", "new_str", "newString", "new_text"];
const PATH = ["path", "file_path", "filePath"];
const FILE_IN_PATCH = /^\*\*\* (Update|Add|Delete) File: (.*)$/;

/** `{ path, old, new }` of each replacement a tool call asks for. */
export function changesOf({ arguments: given }) {
  if (typeof given !== "object" || given === null) return [];
  const path = named(given, PATH) ?? "";
  const several = [given.edits, given.replacements].filter(Array.isArray).flat();
  const replaced = [given, ...several].flatMap((edit) => {
    const old = named(edit ?? {}, OLD);
    return old === undefined ? [] : [{ path, old, new: named(edit, NEW) ?? "" }];
  });
  const patches = stringsIn(given).filter((text) => text.includes("*** Begin Patch"));
  return [...replaced, ...patches.flatMap(changesInPatch)];
}

function named(object, names) {
  return names.map((name) => object[name]).find((value) => typeof value === "string");
}

/** One change per hunk; what stays stands in the old text and in the new one. */
function changesInPatch(text) {
  const changes = [];
  let path = "";
  let isUpdate = false;
  for (const line of text.split("\n")) {
    const file = FILE_IN_PATCH.exec(line);
    if (file !== null) [isUpdate, path] = [file[1] === "Update", file[2]];
    if (file !== null || line.startsWith("@@")) {
      changes.push({ path, old: "", new: "" });
      continue;
    }
    const change = changes.at(-1);
    if (change === undefined || !isUpdate) continue;
    if (line.startsWith(" ") || line.startsWith("-")) change.old += `${line.slice(1)}\n`;
    if (line.startsWith(" ") || line.startsWith("+")) change.new += `${line.slice(1)}\n`;
  }
  return changes.filter(({ old }) => old !== "");
}

/** The lines of a text that are long enough to stand for something. */
export function linesOf(text) {
  const lines = new Set();
  addLines(text, lines);
  return lines;
}

/**
 * The lines that the last diff removes or replaces, by the number of the answer whose edit does so. Without a `diff` the
 * session tells it: lines that were there before any edit and that no later edit brings back. Edits that failed count
 * for nothing, and of a file that was written whole only the edits before tell.
 */
export function lastDiff(messages, diff) {
  const results = messages.filter(({ role, isError }) => role === "toolResult" && isError === true);
  const failed = new Set(results.map(({ toolCallId }) => toolCallId));
  const files = new Map();
  for (const [number, message] of messages.entries()) {
    const done = callsIn(message).filter(({ id }) => !failed.has(id));
    for (const change of done.flatMap(changesOf)) apply(fileIn(files, change.path), change, number);
  }
  const removed = diff === undefined ? undefined : removedIn(diff);
  const isInDiff = ([line]) => removed === undefined || removed.has(line);
  const gone = Array.from(files.values(), (file) => Array.from(file.gone)).flat();
  const touched = new Map();
  for (const [line, number] of gone.filter(isInDiff)) {
    touched.set(number, [...(touched.get(number) ?? []), line]);
  }
  return touched;
}

/** The lines a unified diff takes out. */
function removedIn(diff) {
  return linesOf(
    diff
      .split("\n")
      .filter(isRemoved)
      .map((line) => line.slice(1))
      .join("\n"),
  );
}

function isRemoved(line) {
  return line.startsWith("-") && !line.startsWith("---");
}

function fileIn(files, path) {
  if (!files.has(path)) files.set(path, { added: new Set(), gone: new Map() });
  return files.get(path);
}

/** Lines that an earlier edit added are no part of the diff when they go; those that come back are none either. */
function apply({ added, gone }, change, number) {
  const [old, now] = [linesOf(change.old), linesOf(change.new)];
  for (const line of old) {
    if (now.has(line)) continue;
    if (added.has(line)) added.delete(line);
    else gone.set(line, number);
  }
  for (const line of now) {
    if (old.has(line)) continue;
    if (gone.has(line)) gone.delete(line);
    else added.add(line);
  }
}
