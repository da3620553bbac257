// The messages of one call as blocks on a canvas: as wide as they are long, coloured by kind, hatched where something was
// taken out. The mouse and the arrow keys pick one; a click or Enter asks for its text.

import { color, el, fitCanvas, whole } from "./dom.mjs";
import { fateOf, legendItem, statesAt } from "./map.mjs";

const KIND_COLORS = {
  system: "green",
  user: "sky",
  assistant: "purple",
  toolResult: "orange",
  summary: "yellow",
  other: "kept",
};
const KIND_OF_ROLE = {
  __proto__: null,
  system: "system",
  user: "user",
  assistant: "assistant",
  toolResult: "toolResult",
  compactionSummary: "summary",
  branchSummary: "summary",
};
/** CSS pixels. */
const ROW_HEIGHT = 30;
const GAP = 2;
const LEAST_WIDTH = 3;
const MOST_ROWS = 12;

/** The drawing of each role. */
export function kindOf(role) {
  return KIND_OF_ROLE[role] ?? "other";
}

/** `onOpen(number)` is told which message shall be read. */
export function blockMap(words, onOpen) {
  const view = { data: undefined, call: 0, blocks: [], picked: -1, drawn: [] };
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": words.blocksTitle });
  const frame = el("div", { class: "frame", hidden: true });
  const tip = el("p", { class: "tip", "aria-live": "polite" }, " ");
  const legend = el("p", { class: "legend" });
  const holder = el("div", { class: "map" }, el("div", { class: "cells" }, canvas, frame), tip, legend);
  const context = canvas.getContext("2d");

  /** Shows a call. The block that is picked stays so while its message is there. */
  function show(data, call) {
    const picked = view.blocks[view.picked]?.number;
    Object.assign(view, { data, call, blocks: blocksOf(data, call) });
    view.picked = view.blocks.findIndex(({ number }) => number === picked);
    legend.replaceChildren(...legendOf(view.blocks, words));
    layOut(holder.clientWidth);
    describe();
  }

  function layOut(width) {
    if (width === 0 || view.data === undefined) return;
    const { placed, rows } = placesOf(view.blocks, width);
    view.drawn = placed;
    const height = Math.max(1, rows) * (ROW_HEIGHT + GAP);
    fitCanvas(canvas, width, height);
    draw();
    moveFrame();
  }

  function draw() {
    const scale = window.devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const colors = Object.fromEntries(Object.entries(KIND_COLORS).map(([kind, name]) => [kind, color(name)]));
    for (const { block, x, y, width } of view.drawn) {
      const kept = width * block.share;
      context.fillStyle = colors[block.kind];
      context.fillRect(x, y, kept, ROW_HEIGHT);
      if (kept < width) hatch(context, { x: x + kept, y, width: width - kept }, colors[block.kind]);
    }
  }

  function moveFrame() {
    const place = view.drawn[view.picked];
    frame.hidden = place === undefined;
    if (place === undefined) return;
    frame.style.left = `${place.x}px`;
    frame.style.top = `${place.y}px`;
    frame.style.width = `${place.width}px`;
    frame.style.height = `${ROW_HEIGHT}px`;
  }

  function describe() {
    const block = view.blocks[view.picked];
    if (block === undefined) {
      tip.textContent = " ";
      return;
    }
    const name = block.tool === "" ? words.kinds[block.kind] : `${words.kinds[block.kind]} ${block.tool}`;
    const parts = [words.cell(whole(block.number + 1), name, whole(block.tokens))];
    if (block.change !== undefined) parts.push(fateOf(block.change, words));
    tip.textContent = parts.join(" · ");
  }

  function pick(index) {
    view.picked = index >= 0 && index < view.blocks.length ? index : -1;
    moveFrame();
    describe();
  }

  function at({ offsetX, offsetY }) {
    const isIn = ({ x, y, width }) =>
      offsetX >= x && offsetX < x + width + GAP && offsetY >= y && offsetY < y + ROW_HEIGHT + GAP;
    return view.drawn.findIndex(isIn);
  }

  const open = () => view.blocks[view.picked] && onOpen(view.blocks[view.picked].number);
  canvas.addEventListener("mousemove", (event) => pick(at(event)));
  canvas.addEventListener("click", (event) => {
    pick(at(event));
    open();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (step === undefined) open();
    else pick(Math.max(0, Math.min(view.blocks.length - 1, view.picked + step)));
  });
  const observer = new ResizeObserver(() => layOut(holder.clientWidth));
  observer.observe(holder);
  return {
    holder,
    show,
    redraw: draw,
    setWidth: (width) => layOut(width ?? holder.clientWidth),
    focus: () => canvas.focus(),
    destroy: () => observer.disconnect(),
  };
}

