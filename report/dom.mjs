// Small helpers to make elements and to write numbers.

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

export { apart, change, percent, whole } from "../lib/cli/numbers.mjs";

export const dollars = (number) => `$${number.toFixed(2)}`;

/** The value of a CSS variable of the theme at hand. */
export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
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

/** Sizes a canvas in CSS pixels, with as many dots as the screen has there. */
export function fitCanvas(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
}
