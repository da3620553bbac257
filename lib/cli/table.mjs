// Tables of text: the first column to the left, numbers to the right, headings bold where the terminal has colours
// (and NO_COLOR does not forbid them).

import colors from "picocolors";

/** `rows` of strings under `heads`. A wide character takes two columns. */
export function textTable(heads, rows) {
  const widths = heads.map((head, i) => Math.max(width(head), ...rows.map((row) => width(row[i]))));
  const line = (cells) => cells.map((cell, i) => pad(cell, widths[i], i === 0)).join("  ");
  return [colors.bold(line(heads)), ...rows.map(line)].join("\n");
}

export { percent, whole } from "./numbers.mjs";

function pad(cell, columns, isLeft) {
  const space = " ".repeat(columns - width(cell));
  return isLeft ? cell + space : space + cell;
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/gu;

function width(cell) {
  return [...cell].length + (cell.match(WIDE)?.length ?? 0);
}