/** The messages a call had before it, in the provider's tokens, each with the share of it that was sent. */
function blocksOf(data, call) {
  const { role, tool, tokens } = data.messages;
  const there = [];
  for (const [number, { state, change }] of statesAt(data, call).entries()) {
    if (state !== "later" && state !== "replaced") there.push({ number, change });
  }
  const counted = there.reduce((sum, { number }) => sum + tokens[number], 0);
  const scale = counted > 0 ? data.calls.before[call - 1] / counted : 0;
  return there.map(({ number, change }) => {
    const size = tokens[number] * scale;
    return {
      number,
      kind: kindOf(role[number]),
      tool: tool[number],
      tokens: size,
      change,
      share: change === undefined ? 1 : shareSent(change, size),
    };
  });
}

function shareSent([, action, , , tokensSaved], size) {
  if (action === "drop") return 0;
  return size > 0 ? Math.max(0, Math.min(1, 1 - tokensSaved / size)) : 1;
}

/** The places of the blocks, in rows from left to right. */
function placesOf(blocks, width) {
  const tokens = blocks.reduce((sum, block) => sum + block.tokens, 0);
  const room = MOST_ROWS * width - blocks.length * (GAP + LEAST_WIDTH);
  const perToken = Math.max(0, Math.min(0.02, room / Math.max(1, tokens)));
  const placed = [];
  let [x, y] = [0, 0];
  for (const block of blocks) {
    const wide = Math.min(width, LEAST_WIDTH + block.tokens * perToken);
    if (x > 0 && x + wide > width) [x, y] = [0, y + ROW_HEIGHT + GAP];
    placed.push({ block, x, y, width: wide });
    x += wide + GAP;
  }
  return { placed, rows: placed.length === 0 ? 0 : y / (ROW_HEIGHT + GAP) + 1 };
}

/** Thin strokes instead of a fill. */
function hatch(context, { x, y, width }, stroke) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, ROW_HEIGHT);
  context.clip();
  context.globalAlpha = 0.55;
  context.strokeStyle = stroke;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - ROW_HEIGHT; at < x + width; at += 5) {
    context.moveTo(at, y + ROW_HEIGHT);
    context.lineTo(at + ROW_HEIGHT, y);
  }
  context.stroke();
  context.strokeRect(x + 0.5, y + 0.5, width - 1, ROW_HEIGHT - 1);
  context.restore();
}

/** Kinds with the tokens of them that were sent, and what was taken out. */
function legendOf(blocks, words) {
  const sent = new Map();
  let taken = 0;
  for (const { kind, tokens, share } of blocks) {
    sent.set(kind, (sent.get(kind) ?? 0) + tokens * share);
    taken += tokens * (1 - share);
  }
  const items = Object.entries(KIND_COLORS)
    .filter(([kind]) => sent.has(kind))
    .map(([kind, name]) => legendItem(name, `${words.kinds[kind]} ${whole(sent.get(kind))}`));
  if (taken >= 1)
    items.push(el("span", { class: "taken" }, el("i", {}), ` ${words.takenOut} ${whole(taken)}`));
  return items;
}
