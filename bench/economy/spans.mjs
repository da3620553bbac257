// The spans of text that answers copy from what stood before them.

import { stringsIn } from "./lines.mjs";

/** A span in UTF-16 code units, and how far apart the spans of an answer begin. */
export const SPAN = 24;
const STEP = 12;

/** A span without three signs in a row is layout. */
const SAYS_SOMETHING = /\S{3}/;

/** What a message says, thinks, calls and returns, as one text. */
function textOf({ content, command = "", output = "", summary = "" }) {
  const own = Array.isArray(content) ? content.map(textOfBlock).join("\n") : String(content ?? "");
  return own + command + output + (Array.isArray(content) ? "" : summary);
}

function textOfBlock({ type, text, thinking, name, arguments: given }) {
  if (type === "toolCall") return `${name}\n${stringsIn(given).reverse().join("\n")}`;
  return text ?? thinking ?? "";
}

/** The spans of an answer, every twelve code units. */
export function spansOf(message) {
  const text = textOf(message);
  const spans = [];
  for (let at = 0; at + SPAN <= text.length; at += STEP) {
    const span = text.slice(at, at + SPAN);
    if (SAYS_SOMETHING.test(span)) spans.push(span);
  }
  return spans;
}

/** Those of the `wanted` spans that stand in the message, wherever they begin. */
export function wantedIn(message, wanted) {
  const text = textOf(message);
  const found = new Set();
  for (let at = 0; wanted.size > 0 && at + SPAN <= text.length; at += 1) {
    const span = text.slice(at, at + SPAN);
    if (wanted.has(span)) found.add(span);
  }
  return found;
}
