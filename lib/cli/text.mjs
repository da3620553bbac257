// Text in a terminal: the columns that it takes, and lines that fit.

/** Columns of a terminal that does not report its size. */
export const USUAL_COLUMNS = 80;
const TAB = "    ";

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
