// Fits text to a terminal: tables, wrapped sentences, and a reader that opens a text at its top.

import * as terminal from "../lib/cli/terminal.mjs";

/** Columns that pi's margins take from a notice. */
const MARGIN = 2;
/** Rows of the terminal for the reader's title, its hint and pi's footer. */
const READER_MARGIN = 8;
const LEAST_READER_ROWS = 5;
/** Keys that turn pages, as in a pager: pi's full screen does not pass the page keys on. */
const PAGE_LETTERS = { pageDown: " ", pageUp: "b" };

const { columnsOf, inColumns, printable, widthsOf } = terminal;

/** Columns of a line of standard error. */
export const errorColumns = () => process.stderr.columns || terminal.USUAL_COLUMNS;

/** The first line of a text, with an ellipsis where the rest is missing or the line is wider than `columns`. */
export function clipped(text, columns = Number.POSITIVE_INFINITY) {
  const line = printable(text.split("\n", 1)[0]);
  const isWhole = columnsOf(line) <= columns && !text.includes("\n");
  return isWhole ? line : `${pieces(line, columns - 1)[0]}…`;
}

/** The lines of `text`, each broken where it is wider than `columns`. */
export function wrapped(text, columns) {
  return text.split("\n").flatMap((line) => terminal.wrapped(printable(line), columns, pieces));
}

/** A text in pieces of at most so many columns. */
function pieces(text, columns) {
  const parts = [""];
  let taken = 0;
  for (const letter of text) {
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

/**
 * Lines of a table. Columns of numbers are to the right, the first one and all others to the left. The widest columns on the left
 * are clipped where the table is wider than a notice.
 */
export function table(header, rows) {
  const columns = terminal.screenColumns() - MARGIN;
  const lines = [header, ...rows.map((cells) => cells.map(String))];
  const isLeft = header.map((_, i) => i === 0 || rows.some((cells) => !/^[\d,]*$/.test(cells[i])));
  const widths = widthsOf(lines);
  const lineOf = (cells) => {
    const fitting = cells.map((cell, i) => clipped(cell, widths[i]));
    return inColumns(fitting, widths, (i) => isLeft[i]);
  };
  const widest = () => widths.reduce((best, width, i) => (isLeft[i] && width > widths[best] ? i : best), 0);
  while (columnsOf(lineOf(header)) > columns && widths[widest()] > 1) widths[widest()] -= 1;
  return lines.map((cells) => lineOf(cells).trimEnd());
}

/** Shows `text` from its top in pi's terminal until the user closes it. Returns false if this pi has no terminal. */
export async function read(ui, title, text) {
  let isShown = false;
  await ui.custom?.((tui, theme, keys, done) => {
    isShown = true;
    return reader(title, text.trimEnd(), { tui, theme, keys, done });
  });
  return isShown;
}

/** A component of pi's terminal: some lines of a text, and keys that move through it. */
function reader(title, text, { tui, theme, keys, done }) {
  let [lines, columns, top] = [[], 0, 0];
  const page = () => Math.max(LEAST_READER_ROWS, (tui.terminal?.rows ?? 0) - READER_MARGIN);
  return {
    render(width) {
      if (width !== columns) lines = wrapped(text, width - MARGIN);
      columns = width;
      const shown = lines.slice(top, top + page());
      const place = `lines ${top + 1} to ${top + shown.length} of ${lines.length}`;
      const keysText = "space and b turn pages, up and down go by line, escape closes";
      return [
        theme.fg("accent", clipped(` ${title}`, columns)),
        "",
        ...shown.map((line) => ` ${line}`),
        "",
        theme.fg("dim", clipped(` ${place}; ${keysText}`, columns)),
      ];
    },
    handleInput(data) {
      const isPressed = (name) => data === PAGE_LETTERS[name] || keys.matches(data, `tui.select.${name}`);
      if (isPressed("cancel") || isPressed("confirm")) return done();
      const moves = { up: -1, down: 1, pageUp: -page(), pageDown: page() };
      const [, move] = Object.entries(moves).find(([name]) => isPressed(name)) ?? [undefined, 0];
      top = Math.max(0, Math.min(top + move, lines.length - page()));
      return tui.requestRender();
    },
    invalidate() {},
  };
}
