// Text and tables for a terminal, and mistakes that the user can fix.

import { styleText } from "node:util";

/** Columns of a terminal that does not report its size. */
export const USUAL_COLUMNS = 80;
/** Text is not wrapped narrower than this; the line gets longer instead. */
const LEAST_PROSE = 20;
const TAB = "    ";
const GAP = "  ";
/** Code points that take one column; every other one counts as two, which never makes a line too long. */
const isNarrow = (point) =>
  point < 0x1100 || (point >= 0x2010 && point <= 0x22ff) || (point >= 0x2500 && point <= 0x25fc);

/** The terminal's columns. */
export const screenColumns = () => process.stdout.columns || USUAL_COLUMNS;

/** Columns that a text takes, at most. */
export function columnsOf(text) {
  let columns = 0;
  for (const letter of text) columns += isNarrow(letter.codePointAt(0)) ? 1 : 2;
  return columns;
}

/** `text` without control characters, so that it cannot move the cursor or turn text around. */
export function printable(text) {
  return String(text)
    .replace(/\t/g, TAB)
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "");
}

/** One line, broken between words if it is wider than `columns`. A wider word stays whole, unless `pieces` cuts it. */
export function wrapped(line, columns, pieces = (word) => [word]) {
  if (columnsOf(line) <= columns) return [line];
  const lines = [""];
  for (const part of line.match(/\s+|\S+/g)) {
    if (columnsOf(lines.at(-1) + part) <= columns) lines[lines.length - 1] += part;
    else if (/\S/.test(part)) lines.push(...pieces(part, columns));
    else lines.push("");
  }
  return lines.map((text) => text.trimEnd()).filter((text) => text !== "");
}

/** Cells side by side, each filled up to its column's width; `isLeft(column)` puts text to the left. */
export function inColumns(cells, widths, isLeft) {
  const filled = widths.map((width, i) => {
    const space = " ".repeat(Math.max(0, width - columnsOf(cells[i])));
    return isLeft(i) ? cells[i] + space : space + cells[i];
  });
  return filled.join(GAP);
}

/** Width of each column of a table. */
export const widthsOf = (rows) =>
  rows[0].map((_, i) => rows.reduce((widest, cells) => Math.max(widest, columnsOf(cells[i])), 0));

/**
 * `rows` of strings under bold `heads`: the first column to the left, numbers to the right. With `hasProse` the last column is
 * text, and is wrapped below itself.
 */
export function textTable(heads, rows, { hasProse = false } = {}) {
  const [head, ...lines] = aligned([heads, ...rows], hasProse);
  return [bold(head), ...lines].join("\n");
}

/** Titles to the left, what they say to the right, wrapped below itself. Leaves out lines that are false. */
export const figureList = (lines) => aligned(lines.filter(Boolean), true).join("\n");

/** Cells may come from a recording: nothing in them moves the cursor. */
function aligned(given, hasProse) {
  const rows = given.map((cells) => cells.map(printable));
  const widths = hasProse ? widthsOf(rows).slice(0, -1) : widthsOf(rows);
  return rows.map((cells) => {
    const line = inColumns(cells, widths, (i) => i === 0);
    if (!hasProse) return line;
    const indent = columnsOf(line + GAP);
    const lines = wrapped(cells.at(-1), Math.max(LEAST_PROSE, screenColumns() - indent));
    return line + GAP + lines.join(`\n${" ".repeat(indent)}`);
  });
}

/** Bold by Node's rule: the terminal, NO_COLOR, FORCE_COLOR. Before 20.18 Node styles pipes, too. */
function bold(text) {
  const { stdout, env } = process;
  return stdout.isTTY || env.FORCE_COLOR ? styleText("bold", text, { stream: stdout }) : text;
}

/** One sentence that says what to fix; the process ends with exit code 2. It may quote a file's name or content. */
export class UsageError extends Error {
  constructor(message) {
    super(printable(message.replaceAll("\n", " ")));
  }
}

const REASONS = {
  ENOENT: "there is no such file or folder; check the path",
  EISDIR: "that is a folder; name a file in it",
  EACCES: "it is forbidden; check the permissions",
  ERR_STRING_TOO_LONG: "it is too long for one string; split it",
};

/** A path in words. */
export const nameOf = (path) => (path === "-" ? "standard input" : path);

/** Waits for `work` that reads the file `name`. If it fails, a UsageError names the file. */
export const reading = (name, work) => onFile("read", name, work);

/** Waits for `work` on the file `name`. If it fails, a UsageError says what could not be done, and why. */
export async function onFile(verb, name, work) {
  try {
    return await work;
  } catch ({ code, message }) {
    throw new UsageError(`Cannot ${verb} ${name || '""'}: ${REASONS[code] ?? message}.`);
  }
}
