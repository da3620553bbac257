// A canvas of messages: the mouse and the arrow keys pick one, a frame stands around it, and a line below says what it is.

import { el } from "./dom.mjs";

/** What each arrow key adds to the picked one. */
const STEPS = { ArrowLeft: -1, ArrowRight: 1 };

/**
 * The canvas with its frame, line and legend. `drawing` has the messages: `layOut(width)` places them and returns the height,
 * `draw(context)` draws them, `placeOf(index)` is `{ x, y, width, height }`, `at(x, y)` the index there, `count()` the number of
 * messages, `describe(index)` the line, and `open(index)` answers a click and Enter.
 */
export function messageCanvas(label, drawing) {
  let picked = -1;
  const canvas = el("canvas", { tabindex: "0", role: "img", "aria-label": label });
  const frame = el("div", { class: "frame", hidden: true });
  const tip = el("p", { class: "tip", "aria-live": "polite" }, " ");
  const legend = el("p", { class: "legend" });
  const holder = el("div", { class: "map" }, el("div", { class: "cells" }, canvas, frame), tip, legend);
  const context = canvas.getContext("2d");

  function layOut(width) {
    if (width === 0) return;
    fitCanvas(canvas, width, drawing.layOut(width));
    redraw();
    pick(picked);
  }

  function redraw() {
    const scale = window.devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, canvas.width, canvas.height);
    drawing.draw(context);
  }

  /** The frame is an element of its own: moving it redraws nothing. */
  function pick(index) {
    picked = index >= 0 && index < drawing.count() ? index : -1;
    const place = drawing.placeOf(picked);
    frame.hidden = picked < 0 || place === undefined;
    tip.textContent = picked < 0 ? " " : drawing.describe(picked);
    if (frame.hidden) return;
    const sides = { left: place.x, top: place.y, width: place.width, height: place.height };
    for (const [side, pixels] of Object.entries(sides)) frame.style[side] = `${pixels}px`;
  }

  function open() {
    if (picked >= 0) drawing.open(picked);
  }

  canvas.addEventListener("mousemove", ({ offsetX, offsetY }) => pick(drawing.at(offsetX, offsetY)));
  canvas.addEventListener("click", ({ offsetX, offsetY }) => {
    pick(drawing.at(offsetX, offsetY));
    open();
  });
  canvas.addEventListener("keydown", (event) => {
    const step = STEPS[event.key];
    if (step === undefined && event.key !== "Enter") return;
    event.preventDefault();
    if (step === undefined) open();
    else pick(Math.max(0, Math.min(drawing.count() - 1, picked + step)));
  });
  const observer = new ResizeObserver(() => layOut(holder.clientWidth));
  observer.observe(holder);
  return {
    holder,
    legend,
    redraw,
    pick,
    picked: () => picked,
    setWidth: (width) => layOut(width ?? holder.clientWidth),
    focus: () => canvas.focus(),
    destroy: () => observer.disconnect(),
  };
}

/** Sizes a canvas in CSS pixels, with as many dots as the screen has there. */
function fitCanvas(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
}
