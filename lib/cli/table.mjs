// Tables of text that fit the terminal: the first column to the left, numbers to the right, headings bold where the
// terminal has colours (and NO_COLOR does not forbid them).

import { styleText } from "node:util";

/** Columns where nobody tells: what a terminal has had from the start. */
const USUAL_COLUMNS = 80;
/** Text is not wrapped narrower than this; the line gets longer instead. */
const LEAST_PROSE = 24;

const GAP = "  ";

/** The terminal's columns. */
export const screenColumns = () => process.stdout.columns || USUAL_COLUMNS;

/**
 * `rows` of strings under `heads`. A wide character takes two columns. What is too wide for `columns` continues in another
 * table below, with the first column again; with `hasProse` the last column is text, and is wrapped.
 */
export function textTable(heads, rows, { hasProse = false, columns = screenColumns() } = {}) {
  const widths = heads.map((head, i) => Math.max(...[head, ...rows.map((row) => row[i])].map(width)));
  if (hasProse) return proseTable(heads, rows, widths, columns);
  const tables = columnsThatFit(widths, columns).map((shown) => {
    const line = (cells) => shown.map((i) => pad(cells[i], widths[i], i === 0)).join(GAP);
    return [bold(line(heads)), ...rows.map(line)].join("\n");
  });
  return tables.join("\n\n");
}

/** Titles to the left, what they say to the right, wrapped below itself. */
export function figureList(lines, columns = screenColumns()) {
  const titles = Math.max(...lines.map(([title]) => width(title)));
  return lines.map((cells) => proseLines(cells, [titles], columns)).join("\n");
}

function proseTable(heads, rows, widths, columns) {
  const [head, ...lines] = [heads, ...rows].map((cells) => proseLines(cells, widths.slice(0, -1), columns));
  return [bold(head), ...lines].join("\n");
}

function proseLines(cells, widths, columns) {
  const before = widths.map((wide, i) => pad(cells[i], wide, i === 0)).join(GAP) + GAP;
  const [first, ...others] = wrapped(cells.at(-1), Math.max(LEAST_PROSE, columns - width(before)));
  return [before + first, ...others.map((text) => " ".repeat(width(before)) + text)].join("\n");
}

/** Lists of columns, each with the first one, none wider than `columns` unless a single one is. */
function columnsThatFit(widths, columns) {
  const tables = [];
  let room = 0;
  for (let i = 1; i < widths.length; i += 1) {
    const wide = widths[i] + GAP.length;
    if (tables.length === 0 || wide > room) {
      tables.push([0]);
      room = columns - widths[0];
    }
    tables.at(-1).push(i);
    room -= wide;
  }
  return tables.length === 0 ? [[0]] : tables;
}

function wrapped(text, columns) {
  const lines = [""];
  // Spaces at the beginning indent the first line and belong to its first word.
  for (const word of text.match(/^ *\S+|\S+/g) ?? []) {
    const line = lines.at(-1) === "" ? word : `${lines.at(-1)} ${word}`;
    if (width(line) <= columns || lines.at(-1) === "") lines[lines.length - 1] = line;
    else lines.push(word);
  }
  return lines;
}

export { percent, whole } from "./numbers.mjs";

/** Bold where the terminal has colours: NO_COLOR and FORCE_COLOR outrank what it says of itself. */
function bold(text) {
  const { NO_COLOR, FORCE_COLOR, TERM } = process.env;
  const isForced = FORCE_COLOR !== undefined && FORCE_COLOR !== "0";
  const hasColors =
    !NO_COLOR && (isForced || (process.stdout.isTTY && TERM !== "dumb" && FORCE_COLOR !== "0"));
  return hasColors ? styleText("bold", text, { validateStream: false }) : text;
}

/** Characters that move a cursor or turn text around, of which a file's name may be full. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** A file's name as it is printed. */
export function printable(name) {
  return String(name).replace(CONTROL, "?");
}

function pad(cell, columns, isLeft) {
  const space = " ".repeat(columns - width(cell));
  return isLeft ? cell + space : space + cell;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/gu;

function width(cell) {
  return [...cell].length + (cell.match(WIDE)?.length ?? 0);
}
