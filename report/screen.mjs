// Language and theme of a page, the switches for both, and the changes for printing. The page's address keeps the reader's
// choice over a reload.

import { el } from "./dom.mjs";
import { firstLanguage, WORDS } from "./words.mjs";

/** Width of the charts on paper, in CSS pixels: A4 and Letter without their margins. */
const PAPER_WIDTH = 680;

const darkScreen = matchMedia("(prefers-color-scheme: dark)");
const root = document.documentElement;

/** `parts()` are what is drawn now: each may `redraw()` in new colours and take another width by `setWidth(width)`. */
export class Screen {
  #chosen = new Set(location.hash.slice(1).split(","));
  #parts;
  #render;

  constructor({ parts, render }) {
    this.#parts = parts;
    this.#render = render;
    this.language = Object.keys(WORDS).find((name) => this.#chosen.has(name)) ?? firstLanguage();
    darkScreen.addEventListener("change", () => this.#followScreen());
    this.#followScreen();
    this.#preparePrint();
  }

  get words() {
    return WORDS[this.language];
  }

  buttons(words) {
    const turn = () => this.#choose(["light", "dark"], root.dataset.theme === "dark" ? "light" : "dark");
    return [
      el("button", { id: "language", onclick: () => this.#switchLanguage() }, words.language),
      el("button", { id: "theme", onclick: turn }, words.theme),
      el("button", { id: "print", onclick: () => window.print() }, words.print),
    ];
  }

  #switchLanguage() {
    this.language = this.language === "en" ? "zh" : "en";
    this.#choose(Object.keys(WORDS), this.language);
    this.#render();
    document.getElementById("language").focus();
  }

  /** `name` instead of any other of `names`. */
  #choose(names, name) {
    for (const other of names) this.#chosen.delete(other);
    this.#chosen.add(name);
    const chosen = [...this.#chosen].filter((each) => each !== "");
    history.replaceState(null, "", `#${chosen.join(",")}`);
    this.#followScreen();
  }

  #followScreen() {
    const named = ["light", "dark"].find((name) => this.#chosen.has(name));
    this.#setTheme(named ?? (darkScreen.matches ? "dark" : "light"));
  }

  #setTheme(name) {
    root.dataset.theme = name;
    for (const part of this.#parts()) part.redraw();
  }

  /** Paper is light and narrow: canvases are drawn anew for it before printing, and for the screen afterwards. */
  #preparePrint() {
    addEventListener("beforeprint", () => {
      this.#setTheme("light");
      for (const part of this.#parts()) part.setWidth(PAPER_WIDTH);
    });
    addEventListener("afterprint", () => {
      this.#followScreen();
      for (const part of this.#parts()) part.setWidth();
    });
  }
}
