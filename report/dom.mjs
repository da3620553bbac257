// Small helpers to make elements and to write numbers.

import { whole } from "../lib/cli/numbers.mjs";

export { apart, change, percent, quantile } from "../lib/cli/numbers.mjs";
export { whole };

/** An element; a property named `on…` is a listener, a child that is a string becomes text. */
export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** True if no price is known: then costs are in tokens of input. */
let isWeighed = false;

export function setUnit(unit) {
  isWeighed = unit === "tokens";
}

/** A cost in dollars, or in tokens of input. */
export const dollars = (number) => (isWeighed ? `${whole(number)} tokens` : `$${number.toFixed(2)}`);

/** Ticks of costs, all with as many decimals as the step between them needs. */
export function costTicks(ticks) {
  if (isWeighed) return ticks.map((tick) => `${whole(tick / 1000)} k`);
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  const decimals = step >= 1 ? 0 : Math.min(4, Math.ceil(-Math.log10(step)));
  return ticks.map((tick) => `$${tick.toFixed(decimals)}`);
}

/** The value of a CSS variable in the current theme. */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** A figure with its name: what it is, as parts of a line, and lines of notes. */
export function tile(name, value, notes) {
  const lines = notes.map((note) => el("dd", { class: "note" }, note));
  return el("div", {}, el("dt", {}, name), el("dd", {}, ...value), ...lines);
}

/** A table; cells of the first column are row headings. Of the kind "prose", the last column holds sentences. */
export function table(heads, rows, kind = "numbers") {
  const cells = ([first, ...others]) => [
    el("th", { scope: "row" }, first),
    ...others.map((cell, i) => el("td", { "data-head": heads[i + 1] }, cell)),
  ];
  return el(
    "div",
    { class: `scroll ${kind}`, tabindex: "0" },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, ...heads.map((head) => el("th", { scope: "col" }, head)))),
      el("tbody", {}, ...rows.map((row) => el("tr", {}, ...cells(row)))),
    ),
  );
}
