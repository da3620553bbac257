// The inspector's page: what the model sees, call by call, as the host reports it. Text comes only for the message that is
// clicked, and is only ever set as text.

import plotStyle from "uplot/dist/uPlot.min.css";
import { blockMap } from "./blocks.mjs";
import { tokensChart } from "./charts.mjs";
import { change, dollars, el, percent, quantile, table, whole } from "./dom.mjs";
import { dropList, dropsIn } from "./drops.mjs";
import { Live } from "./live.mjs";
import ownStyle from "./page.css";
import { Screen } from "./screen.mjs";

/** Rows of the table of calls. */
const NEWEST = 20;

const { title } = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("report");
const view = { call: 0, isFollowing: true, opened: undefined };
let drawn = [];
/** The parts of the page that change with every call. */
let parts;

document.head.append(el("style", {}, plotStyle, ownStyle));
document.title = title;

const screen = new Screen({ parts: () => drawn, render });
const live = new Live(update);
render();

/** Builds the page; what changes with the calls is filled in by `update`. */
function render() {
  for (const part of drawn) part.destroy();
  const { words } = screen;
  document.documentElement.lang = screen.language;
  const blocks = blockMap(words, open);
  const place = (name) => el("div", { id: name });
  parts = {
    words,
    blocks,
    chart: undefined,
    shown: {},
    status: el("p", { id: "status", "aria-live": "polite" }),
    tiles: el("dl", { class: "tiles" }),
    picker: picker(words),
    tokens: place("tokens"),
    calls: place("calls"),
    text: el("section", { id: "text", hidden: true, "aria-live": "polite" }),
  };
  drawn = [blocks];
  page.replaceChildren(
    el("header", {}, el("h1", {}, title), parts.status, el("nav", {}, ...screen.buttons(words))),
    parts.tiles,
    section(words.blocksTitle, words.blocksHelp, parts.picker.holder, blocks.holder, parts.text),
    section(words.tokensTitle, words.tokensHelp, parts.tokens),
    section(words.callsTitle, undefined, parts.calls),
  );
  update();
}

function section(name, help, ...children) {
  const lead = help === undefined ? [] : [el("p", { class: "help" }, help)];
  return el("section", {}, el("h2", {}, name), ...lead, ...children);
}

function update() {
  const { words } = parts;
  const count = live.calls.length;
  const state = live.isConnected ? words.live : words.lost;
  parts.status.replaceChildren(
    el("span", { class: live.isConnected ? "dot on" : "dot" }, state),
    count === 0
      ? ` ${words.waiting}`
      : ` ${words.liveSubtitle(whole(count), whole(live.messages.role.length))}`,
  );
  if (count === 0) return;
  if (view.isFollowing || view.call > count) view.call = count;
  const data = columns();
  parts.picker.show(view.call, count);
  parts.tiles.replaceChildren(...tiles(data, words));
  parts.blocks.show(data, view.call);
  showChart(data, words);
  parts.calls.replaceChildren(callTable(words));
}

/** The calls in the form that the report's charts read. */
function columns() {
  const column = (name) => live.calls.map((call) => call[name]);
  const still = live.calls.length;
  return {
    contextWindow: live.calls.at(-1).window,
    calls: {
      at: column("at"),
      stretch: column("stretch"),
      before: column("before"),
      after: column("after"),
      line: column("line"),
      reason: column("reason"),
    },
    stretches: live.stretches,
    messages: live.messages,
    changes: live.changes.map(([message, action, from, to, ...rest]) => [
      message,
      action,
      from,
      to ?? still,
      ...rest,
    ]),
  };
}

function showChart(data, words) {
  const drops = dropsIn(data, words);
  parts.chart?.destroy();
  parts.chart = tokensChart(data, words, drops);
  drawn = [parts.blocks, parts.chart];
  parts.tokens.replaceChildren(parts.chart.holder, ...dropList(drops, words));
}

