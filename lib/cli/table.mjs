// Tables for the terminal. The first column is to the left, numbers to the right, headings bold where the terminal has colours.

import { styleText } from "node:util";
import { columnsOf, padded, printable, USUAL_COLUMNS, wrapped } from "./text.mjs";

/** Text is not wrapped narrower than this; the line gets longer instead. */
const LEAST_PROSE = 24;
const GAP = "  ";

/** The terminal's columns. */
export const screenColumns = () => process.stdout.columns || USUAL_COLUMNS;

/** `rows` of strings under `heads`. With `hasProse` the last column is text, and is wrapped below itself. */
export function textTable(heads, rows, { hasProse = false, columns } = {}) {
  const [head, ...lines] = aligned([heads, ...rows], hasProse, columns);
  return [bold(head), ...lines].join("\n");
}

/** Titles to the left, what they say to the right, wrapped below itself. */
export const figureList = (lines) => aligned(lines, true).join("\n");

/** Cells may come from a recording: nothing in them moves the cursor. */
function aligned(given, hasProse, columns = screenColumns()) {
  const rows = given.map((cells) => cells.map(printable));
  const widths = rows[0].map((_, i) => Math.max(...rows.map((cells) => columnsOf(cells[i]))));
  if (hasProse) widths.pop();
  return rows.map((cells) => {
    const line = widths.map((width, i) => padded(cells[i], width, i === 0)).join(GAP);
    if (!hasProse) return line;
    const indent = columnsOf(line + GAP);
    const lines = wrapped(cells.at(-1), Math.max(LEAST_PROSE, columns - indent));
    return line + GAP + lines.join(`\n${" ".repeat(indent)}`);
  });
}

/** Bold as Node's own rule has it, by the terminal, NO_COLOR and FORCE_COLOR; before 20.18 Node styles pipes, too. */
function bold(text) {
  const { stdout, env } = process;
  return stdout.isTTY || env.FORCE_COLOR ? styleText("bold", text, { stream: stdout }) : text;
}
