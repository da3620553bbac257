// The map of the messages: a canvas with one cell per message, coloured by what became of it at the chosen call. The
// mouse and the arrow keys pick a cell; the line below says what happened to it and why.

import { color, el, fitCanvas, whole } from "./dom.mjs";

/** Kinds of edits and of messages that nothing was done to, each in a colour that means nothing else on the page. */
const COLORS = {
  user: "sky",
  kept: "kept",
  replaced: "replaced",
  later: "later",
  shortened: "orange",
  omitImages: "green",
  stripThinking: "purple",
  drop: "gone",
};
const SHORTENING = ["summarize", "keepLines", "truncate", "dropCalls"];
/** Largest and smallest cell in CSS pixels, and the height the map should stay under. */
const MAX_CELL = 14;
const MIN_CELL = 4;
const MAX_HEIGHT = 480;

export function messageMap(data, words) {
  const { role, tool, tokens } = data.messages;
  const callCount = data.calls.before.length;
  const view = { call: callCount, picked: -1, cell: MAX_CELL, columns: 1, states: [] };
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": words.mapTitle });
  const frame = el("div", { class: "frame", hidden: true });
  const tip = el("p", { class: "tip", "aria-live": "polite" }, " ");
  const legend = el("p", { class: "legend" });
  const shown = el("output", {}, whole(callCount));
  const slider = el("input", {
    type: "range",
    min: "1",
    max: String(Math.max(1, callCount)),
    value: String(callCount),
    oninput: () => {
      view.call = Number(slider.value);
      shown.textContent = whole(view.call);
      update();
    },
  });
  const holder = el(
    "div",
    { class: "map" },
    el("label", {}, `${words.atCall} `, slider, " ", shown),
    el("div", { class: "cells" }, canvas, frame),
    tip,
    legend,
  );

  function update() {
    view.states = statesAt(data, view.call);
    legend.replaceChildren(...legendOf(view.states, words));
    draw();
    describe();
  }

  function layOut(width) {
    if (width === 0) return;
    view.cell = cellSize(width, role.length);
    view.columns = Math.max(1, Math.floor(width / view.cell));
    const height = Math.ceil(role.length / view.columns) * view.cell;
    fitCanvas(canvas, width, height);
    draw();
    moveFrame();
  }

  function draw() {
    const context = canvas.getContext("2d");
    const scale = window.devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const { cell, columns } = view;
    const size = cell - 1;
    for (const [state, name] of Object.entries(COLORS)) {
      context.fillStyle = color(name);
      for (const [index, found] of view.states.entries()) {
        if (kindOf(found.state) !== state) continue;
        context.fillRect((index % columns) * cell, Math.floor(index / columns) * cell, size, size);
      }
    }
  }

  /** The frame around the picked cell, an element of its own: moving it redraws nothing. */
  function moveFrame() {
    const { picked, cell, columns } = view;
    frame.hidden = picked < 0;
    frame.style.width = frame.style.height = `${cell - 1}px`;
    frame.style.left = `${(picked % columns) * cell}px`;
    frame.style.top = `${Math.floor(picked / columns) * cell}px`;
  }

  function describe() {
    const index = view.picked;
    const found = view.states[index];
    if (found === undefined) {
      tip.textContent = " ";
      return;
    }
    const what = tool[index] === "" ? role[index] : `${role[index]} ${tool[index]}`;
    const parts = [words.cell(whole(index + 1), what, whole(tokens[index]))];
    if (found.change === undefined) parts.push(words[found.state]);
    else parts.push(fateOf(found.change, words), words.schedule(scheduleAt(data, found.change, words)));
    tip.textContent = parts.join(" · ");
  }

  function pick(index) {
    view.picked = index >= 0 && index < role.length ? index : -1;
    moveFrame();
    describe();
  }

  canvas.addEventListener("mousemove", ({ offsetX, offsetY }) => {
    const column = Math.floor(offsetX / view.cell);
    pick(column < view.columns ? Math.floor(offsetY / view.cell) * view.columns + column : -1);
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -view.columns, ArrowDown: view.columns }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    pick(Math.max(0, Math.min(role.length - 1, view.picked + step)));
  });
  const fit = () => layOut(holder.clientWidth);
  const observer = new ResizeObserver(fit);
  observer.observe(holder);
  update();
  return {
    holder,
    redraw: draw,
    setWidth: (width) => layOut(width ?? holder.clientWidth),
    destroy: () => observer.disconnect(),
  };
}

/** A change in words: its action, since when, and why. */
export function fateOf([, action, from, , tokensSaved, reason, kept = []], words) {
  const inWords = (why) => words.reasons[why] ?? why;
  const fate = words.since(words[action], whole(from), whole(tokensSaved), inWords(reason));
  return [fate, ...kept.map(([lines, why]) => words.linesStay(whole(lines), inWords(why)))].join(
    words.semicolon,
  );
}

/** Why the schedule moved, or waited, at the call that made the change. */
function scheduleAt({ calls }, [, , from], words) {
  const reason = calls.reason[from - 1];
  return words.reasons[reason] ?? reason;
}

/** The state of every message at a call, with the change that made it. */
export function statesAt({ messages, calls, stretches, changes }, call) {
  const { at, opening, from } = standingAt(calls, stretches, call);
  const isThere = new Set(opening.flatMap(([first, end]) => range(first, end)));
  const states = messages.role.map((role, index) => {
    if (index >= at) return { state: "later" };
    if (index < from && !isThere.has(index)) return { state: "replaced" };
    return { state: role === "user" ? "user" : "kept" };
  });
  for (const change of changes) {
    const [index, action, first, last] = change;
    if (first <= call && call <= last) states[index] = { state: action, change };
  }
  return states;
}

/** The stretch a call stands in, and the number of the message that answered it. */
function standingAt({ at, stretch }, stretches, call) {
  const last = Math.min(call, at.length) - 1;
  if (last < 0) return { at: 0, opening: [], from: 0 };
  return { at: at[last], ...stretches[stretch[last]] };
}

function range(from, to) {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

function kindOf(state) {
  return SHORTENING.includes(state) ? "shortened" : state;
}

function legendOf(states, words) {
  const counts = new Map();
  for (const { state } of states) counts.set(kindOf(state), (counts.get(kindOf(state)) ?? 0) + 1);
  return Object.entries(COLORS)
    .filter(([state]) => counts.has(state))
    .map(([state, name]) => legendItem(name, `${words[state]} ${whole(counts.get(state))}`));
}

/** A patch of colour and what it stands for. */
export function legendItem(name, text) {
  return el("span", {}, el("i", { style: `background: var(--${name})` }), ` ${text}`);
}

function cellSize(width, count) {
  for (let cell = MAX_CELL; cell > MIN_CELL; cell -= 1) {
    if (Math.ceil(count / Math.floor(width / cell)) * cell <= MAX_HEIGHT) return cell;
  }
  return MIN_CELL;
}
