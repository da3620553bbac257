// Tables that fit the terminal. The first column is to the left, numbers to the right, headings bold where the terminal has
// colours.

import { styleText } from "node:util";
import { columnsOf, padded, USUAL_COLUMNS, wrapped } from "./text.mjs";

export { percent, whole } from "./numbers.mjs";
export { printable } from "./text.mjs";

/** Text is not wrapped narrower than this; the line gets longer instead. */
const LEAST_PROSE = 24;
const GAP = "  ";

/** Bold as Node's own rule has it, by the terminal, NO_COLOR and FORCE_COLOR; before 20.18 Node styles pipes, too. */
function bold(text) {
  const { stdout, env } = process;
  return stdout.isTTY || env.FORCE_COLOR ? styleText("bold", text, { stream: stdout }) : text;
}

/** The terminal's columns. */
export const screenColumns = () => process.stdout.columns || USUAL_COLUMNS;

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
