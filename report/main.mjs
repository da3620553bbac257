// The report's page: reads the data that stands in it and shows it; switches language, theme and the dollar chart.
// Nothing is fetched and nothing is kept.

import plotStyle from "uplot/dist/uPlot.min.css";
import { dollarsChart, tokensChart } from "./charts.mjs";
import { dollars, el, percent, whole } from "./dom.mjs";
import { messageMap } from "./map.mjs";
import ownStyle from "./page.css";
import { policyTable, toolTable } from "./tables.mjs";
import { firstLanguage, WORDS } from "./words.mjs";

const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("report");
const view = { language: firstLanguage(), isTotal: true, model: "prefix" };
let drawn = [];

document.head.append(el("style", {}, plotStyle, ownStyle));
document.title = `pi-strata: ${data.title}`;

function render() {
  for (const part of drawn) part.destroy();
  const words = WORDS[view.language];
  document.documentElement.lang = view.language;
  const tokens = tokensChart(data, words);
  const cost = dollarsChart(data, words, view);
  const map = messageMap(data, words);
  drawn = [tokens, cost, map];
  const { title, format, messages, calls, prices } = data;
  page.replaceChildren(
    el(
      "header",
      {},
      el("h1", {}, title),
      el("p", {}, words.subtitle(format, whole(messages.role.length), whole(calls.before.length))),
      el("nav", {}, ...buttons(words)),
    ),
    tiles(words),
    section(words.tokensTitle, words.tokensHelp, tokens.holder),
    section(
      words.dollarsTitle,
      words.dollarsHelp(prices),
      choice("isTotal", [
        [true, words.total],
        [false, words.perCall],
      ]),
      choice("model", [
        ["prefix", words.prefix],
        ["breakpoint", words.breakpoint],
      ]),
      cost.holder,
      policyTable(data, words),
    ),
    section(words.mapTitle, words.mapHelp, map.holder),
    section(words.toolsTitle, undefined, toolTable(data, words)),
  );
}

function section(title, help, ...parts) {
  const lead = help === undefined ? [] : [el("p", { class: "help" }, help)];
  return el("section", {}, el("h2", {}, title), ...lead, ...parts);
}

function buttons(words) {
  return [
    el("button", { id: "language", onclick: switchLanguage }, words.language),
    el(
      "button",
      { id: "theme", onclick: () => setTheme(theme.theme === "dark" ? "light" : "dark") },
      words.theme,
    ),
    el("button", { id: "print", onclick: () => window.print() }, words.print),
  ];
}

/** Buttons of which one is pressed; they set a field of the view. */
function choice(field, options) {
  const group = options.map(([value, name]) => {
    const choose = () => {
      view[field] = value;
      render();
      document.getElementById(`${field}-${value}`).focus();
    };
    const pressed = String(view[field] === value);
    return el("button", { id: `${field}-${value}`, "aria-pressed": pressed, onclick: choose }, name);
  });
  return el("span", { class: "choice", role: "group" }, ...group);
}

/** The figures at a glance: what was replayed against no compression, the first policy. */
function tiles(words) {
  const { before, after } = data.calls;
  const [none] = data.costs.policies;
  const ours = data.costs.policies.find(({ name }) => name === data.ours);
  const sum = (column) => column.reduce((total, value) => total + value, 0);
  const most = (column) => column.reduce((peak, value) => Math.max(peak, value), 0);
  const [all, sent] = [sum(before), sum(after)];
  return el(
    "dl",
    { class: "tiles" },
    ...tile(words.tokensSent, `${whole(sent)} / ${whole(all)}`, `−${percent(1 - sent / Math.max(1, all))}`),
    ...tile(words.largestCall, `${whole(most(after))} / ${whole(most(before))}`, ""),
    ...tile(words.cost, dollars(none.dollars[view.model]), words[view.model]),
    ...tile(words.costOurs(ours.name), dollars(ours.dollars[view.model]), words[view.model]),
  );
}

function tile(name, value, note) {
  return [el("div", {}, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "note" }, note))];
}

function switchLanguage() {
  view.language = view.language === "en" ? "zh" : "en";
  render();
  document.getElementById("language").focus();
}

const darkScreen = matchMedia("(prefers-color-scheme: dark)");
const theme = document.documentElement.dataset;

function setTheme(name) {
  theme.theme = name;
  for (const part of drawn) part.redraw();
}

function followScreen() {
  setTheme(darkScreen.matches ? "dark" : "light");
}

darkScreen.addEventListener("change", followScreen);

// Paper is light: canvases are drawn anew in ink before printing, and back afterwards.
let themeOnScreen;
addEventListener("beforeprint", () => {
  themeOnScreen = theme.theme;
  setTheme("light");
});
addEventListener("afterprint", () => setTheme(themeOnScreen));

followScreen();
render();
