// The parts of a replay's page that a live one has not: the saving, what it was computed for, and our other settings beside it.

import { dollarsChart } from "./charts.mjs";
import { apart, change, dollars, el, tile, whole } from "./dom.mjs";
import { policyTable } from "./tables.mjs";

/** Digits of a price per million tokens. */
const PRICE = { minimumFractionDigits: 2, maximumFractionDigits: 4 };
/** Colours of the settings that the page only compares with. */
const OTHER_STROKES = ["pink", "yellow", "text"];

export class Replay {
  #data;
  #none;
  #ours;
  #view;
  #render;

  constructor(data, render) {
    const { policies, ours, cache } = data;
    this.#data = data;
    this.#none = policies[0];
    this.#ours = policies.find(({ name }) => name === ours);
    this.#view = { isTotal: true, model: cache, lines: new Set(policies.map(({ name }) => name)) };
    this.#render = render;
  }

  status(words) {
    const { format, length, calls } = this.#data;
    return [words.subtitle({ format, messages: length, calls: calls.length })];
  }

  /** The saving, the largest text of the page, and the prices behind it. */
  hero(words) {
    const { model } = this.#view;
    const [dear, cheap] = [this.#none.dollars[model], this.#ours.dollars[model]];
    const known = { before: dollars(dear), after: dollars(cheap), dollars: dollars(apart(dear, cheap)) };
    // Requests over the window have no price, so there is no saving to state.
    const [figure, said] =
      this.#none.overflows > 0
        ? [dollars(cheap), words.impossible({ calls: this.#none.overflows })]
        : [change(dear, cheap), cheap <= dear ? words.saved(known) : words.dearer(known)];
    const text = [el("p", { class: "said" }, said), el("p", { class: "help" }, this.#terms(words))];
    return [el("div", { class: "hero" }, el("p", { class: "figure" }, figure), el("div", {}, ...text))];
  }

  /** The prices and the cache behind the costs. */
  #terms(words) {
    const { unit, range, ttlSeconds } = this.#data.prices;
    const cache = words[this.#view.model];
    const isWeighed = unit === "tokens";
    const said = (price) =>
      isWeighed ? Number(price.toPrecision(3)) : `$${price.toLocaleString("en-US", PRICE)}`;
    const spread = (prices) => Array.from(new Set(prices.map(said))).join("–");
    const [input, read, write] = [range.input, range.read, range.write].map(spread);
    const life = ttlSeconds === undefined ? "" : words.life({ seconds: ttlSeconds });
    return words[isWeighed ? "weighed" : "terms"]({ cache, input, read, write, life });
  }

  /** The figures at a glance, with and without the hook. */
  tiles(words) {
    const pair = (name, key, note) => {
      const [after, before] = [this.#ours[key], this.#none[key]];
      const lines = [`${whole(before)} ${words.raw}`, note ?? change(before, after)];
      return tile(name, [el("b", {}, whole(after)), ` ${words.withHook}`], lines);
    };
    return [
      pair(words.tokensSent, "tokens"),
      pair(words.largestCall, "peak"),
      pair(words.overflows, "overflows", words.ofWindow({ tokens: this.#data.contextWindow })),
    ];
  }

  /** The parts of the recording that are not shown here, and where its usage disagrees. */
  notes(words) {
    const { unplayed, oddCalls } = this.#data;
    const left = Object.entries(unplayed).filter(([, calls]) => calls > 0);
    const said = left.map(([which, calls]) => words.unplayed[which]({ calls }));
    if (oddCalls > 0) said.push(words.oddCalls({ calls: oddCalls }));
    return said.map((text) => el("p", { class: "help" }, text));
  }

  /** Our other settings, in dollars. */
  comparison(words) {
    const shown = this.#data.policies.filter(({ name }) => this.#view.lines.has(name));
    const named = shown.map((policy) => ({
      ...policy,
      name: words.policies[policy.name],
      stroke: this.#strokeOf(policy),
    }));
    const chart = dollarsChart(named, words, this.#view);
    const help = (text) => el("p", { class: "help" }, text);
    const kinds = ["prefix", "breakpoint"].map((model) => [model, words[model]]);
    const sums = [
      [true, words.total],
      [false, words.perCall],
    ];
    const parts = [
      help(words.policiesHelp),
      this.#choice("model", kinds),
      this.#choice("isTotal", sums),
      help(words.cachesHelp),
      chart.holder,
      this.#lineChoice(words),
      policyTable(this.#data, words),
    ];
    return { chart, parts };
  }

  /** The hook and none keep the colours that they have above; the others have their own. */
  #strokeOf(policy) {
    if (policy === this.#none) return "soft";
    if (policy === this.#ours) return "blue";
    const others = this.#data.policies.filter((other) => other !== this.#none && other !== this.#ours);
    return OTHER_STROKES[others.indexOf(policy) % OTHER_STROKES.length];
  }

  /** Buttons of which one is pressed; they set a field of the view. */
  #choice(field, options) {
    const buttons = options.map(([value, name]) =>
      this.#pressable(`${field}-${value}`, name, this.#view[field] === value, () => {
        this.#view[field] = value;
      }),
    );
    return el("span", { class: "choice", role: "group" }, ...buttons);
  }

  /** Buttons for the lines of the dollar chart. */
  #lineChoice(words) {
    const { lines } = this.#view;
    const buttons = this.#data.policies.map(({ name }) => {
      const isShown = lines.has(name);
      const turn = () => (isShown ? lines.delete(name) : lines.add(name));
      const button = this.#pressable(`line-${name}`, words.policies[name], isShown, turn);
      button.disabled = isShown && lines.size === 1;
      return button;
    });
    return el("div", { class: "choice wrap", role: "group", "aria-label": words.lines }, ...buttons);
  }

  #pressable(id, name, isPressed, choose) {
    const onclick = () => {
      choose();
      this.#render();
      document.getElementById(id).focus();
    };
    return el("button", { id, "aria-pressed": String(isPressed), onclick }, name);
  }
}
