// The lines a text shows, and those an edit must quote from memory: what the measure of blind edits compares.

/** Shorter lines (braces, `return;`) occur everywhere and are known without looking. */
const LINE_MIN_CHARS = 12;

/** What reading tools put before a line: `   37→`, `37<tab>`, `00037| `, `37: `. */
const LINE_NUMBER = /^\s*\d+(?:→|\t|\| ?|: )/;

const PATCH_START = "*** Begin Patch";
const PATCH_END = "*** End Patch";
const OLD_TEXTS = ["oldText", "old_text", "oldString", "old_string", "old_str", "TargetContent"];
/** What an edit in blocks searches for. */
const SEARCHED = /^(?:<{7}|-{7}) SEARCH\s*$([\s\S]*?)^={7}\s*$/gm;

/** A line as edits quote it: without the number before it, trimmed. */
export function bareLine(line) {
  return line.replace(LINE_NUMBER, "").trim();
}

/** Adds the lines of `text` that are long enough to stand for something. */
export function addLines(text, lines) {
  for (const line of text.split("\n")) {
    const bare = bareLine(line);
    if (bare.length >= LINE_MIN_CHARS) lines.add(bare);
  }
}

/** One set of lines per edit call in `message`: the old text that it must quote word for word. */
export function editsIn({ role, content }) {
  if (role !== "assistant" || !Array.isArray(content)) return [];
  return content.flatMap((block) => {
    if (block.type !== "toolCall") return [];
    const lines = new Set();
    for (const text of oldTexts(block.arguments)) addLines(text, lines);
    return lines.size > 0 ? [lines] : [];
  });
}

function oldTexts(args) {
  if (typeof args !== "object" || args === null) return [];
  const several = [args.edits, args.replacements].filter(Array.isArray).flat();
  const named = [args, ...several].flatMap((edit) => OLD_TEXTS.map((name) => edit?.[name]));
  const blocks = typeof args.diff === "string" ? args.diff.matchAll(SEARCHED) : [];
  const searched = Array.from(blocks, ([, text]) => text);
  const patches = stringsIn(args).filter((text) => text.includes(PATCH_START));
  return [...named.filter((text) => typeof text === "string"), ...searched, ...patches.map(oldTextOfPatch)];
}

/** What a patch expects to find: the lines of its hunks that stay or go. */
function oldTextOfPatch(text) {
  const start = text.indexOf(PATCH_START);
  const end = text.indexOf(PATCH_END, start);
  const hunks = text.slice(start, end === -1 ? undefined : end).split("\n");
  const old = hunks.filter((line) => line.startsWith(" ") || line.startsWith("-"));
  return old.map((line) => line.slice(1)).join("\n");
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
