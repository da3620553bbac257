// Text that fits a terminal: columns, wrapped sentences and tables. The first column is to the left, numbers to the right,
// headings bold where the terminal has colours.

import { styleText } from "node:util";

export { percent, whole } from "./numbers.mjs";

/** Columns of a terminal that does not report its size. */
export const USUAL_COLUMNS = 80;
/** Text is not wrapped narrower than this; the line gets longer instead. */
const LEAST_PROSE = 24;
const GAP = "  ";
const TAB = "    ";

/** Node itself decides by the terminal, NO_COLOR and FORCE_COLOR. */
const bold = (text) => styleText("bold", text, { stream: process.stdout });

/** The terminal's columns. */
export const screenColumns = () => process.stdout.columns || USUAL_COLUMNS;

/** Code points that take one column; every other one counts as two, which never makes a line too long. */
function isNarrow(point) {
  return point < 0x1100 || (point >= 0x2010 && point <= 0x22ff) || (point >= 0x2500 && point <= 0x25fc);
}

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

/** `text` filled up with spaces. */
export function padded(text, columns, isLeft) {
  const space = " ".repeat(Math.max(0, columns - columnsOf(text)));
  return isLeft ? text + space : space + text;
}

/** One line broken between words where it is wider than `columns`. A word that is wider itself stays whole, unless `pieces` cuts it. */
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

/**
 * `rows` of strings under `heads`. Columns that are too many for `columns` continue in another table below, with the first
 * column again; with `hasProse` the last column is text, and is wrapped.
 */
export function textTable(heads, rows, { hasProse = false, columns = screenColumns() } = {}) {
  const widths = heads.map((head, i) => Math.max(...[head, ...rows.map((row) => row[i])].map(columnsOf)));
  if (hasProse) {
    const [head, ...lines] = [heads, ...rows].map((cells) => proseLines(cells, widths.slice(0, -1), columns));
    return [bold(head), ...lines].join("\n");
  }
  const tables = columnsThatFit(widths, columns).map((shown) => {
    const line = (cells) => shown.map((i) => padded(cells[i], widths[i], i === 0)).join(GAP);
    return [bold(line(heads)), ...rows.map(line)].join("\n");
  });
  return tables.join("\n\n");
}

/** Titles to the left, what they say to the right, wrapped below itself. */
export function figureList(lines, columns = screenColumns()) {
  const titles = Math.max(...lines.map(([title]) => columnsOf(title)));
  return lines.map((cells) => proseLines(cells, [titles], columns)).join("\n");
}

function proseLines(cells, widths, columns) {
  const before = widths.map((wide, i) => padded(cells[i], wide, i === 0)).join(GAP) + GAP;
  const indent = columnsOf(before);
  const lines = wrapped(cells.at(-1), Math.max(LEAST_PROSE, columns - indent));
  return before + lines.join(`\n${" ".repeat(indent)}`);
}

/** Lists of columns, each with the first one, none wider than `columns` unless a single one is. */
function columnsThatFit(widths, columns) {
  const tables = [[0]];
  let room = columns - widths[0];
  for (let i = 1; i < widths.length; i += 1) {
    const wide = widths[i] + GAP.length;
    if (wide > room && tables.at(-1).length > 1) {
      tables.push([0]);
      room = columns - widths[0];
    }
    tables.at(-1).push(i);
    room -= wide;
  }
  return tables;
}