function tiles({ contextWindow }, words) {
  const now = live.calls[view.call - 1];
  const answered = live.calls.filter(({ reported }) => reported !== null && reported > 0);
  const sum = (name) => answered.reduce((total, call) => total + call[name], 0);
  const tile = (name, value, ...notes) =>
    el(
      "div",
      {},
      el("dt", {}, name),
      el("dd", {}, el("b", {}, value)),
      ...notes.map((note) => el("dd", { class: "note" }, note)),
    );
  const context = tile(
    words.context,
    whole(now.after),
    words.ofTheWindow(percent(now.after / contextWindow), whole(contextWindow)),
    // A number and its percent sign stay together.
    `${words.withoutHook(whole(now.before))} (${change(now.before, now.after)})`.replaceAll(" %", "\u00a0%"),
  );
  if (answered.length === 0) return [context, tile(words.paid, words.none, words.unreported)];
  const causes = Object.keys(words.missCauses)
    .map((cause) => [cause, answered.filter(({ miss }) => miss === cause).length])
    .filter(([, count]) => count > 0);
  const misses = causes.reduce((total, [, count]) => total + count, 0);
  const errors = answered.map(({ after, reported }) => Math.abs(after - reported) / reported);
  return [
    context,
    tile(words.predicted, percent(quantile(errors, 0.5)), words.predictedNote(whole(answered.length))),
    tile(
      words.cacheHits,
      percent(sum("cacheRead") / sum("reported")),
      words.misses(misses),
      ...causes.map(([cause, count]) => `${whole(count)} × ${words.missCauses[cause]}`),
    ),
    paidTile(answered, tile, words),
  ];
}

/** Dollars of the calls that have a price; a dash where none has. */
function paidTile(answered, tile, words) {
  const priced = answered.filter(({ paid, without }) => Number.isFinite(paid) && Number.isFinite(without));
  if (priced.length === 0) return tile(words.paid, words.none, words.unpriced);
  const paid = priced.reduce((sum, call) => sum + call.paid, 0);
  const saved = priced.reduce((sum, call) => sum + call.without - call.paid, 0);
  const note = saved >= 0 ? words.savedSoFar(dollars(saved)) : words.spent(dollars(-saved));
  return tile(words.paid, dollars(paid), note);
}

/** The slider over the calls; moving it stops following the newest one. */
function picker(words) {
  const shown = el("output", {});
  const slider = el("input", { type: "range", min: "1", max: "1", value: "1", "aria-label": words.atCall });
  const follow = el("input", { type: "checkbox" });
  slider.addEventListener("input", () => {
    view.call = Number(slider.value);
    view.isFollowing = view.call === live.calls.length;
    update();
  });
  follow.addEventListener("change", () => {
    view.isFollowing = follow.checked;
    update();
  });
  const holder = el(
    "div",
    { class: "map" },
    el("label", {}, `${words.atCall} `, slider, " ", shown),
    el("label", { class: "follow" }, follow, ` ${words.follow}`),
  );
  const show = (call, count) => {
    slider.max = String(count);
    slider.value = String(call);
    shown.textContent = whole(call);
    follow.checked = view.isFollowing;
  };
  return { holder, show };
}

function callTable(words) {
  const newest = live.calls.map((call, i) => [i + 1, call]).slice(-NEWEST);
  const rows = newest
    .toReversed()
    .map(([number, call]) => [
      whole(number),
      `${whole(call.messagesBefore)} → ${whole(call.messagesAfter)}`,
      whole(call.after),
      call.reported === null ? words.none : whole(call.reported),
      cacheCell(call, words),
      call.paid === undefined ? words.none : `$${call.paid.toFixed(4)}`,
      words.reasons[call.reason] ?? call.reason,
    ]);
  return table(words.callHeads, rows, "prose policies");
}

function cacheCell({ reported, cacheRead, miss }, words) {
  if (reported === null || !(reported > 0)) return words.none;
  const share = percent(cacheRead / reported);
  return miss === undefined ? share : `${share}, ${words.missed(words.missCauses[miss])}`;
}

/** Asks the host for one message and shows it below the blocks. */
async function open(number) {
  const { words } = parts;
  view.opened = number;
  const found = await live.text(number).catch(() => null);
  if (view.opened !== number) return;
  const close = () => {
    parts.text.hidden = true;
    parts.blocks.focus();
  };
  const version = (name, text) => [el("h3", {}, name), el("pre", { tabindex: "0" }, text)];
  const versions =
    found === null
      ? [el("p", {}, words.goneText)]
      : [
          ...(found.sent === undefined ? [] : version(words.asSent, found.sent)),
          ...version(words.asRecorded, found.text),
        ];
  parts.text.replaceChildren(
    el(
      "p",
      { class: "open" },
      el("b", {}, `#${whole(number + 1)} ${found?.role ?? ""} ${found?.name ?? ""}`),
      el("button", { id: "close", onclick: close }, words.close),
    ),
    ...versions,
  );
  parts.text.hidden = false;
}
