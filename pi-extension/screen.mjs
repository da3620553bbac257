// Fits text to a terminal: tables, and a reader that opens a text at its top.

import * as terminal from "../lib/cli/terminal.mjs";

/** Columns that pi's margins take from a notice. */
const MARGIN = 2;
/** Rows of the terminal that the reader leaves to its title, its hint and pi's footer. */
const READER_MARGIN = 8;
const LEAST_READER_ROWS = 5;
/** Keys that turn pages, as in a pager: pi's full screen does not pass the page keys on. */
const PAGE_LETTERS = { pageDown: " ", pageUp: "b" };

const { columnsOf, inColumns, printable, widthsOf } = terminal;

/** Columns of a notice. */
export const noticeColumns = () => terminal.screenColumns() - MARGIN;

/** A line, cut to `columns` with an ellipsis. */
function clipped(line, columns) {
  return columnsOf(line) <= columns ? line : `${pieces(line, columns - 1)[0]}…`;
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

/** Lines of a table, cut to the width of a notice. Columns of numbers are to the right. */
export function table(header, rows) {
  const lines = [header, ...rows].map((cells) => cells.map(printable));
  const widths = widthsOf(lines);
  const isText = header.map((_, i) => rows.some((cells) => !/^[\d,]*$/.test(cells[i])));
  return lines.map((cells) => {
    const line = inColumns(cells, widths, (i) => isText[i]).trimEnd();
    return clipped(line, noticeColumns());
  });
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
  const wrapped = (line) => terminal.wrapped(printable(line), columns - MARGIN, pieces);
  return {
    render(width) {
      if (width !== columns) {
        columns = width;
        lines = text.split("\n").flatMap(wrapped);
      }
      const shown = lines.slice(top, top + page());
      const place = `lines ${top + 1} to ${top + shown.length} of ${lines.length}`;
      const keysText = "space and b turn pages, up and down go by line, escape closes";
      return [
        theme.fg("accent", clipped(` ${printable(title)}`, columns)),
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
