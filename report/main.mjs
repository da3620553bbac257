// The report's page: reads the data that stands in it and shows it; switches language, theme and the dollar chart.
// Nothing is fetched and nothing is kept.

import plotStyle from "uplot/dist/uPlot.min.css";
import { dollarsChart, tokensChart } from "./charts.mjs";
import { apart, change, dollars, el, percent, whole } from "./dom.mjs";
import { dropList, dropsIn } from "./drops.mjs";
import { messageMap } from "./map.mjs";
import ownStyle from "./page.css";
import { Screen } from "./screen.mjs";
import { nameOf, policyTable, toolTable } from "./tables.mjs";

const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("report");
const none = data.costs.policies[0];
const ours = data.costs.policies.find(({ name }) => name === data.ours);
const view = {
  isTotal: true,
  model: data.cache,
  lines: new Set(data.costs.policies.map(({ name }) => name)),
};
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
  const shown = data.costs.policies.filter(({ name }) => view.lines.has(name));
  const named = shown.map((policy) => ({ ...policy, name: nameOf(policy.name, words) }));
  const cost = dollarsChart({ calls: data.costs.calls, policies: named }, words, view);
  const map = messageMap(data, words);
  drawn = [tokens, cost, map];
  const { title, format, messages, calls, prices } = data;
  page.replaceChildren(
    el(
      "header",
      {},
      el("h1", {}, title),
      el("p", {}, words.subtitle(format, whole(messages.role.length), whole(calls.before.length))),
      el("nav", {}, ...screen.buttons(words)),
    ),
    headline(words),
    tiles(words),
    ...unplayed(words),
    section(words.tokensTitle, words.tokensHelp, tokens.holder, ...dropList(drops, words)),
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
      lineChoice(words),
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

/** What was saved, in words and dollars. */
function headline(words) {
  const dear = none.dollars[view.model];
  const cheap = ours.dollars[view.model];
  const said = words.headline({
    policy: nameOf(ours.name, words),
    fewer: ours.tokens <= none.tokens,
    tokens: percent(Math.abs(1 - ours.tokens / Math.max(1, none.tokens))),
    cheaper: cheap <= dear,
    dollars: dollars(apart(dear, cheap)),
    before: dollars(dear),
    after: dollars(cheap),
    cache: words[view.model],
  });
  // A number and its percent sign stay together.
  return el("p", { class: "headline" }, said.replaceAll(" %", "\u00a0%"));
}

/** The figures at a glance: what was sent against what it would have been without us. */
function tiles(words) {
  const pairs = [
    [words.tokensSent, whole(ours.tokens), whole(none.tokens), change(none.tokens, ours.tokens)],
    [words.largestCall, whole(ours.peak), whole(none.peak), change(none.peak, ours.peak)],
    [
      words.overflows,
      whole(ours.overflows),
      whole(none.overflows),
      words.ofWindow(whole(data.contextWindow)),
    ],
    [
      words.cost,
      dollars(ours.dollars[view.model]),
      dollars(none.dollars[view.model]),
      change(none.dollars[view.model], ours.dollars[view.model]),
    ],
  ];
  const figure = (name, value) => el("dd", {}, el("b", {}, value), ` ${name}`);
  const tile = ([name, after, before, note]) =>
    el(
      "div",
      {},
      el("dt", {}, name),
      figure(words.with(nameOf(ours.name, words)), after),
      figure(words.without, before),
      el("dd", { class: "note" }, note),
    );
  return el("dl", { class: "tiles" }, ...pairs.map(tile));
}

/** What the recording holds and is not shown here. */
function unplayed(words) {
  const told = Object.entries(data.unplayed).filter(([, calls]) => calls > 0);
  return told.map(([which, calls]) => el("p", { class: "help" }, words.unplayed[which](whole(calls))));
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
  const buttons = data.costs.policies.map(({ name }) => {
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
