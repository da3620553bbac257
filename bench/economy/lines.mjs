// The lines a text shows, and those an edit must quote from memory: what the measure of blind edits compares.

/** Shorter lines (braces, `return;`) occur everywhere and are known without looking. */
const LINE_MIN_CHARS = 12;

/** What reading tools put before a line: `   37→`, `37<tab>`, `00037| `, `37: `. */
const LINE_NUMBER = /^\s*\d+(?:→|\t|\| ?|: )/;

const PATCH_START = "*** Begin Patch";
const FILE_IN_PATCH = /^\*\*\* (Update|Add|Delete) File: /;
const OLD = ["oldText", "old_text", "oldString", "old_string", "old_str", "TargetContent"];
const NEW = ["newText", "new_text", "newString", "new_string", "new_str", "ReplacementContent"];
/** What an edit in blocks searches for, and what replaces it. */
const SEARCHED = /^(?:<{7}|-{7}) SEARCH\s*$([\s\S]*?)^={7}\s*$([\s\S]*?)^(?:>{7}|\+{7}) REPLACE\s*$/gm;

/** A line as edits quote it: without the number before it, trimmed. */
function bareLine(line) {
  return line.replace(LINE_NUMBER, "").trim();
}

/** Adds the lines of `text` that are long enough to stand for something. */
export function addLines(text, lines) {
  for (const line of text.split("\n")) {
    const bare = bareLine(line);
    if (bare.length >= LINE_MIN_CHARS) lines.add(bare);
  }
}

/** The lines of texts that are long enough to stand for something. */
export function linesOf(...texts) {
  const lines = new Set();
  for (const text of texts) addLines(text, lines);
  return lines;
}

/** Tool calls in a message. */
export function callsIn({ role, content }) {
  return role === "assistant" && Array.isArray(content)
    ? content.filter(({ type }) => type === "toolCall")
    : [];
}

/** One set of lines per edit call in `message`: the old text that it must quote word for word. */
export function editsIn(message) {
  const quoted = callsIn(message).map((call) => linesOf(...changesOf(call).map(({ old }) => old)));
  return quoted.filter(({ size }) => size > 0);
}

/** `{ old, new }` of each replacement a tool call asks for. */
export function changesOf({ arguments: given }) {
  if (typeof given !== "object" || given === null) return [];
  const several = [given.edits, given.replacements].filter(Array.isArray).flat();
  const replaced = [given, ...several].flatMap((edit) => {
    const old = named(edit ?? {}, OLD);
    return old === undefined ? [] : [{ old, new: named(edit, NEW) ?? "" }];
  });
  const blocks = typeof given.diff === "string" ? given.diff.matchAll(SEARCHED) : [];
  const searched = Array.from(blocks, ([, old, now]) => ({ old, new: now }));
  const patches = stringsIn(given).filter((text) => text.includes(PATCH_START));
  return [...replaced, ...searched, ...patches.flatMap(changesInPatch)];
}

function named(object, names) {
  return names.map((name) => object[name]).find((value) => typeof value === "string");
}

/** One change per hunk; what stays stands in the old text and in the new one. */
function changesInPatch(text) {
  const changes = [];
  let isUpdate = false;
  for (const line of text.split("\n")) {
    const file = FILE_IN_PATCH.exec(line);
    if (file !== null) isUpdate = file[1] === "Update";
    if (file !== null || line.startsWith("@@")) {
      changes.push({ old: "", new: "" });
      continue;
    }
    const change = changes.at(-1);
    if (change === undefined || !isUpdate) continue;
    if (line.startsWith(" ") || line.startsWith("-")) change.old += `${line.slice(1)}\n`;
    if (line.startsWith(" ") || line.startsWith("+")) change.new += `${line.slice(1)}\n`;
  }
  return changes.filter(({ old }) => old !== "");
}

/** Every string in `value`, however deep. */
export function stringsIn(value) {
  const strings = [];
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "string") strings.push(next);
    else if (typeof next === "object" && next !== null) open.push(...Object.values(next));
  }
  return strings;
}
