// The page of a record of calls: what the model saw call by call, and what was removed. A replay's page holds its record; a live one
// fetches it from the host. Text comes only for the message that is clicked, and is only ever set as text.

import plotStyle from "uplot/dist/uPlot.min.css";
import { BlockMap } from "./blocks.mjs";
import { tokensChart } from "./charts.mjs";
import { el, setUnit, whole } from "./dom.mjs";
import { dropList, dropsIn } from "./drops.mjs";
import { Live, liveStatus, liveTiles } from "./live.mjs";
import ownStyle from "./page.css";
import { Replay } from "./replay.mjs";
import { Screen } from "./screen.mjs";
import { callTable, editTables } from "./tables.mjs";

const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("report");
const view = { call: 0, isFollowing: true, opened: undefined, open: new Set() };
/** What is drawn now and must be told of a new theme or width. */
let drawn = [];
/** The parts of the page that change with every call. */
let parts;

document.head.append(el("style", {}, plotStyle, ownStyle));
const replay = data.policies && new Replay(data, render);
setUnit(data.prices?.unit);
document.title = replay ? `pi-strata: ${data.title}` : data.title;
const screen = new Screen({ parts: () => drawn, render });
const record = replay ? data : new Live(update);
render();

/** Builds the page; what changes with the calls is filled in by `update`. */
function render() {
  for (const part of drawn) part.destroy();
  const { words } = screen;
  document.documentElement.lang = screen.language;
  const compared = replay?.comparison(words);
  const help = replay ? words.blocksHelp : `${words.blocksHelp} ${words.readHelp}`;
  parts = {
    words,
    fixed: compared === undefined ? [] : [compared.chart],
    blocks: new BlockMap(words, replay ? undefined : open),
    chart: undefined,
    status: el("p", { id: "status", "aria-live": "polite" }),
    tiles: el("dl", { class: "tiles" }),
    picker: picker(words),
    tokens: el("div", { id: "tokens" }),
    edits: el("div", { id: "edits" }),
    calls: el("div", { id: "calls" }),
    text: el("section", { id: "text", hidden: true, "aria-live": "polite" }),
  };
  drawn = [parts.blocks, ...parts.fixed];
  page.replaceChildren(
    el("header", {}, el("h1", {}, data.title), parts.status, el("nav", {}, ...screen.buttons(words))),
    ...(replay?.hero(words) ?? []),
    parts.tiles,
    ...(replay?.notes(words) ?? []),
    section(words.tokensTitle, words.tokensHelp, parts.tokens),
    section(words.editsTitle, words.editsHelp, parts.edits),
    section(words.blocksTitle, help, parts.picker.holder, parts.blocks.holder, parts.text),
    section(words.callsTitle, undefined, parts.calls),
    ...folded("compare", words.compare, compared?.parts ?? []),
  );
  update();
}

function section(title, help, ...children) {
  const lead = help === undefined ? [] : [el("p", { class: "help" }, help)];
  return el("section", {}, el("h2", {}, title), ...lead, ...children);
}

/** Parts that open on demand, under their title; nothing if there are none. */
function folded(key, title, children) {
  if (children.length === 0) return [];
  const ontoggle = ({ target }) => view.open[target.open ? "add" : "delete"](key);
  return [
    el("details", { id: key, ontoggle, open: view.open.has(key) }, el("summary", {}, title), ...children),
  ];
}

function update() {
  const { words } = parts;
  const count = record.calls.length;
  parts.status.replaceChildren(...(replay?.status(words) ?? liveStatus(record, words)));
  if (count === 0) return;
  if (view.isFollowing || view.call > count) view.call = count;
  parts.picker.show(view.call, count);
  parts.tiles.replaceChildren(...(replay?.tiles(words) ?? liveTiles(record, view.call, words)));
  parts.blocks.show(record, view.call);
  showChart(words);
  const [first, others] = editTables(record, words);
  parts.edits.replaceChildren(first, ...folded("more", words.more, others));
  parts.calls.replaceChildren(callTable(record, words));
}

function showChart(words) {
  const drops = dropsIn(record, words);
  parts.chart?.destroy();
  parts.chart = tokensChart(record, words, drops);
  drawn = [parts.blocks, parts.chart, ...parts.fixed];
  parts.tokens.replaceChildren(parts.chart.holder, ...dropList(drops, words));
}

/** The slider over the calls; moving it stops following the newest one. */
function picker(words) {
  const shown = el("output", {});
  const slider = el("input", { type: "range", min: "1", max: "1", value: "1", "aria-label": words.atCall });
  const follow = el("input", { type: "checkbox" });
  slider.addEventListener("input", () => {
    view.call = Number(slider.value);
    view.isFollowing = view.call === record.calls.length;
    update();
  });
  follow.addEventListener("change", () => {
    view.isFollowing = follow.checked;
    update();
  });
  const holder = el("div", { class: "map" }, el("label", {}, `${words.atCall} `, slider, " ", shown));
  if (!replay) holder.append(el("label", { class: "follow" }, follow, ` ${words.follow}`));
  const show = (call, count) => {
    slider.max = String(count);
    slider.value = String(call);
    shown.textContent = whole(call);
    follow.checked = view.isFollowing;
  };
  return { holder, show };
}

/** Asks the host for one message and shows it below the blocks. */
async function open(number) {
  const { words } = parts;
  view.opened = number;
  const found = await record.text(number).catch(() => null);
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
