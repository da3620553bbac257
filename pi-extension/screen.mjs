// Fits text to a terminal: lines, and tables.

import { columnsOf, inColumns, printable, screenColumns, widthsOf } from "../lib/cli/terminal.mjs";

/** Columns that pi's margins take from a notice. */
const MARGIN = 2;

/** Columns of a notice. */
export const noticeColumns = () => screenColumns() - MARGIN;

/** A line in pieces of at most so many columns. */
export function pieces(line, columns) {
  const parts = [""];
  let taken = 0;
  for (const letter of line) {
    const own = columnsOf(letter);
    if (taken + own > columns) {
      parts.push("");
      taken = 0;
    }
    parts[parts.length - 1] += letter;
    taken += own;
  }
  return parts;
}

/** A line, cut to the width of a notice. */
export function clipped(line) {
  const [start, ...rest] = pieces(line, noticeColumns() - 1);
  return rest.length === 0 ? start : `${start}…`;
}

/** Lines of a table, cut to the width of a notice. Columns of numbers are to the right. */
export function table(header, rows) {
  const lines = [header, ...rows].map((cells) => cells.map(printable));
  const widths = widthsOf(lines);
  const isText = header.map((_, i) => rows.some((cells) => !/^[\d,]*$/.test(cells[i])));
  return lines.map((cells) => clipped(inColumns(cells, widths, (i) => isText[i]).trimEnd()));
}
