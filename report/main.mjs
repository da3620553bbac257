// The report's page: shows the data that it holds; switches language, theme and the dollar chart. It fetches and keeps nothing.

import plotStyle from "uplot/dist/uPlot.min.css";
import { dollarsChart, tokensChart } from "./charts.mjs";
import { apart, change, dollars, el, setUnit, whole } from "./dom.mjs";
import { dropList, dropsIn } from "./drops.mjs";
import { messageMap } from "./map.mjs";
import ownStyle from "./page.css";
import { Screen } from "./screen.mjs";
import { editTables, nameOf, policyTable } from "./tables.mjs";

const data = JSON.parse(document.getElementById("data").textContent);
setUnit(data.prices.unit);
const page = document.getElementById("report");
const none = data.policies[0];
const ours = data.policies.find(({ name }) => name === data.ours);
const view = {
  isTotal: true,
  model: data.cache,
  lines: new Set(data.policies.map(({ name }) => name)),
  open: new Set(),
};
/** Colours of the settings that the page only compares with. */
const OTHER_STROKES = ["pink", "yellow", "text"];
let drawn = [];

document.head.append(el("style", {}, plotStyle, ownStyle));
document.title = `pi-strata: ${data.title}`;

const screen = new Screen({ parts: () => drawn, render });
render();

function render() {
  for (const part of drawn) part.destroy();
  const { words } = screen;
  document.documentElement.lang = screen.language;
  const drops = dropsIn(data, words);
  const tokens = tokensChart(data, words, drops);
  const map = messageMap(data, words);
  const compared = comparison(words);
  drawn = [tokens, map, compared.chart];
  const { title, format, messages, calls } = data;
  const [edits, moreEdits] = editTables(data, words);
  page.replaceChildren(
    el(
      "header",
      {},
      el("h1", {}, title),
      el("p", {}, words.subtitle(format, whole(messages.role.length), whole(calls.before.length))),
      el("nav", {}, ...screen.buttons(words)),
    ),
    hero(words),
    tiles(words),
    ...unplayed(words),
    section(words.tokensTitle, words.tokensHelp, tokens.holder, ...dropList(drops, words)),
    section(words.editsTitle, words.editsHelp, edits, ...folded("edits", words.more, moreEdits)),
    section(words.mapTitle, words.mapHelp, map.holder),
    ...folded("compare", words.compare, ...compared.parts),
  );
}

function section(title, help, ...parts) {
  return el("section", {}, el("h2", {}, title), el("p", { class: "help" }, help), ...parts);
}

/** A part that opens on demand, under its title; nothing if it is empty. */
function folded(key, title, ...parts) {
  const shown = parts.filter((part) => part !== undefined);
  if (shown.length === 0) return [];
  const ontoggle = ({ target }) => view.open[target.open ? "add" : "delete"](key);
  return [el("details", { id: key, ontoggle, open: view.open.has(key) }, el("summary", {}, title), ...shown)];
}

/** The saving, the largest text of the page, and the prices behind it. */
function hero(words) {
  const [dear, cheap] = [none.dollars[view.model], ours.dollars[view.model]];
  const known = { before: dollars(dear), after: dollars(cheap), dollars: dollars(apart(dear, cheap)) };
  // Requests over the window have no price, so there is no saving to state.
  const [figure, said] =
    none.overflows > 0
      ? [dollars(cheap), words.impossible(whole(none.overflows))]
      : [change(dear, cheap), cheap <= dear ? words.saved(known) : words.dearer(known)];
  return el(
    "div",
    { class: "hero" },
    el("p", { class: "figure" }, figure),
    el("div", {}, el("p", { class: "said" }, said), el("p", { class: "help" }, terms(words))),
  );
}

/** The prices and the cache behind the costs. */
function terms(words) {
  const { unit, input, read, write, ttlSeconds } = data.prices;
  const cache = words[view.model];
  if (unit === "tokens") return words.weighed(cache, read, write, ttlSeconds);
  return words.terms(cache, ...[input, read, write].map(dollars), ttlSeconds);
}

/** The figures at a glance, with and without the hook. */
function tiles(words) {
  const tile = (name, after, before, note) =>
    el(
      "div",
      {},
      el("dt", {}, name),
      el("dd", {}, el("b", {}, whole(after)), ` ${words.withHook}`),
      el("dd", {}, `${whole(before)} ${words.raw}`),
      el("dd", { class: "note" }, note),
    );
  return el(
    "dl",
    { class: "tiles" },
    tile(words.tokensSent, ours.tokens, none.tokens, change(none.tokens, ours.tokens)),
    tile(words.largestCall, ours.peak, none.peak, change(none.peak, ours.peak)),
    tile(words.overflows, ours.overflows, none.overflows, words.ofWindow(whole(data.contextWindow))),
  );
}

/** The parts of the recording that are not shown here. */
function unplayed(words) {
  const told = Object.entries(data.unplayed).filter(([, calls]) => calls > 0);
  return told.map(([which, calls]) => el("p", { class: "help" }, words.unplayed[which](whole(calls))));
}

/** Our other settings, in dollars. */
function comparison(words) {
  const shown = data.policies.filter(({ name }) => view.lines.has(name));
  const named = shown.map((policy) => ({
    ...policy,
    name: nameOf(policy.name, words),
    stroke: strokeOf(policy),
  }));
  const chart = dollarsChart(named, words, view);
  const help = (text) => el("p", { class: "help" }, text);
  return {
    chart,
    parts: [
      help(words.policiesHelp),
      choice("model", [
        ["prefix", words.prefix],
        ["breakpoint", words.breakpoint],
      ]),
      choice("isTotal", [
        [true, words.total],
        [false, words.perCall],
      ]),
      help(words.cachesHelp),
      chart.holder,
      lineChoice(words),
      policyTable(data, words),
    ],
  };
}

/** The hook and none keep the colours that they have above; the others have their own. */
function strokeOf(policy) {
  if (policy === none) return "soft";
  if (policy === ours) return "blue";
  const others = data.policies.filter((other) => other !== none && other !== ours);
  return OTHER_STROKES[others.indexOf(policy) % OTHER_STROKES.length];
}

/** Buttons of which one is pressed; they set a field of the view. */
function choice(field, options) {
  const buttons = options.map(([value, name]) =>
    pressable(`${field}-${value}`, name, view[field] === value, () => {
      view[field] = value;
    }),
  );
  return el("span", { class: "choice", role: "group" }, ...buttons);
}

/** Buttons for the lines of the dollar chart. */
function lineChoice(words) {
  const buttons = data.policies.map(({ name }) => {
    const isShown = view.lines.has(name);
    const turn = () => (isShown ? view.lines.delete(name) : view.lines.add(name));
    const button = pressable(`line-${name}`, nameOf(name, words), isShown, turn);
    button.disabled = isShown && view.lines.size === 1;
    return button;
  });
  return el("div", { class: "choice wrap", role: "group", "aria-label": words.lines }, ...buttons);
}

function pressable(id, name, isPressed, choose) {
  const onclick = () => {
    choose();
    render();
    document.getElementById(id).focus();
  };
  return el("button", { id, "aria-pressed": String(isPressed), onclick }, name);
}
