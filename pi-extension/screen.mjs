// Fits text to a terminal: tables, wrapped sentences, and a reader that opens a text at its top.

import { columnsOf, padded, printable, USUAL_COLUMNS, wrapped as wrappedLine } from "../lib/cli/text.mjs";

/** Columns that pi's margins take from a notice. */
const MARGIN = 2;
/** Rows of the terminal that the reader leaves to its title, its hint and pi's footer. */
const READER_MARGIN = 8;
const LEAST_READER_ROWS = 5;
/** Keys that turn pages, as in a pager. */
const PAGE_LETTERS = { pageDown: " ", pageUp: "b" };
const GAP = "  ";

/** Columns that a notice has. */
function noticeColumns() {
  return (process.stdout.columns || USUAL_COLUMNS) - MARGIN;
}

/** Columns of a line of standard error. */
export function errorColumns() {
  return process.stderr.columns || USUAL_COLUMNS;
}

/** The beginning of a line that has room in `columns`, with an ellipsis where the rest is missing. */
export function clipped(text, columns) {
  const line = printable(text.split("\n", 1)[0]);
  if (columnsOf(line) <= columns && !text.includes("\n")) return line;
  let shown = "";
  for (const letter of line) {
    if (columnsOf(shown + letter) > columns - 1) break;
    shown += letter;
  }
  return `${shown}…`;
}

/** The lines of `text`, each broken where it is wider than `columns`. */
export function wrapped(text, columns) {
  return text.split("\n").flatMap((line) => wrappedLine(printable(line), columns, pieces));
}

/** A word in pieces of at most so many columns. */
function pieces(word, columns) {
  const parts = [""];
  for (const letter of word) {
    if (columnsOf(parts.at(-1) + letter) > columns) parts.push("");
    parts[parts.length - 1] += letter;
  }
  return parts;
}

/**
 * Lines of a table whose cells are texts. The first column is to the left, and so is each whose header begins with a space;
 * the others are to the right. The widest columns on the left are clipped where the table is wider than `columns`.
 */
export function table(header, rows, columns = noticeColumns()) {
  const isLeft = header.map((title, i) => i === 0 || title.startsWith(" "));
  const lines = [header.map((title) => title.trim()), ...rows];
  const widths = header.map((_, i) => Math.max(...lines.map((cells) => columnsOf(cells[i]))));
  const needed = () => widths.reduce((sum, width) => sum + width, GAP.length * (widths.length - 1));
  const widest = () => widths.reduce((best, width, i) => (isLeft[i] && width > widths[best] ? i : best), 0);
  while (needed() > columns && widths[widest()] > 1) widths[widest()] -= 1;
  return lines.map((cells) => {
    const line = cells.map((cell, i) => padded(clipped(cell, widths[i]), widths[i], isLeft[i]));
    return line.join(GAP).trimEnd();
  });
}

/**
 * Shows `text` from its top in pi's terminal until the user closes it. Returns false if this pi has no terminal.
 */
export async function read(ui, title, text) {
  let isShown = false;
  await ui.custom?.((tui, theme, keys, done) => {
    isShown = true;
    return new Reader({
      title,
      text,
      theme,
      keys,
      done,
      rows: () => tui.terminal?.rows,
      draw: () => tui.requestRender(),
    });
  });
  return isShown;
}

/** A component of pi's terminal: some lines of a text, and keys that move through it. */
class Reader {
  #given;
  #top = 0;
  #lines = [];
  #columns;

  constructor(given) {
    this.#given = given;
  }

  render(columns) {
    const { title, text, theme } = this.#given;
    if (columns !== this.#columns) this.#lines = wrapped(text.trimEnd(), columns - MARGIN);
    this.#columns = columns;
    const [from, to] = [this.#top, Math.min(this.#lines.length, this.#top + this.#rows())];
    const place = `lines ${from + 1} to ${to} of ${this.#lines.length}; space and b turn pages, up and down go by line, escape closes`;
    return [
      theme.fg("accent", clipped(` ${title}`, columns)),
      "",
      ...this.#lines.slice(from, to).map((line) => ` ${line}`),
      "",
      theme.fg("dim", clipped(` ${place}`, columns)),
    ];
  }

  handleInput(data) {
    const { keys, done, draw } = this.#given;
    // Letters turn pages, too: pi's full screen does not pass the page keys on.
    const pressed = (name) => data === PAGE_LETTERS[name] || keys.matches(data, `tui.select.${name}`);
    if (pressed("cancel") || pressed("confirm")) return done();
    const page = this.#rows();
    const moves = { up: -1, down: 1, pageUp: -page, pageDown: page };
    const move = Object.keys(moves).find(pressed);
    if (move === undefined) return undefined;
    const last = Math.max(0, this.#lines.length - page);
    this.#top = Math.min(last, Math.max(0, this.#top + moves[move]));
    return draw();
  }

  invalidate() {
    this.#columns = undefined;
  }

  #rows() {
    return Math.max(LEAST_READER_ROWS, (this.#given.rows() ?? 0) - READER_MARGIN);
  }
}
