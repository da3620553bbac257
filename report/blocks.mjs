// The messages of one call as blocks on a canvas: as wide as they are long, coloured by kind, hatched where something was
// removed. A line below says what was done to the picked one, and why. On a live page a click or Enter asks for its text.

import { color, el, whole } from "./dom.mjs";
import { fateOf, inWords } from "./tables.mjs";

const KIND_COLORS = {
  system: "green",
  user: "sky",
  assistant: "purple",
  toolResult: "orange",
  summary: "yellow",
  other: "kept",
};
const SUMMARIES = ["compactionSummary", "branchSummary"];
/** What each arrow key adds to the picked one. */
const STEPS = { ArrowLeft: -1, ArrowRight: 1 };
/** CSS pixels. */
const ROW_HEIGHT = 30;
const GAP = 2;
const LEAST_WIDTH = 3;
const MOST_ROWS = 12;

/** The kind that a role is drawn as. */
function kindOf(role) {
  if (SUMMARIES.includes(role)) return "summary";
  return Object.hasOwn(KIND_COLORS, role) ? role : "other";
}

/** The canvas with a frame around the picked block, the line and the legend. */
export class BlockMap {
  #words;
  #onOpen;
  #blocks = [];
  #placed = [];
  #picked = -1;
  #canvas;
  #frame = el("div", { class: "frame", hidden: true });
  #tip = el("p", { class: "tip", "aria-live": "polite" }, " ");
  #legend = el("p", { class: "legend" });
  #observer = new ResizeObserver(() => this.setWidth());

  /** `onOpen(number)`, if there is one, gets the message to read. */
  constructor(words, onOpen) {
    this.#words = words;
    this.#onOpen = onOpen;
    this.#canvas = el("canvas", {
      tabindex: "0",
      role: "img",
      "aria-label": words.blocksTitle,
      onmousemove: (event) => this.#pick(this.#at(event)),
      onclick: (event) => {
        this.#pick(this.#at(event));
        this.#open();
      },
      onkeydown: (event) => this.#press(event),
    });
    const cells = el("div", { class: "cells" }, this.#canvas, this.#frame);
    this.holder = el("div", { class: "map" }, cells, this.#tip, this.#legend);
    this.#observer.observe(this.holder);
  }

  /** Shows the messages of a call. Keeps the picked block as long as its message is there. */
  show(record, call) {
    const number = this.#blocks[this.#picked]?.number;
    this.#blocks = blocksOf(record, call);
    this.#legend.replaceChildren(...legendOf(this.#blocks, this.#words));
    this.#picked = this.#blocks.findIndex((block) => block.number === number);
    this.setWidth();
  }

  /** Sizes the canvas, with as many dots as the screen has in a CSS pixel. */
  setWidth(width = this.holder.clientWidth) {
    if (width === 0) return;
    this.#placed = placesOf(this.#blocks, width);
    const size = { width, height: (this.#placed.at(-1)?.y ?? 0) + ROW_HEIGHT + GAP };
    for (const [side, pixels] of Object.entries(size)) {
      this.#canvas.style[side] = `${pixels}px`;
      this.#canvas[side] = Math.round(pixels * dotsPerPixel());
    }
    this.redraw();
    this.#pick(this.#picked);
  }

  redraw() {
    const context = this.#canvas.getContext("2d");
    const colors = Object.fromEntries(Object.entries(KIND_COLORS).map(([kind, name]) => [kind, color(name)]));
    context.setTransform(dotsPerPixel(), 0, 0, dotsPerPixel(), 0, 0);
    context.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    for (const { block, x, y, width } of this.#placed) {
      const kept = width * block.share;
      context.fillStyle = colors[block.kind];
      context.fillRect(x, y, kept, ROW_HEIGHT);
      if (kept < width) hatch(context, { x: x + kept, y, width: width - kept }, colors[block.kind]);
    }
  }

  focus() {
    this.#canvas.focus();
  }

  destroy() {
    this.#observer.disconnect();
  }

  /** The frame is an element of its own: moving it redraws nothing. */
  #pick(index) {
    this.#picked = index;
    const place = this.#placed[index];
    this.#frame.hidden = place === undefined;
    this.#tip.textContent = place === undefined ? " " : describe(place.block, this.#words);
    if (place === undefined) return;
    const sides = { left: place.x, top: place.y, width: place.width, height: ROW_HEIGHT };
    for (const [side, pixels] of Object.entries(sides)) this.#frame.style[side] = `${pixels}px`;
  }

  /** The index of the block under the mouse; -1 beside all. */
  #at({ offsetX, offsetY }) {
    const isIn = (offset, from, length) => offset >= from && offset < from + length + GAP;
    return this.#placed.findIndex(
      ({ x, y, width }) => isIn(offsetX, x, width) && isIn(offsetY, y, ROW_HEIGHT),
    );
  }

  #press(event) {
    const step = STEPS[event.key];
    if (step === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (step === undefined) this.#open();
    else this.#pick(Math.max(0, Math.min(this.#blocks.length - 1, this.#picked + step)));
  }

  #open() {
    const block = this.#blocks[this.#picked];
    if (block !== undefined) this.#onOpen?.(block.number);
  }
}

const dotsPerPixel = () => window.devicePixelRatio || 1;

function describe({ tool, kind, number, tokens, scale, change, schedule }, words) {
  const name = tool === "" ? words.kinds[kind] : `${words.kinds[kind]} ${tool}`;
  const said = words.cell({ number: number + 1, what: name, tokens });
  if (change === undefined) return said;
  return [said, fateOf(change, scale, words), words.schedule({ reason: inWords(schedule, words) })].join(
    " · ",
  );
}

/** The messages a call had before it, in the provider's tokens, each with the share of it that was sent. */
export function blocksOf({ messages: { role, tool, tokens, gone }, calls, stretches, changes }, call) {
  const { at, stretch, tokensBefore, scale } = calls[call - 1];
  const { opening, from } = stretches[stretch];
  const known = [...opening, [from, at]].flatMap(([first, end]) => range(first, end));
  // What a stretch opens with was there again.
  const numbers = known.filter((number) => at <= (gone[number] ?? at) || gone[number] <= from);
  const isNow = (change) => change.from <= call && call <= change.to;
  const edits = new Map(changes.filter(isNow).map((change) => [change.message, change]));
  const counted = numbers.reduce((sum, number) => sum + tokens[number], 0);
  const perToken = counted > 0 ? tokensBefore / counted : 0;
  return numbers.map((number) => {
    const change = edits.get(number);
    return {
      number,
      kind: kindOf(role[number]),
      tool: tool[number],
      tokens: tokens[number] * perToken,
      scale,
      change,
      schedule: calls[(change?.from ?? call) - 1].reason,
      share: change === undefined ? 1 : shareSent(change, tokens[number]),
    };
  });
}

const range = (from, to) => Array.from({ length: to - from }, (_, i) => from + i);

function shareSent({ action, saved }, tokens) {
  if (action === "drop") return 0;
  return tokens > 0 ? Math.max(0, Math.min(1, 1 - saved / tokens)) : 1;
}

/** The places of the blocks, `{ block, x, y, width }`, in rows from left to right. */
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
  return placed;
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

/** Kinds with the tokens of them that were sent, and the tokens that were removed. */
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

/** A patch of colour and what it stands for. */
function legendItem(name, text) {
  return el("span", {}, el("i", { style: `background: var(--${name})` }), ` ${text}`);
}
