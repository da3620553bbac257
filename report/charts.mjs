// The line charts: tokens per call and dollars per call, on uPlot. Arrow keys move the cursor as the mouse does.

import uPlot from "uplot";
import { color, costTicks, dollars, el, whole } from "./dom.mjs";

const HEIGHT = 300;
/** A numbered mark on a chart, in CSS pixels. */
const MARK_RADIUS = 8;

/** `drops` are `{ call, tokens }`, marked on the line of what was sent with their numbers from 1. */
export function tokensChart({ calls }, words, drops) {
  const column = (name) => calls.map((call) => call[name]);
  return chart({
    label: words.tokensTitle,
    data: [
      calls.map((_, i) => i + 1),
      column("tokensBefore"),
      column("tokensAfter"),
      column("contextWindow"),
      column("limit"),
    ],
    series: [
      line(words.raw, "soft", whole),
      line(words.sent, "blue", whole),
      { ...line(words.window, "red", whole), dash: [8, 4] },
      { ...line(words.line, "teal", whole), dash: [3, 3], paths: uPlot.paths.stepped({ align: -1 }) },
    ],
    words,
    format: thousands,
    marks: drops.map(({ call }) => ({ call, value: calls[call - 1].tokensAfter })),
  });
}

/** Dollars of `policies` (`{ name, series, stroke }`); `isTotal` adds the calls up, `model` is the cache model. */
export function dollarsChart(policies, words, { isTotal, model }) {
  const costs = policies.map(({ series }) => (isTotal ? runningSums(series[model]) : series[model]));
  return chart({
    label: words.dollarsTitle,
    data: [costs[0].map((_, i) => i + 1), ...costs],
    series: policies.map(({ name, stroke }) => line(name, stroke, dollars)),
    words,
    format: costTicks,
    marks: [],
  });
}

/** Ticks of tokens: 0, 50 k, 100 k. */
function thousands(ticks) {
  return ticks.map((tick) => (tick === 0 ? "0" : `${(tick / 1000).toLocaleString("en-US")} k`));
}

function line(label, stroke, format) {
  return {
    label,
    stroke: () => color(stroke),
    width: 1.5,
    points: { show: false },
    value: (_, value) => (value == null ? "–" : format(value)),
  };
}

function chart({ label, data, series, words, format, marks }) {
  const holder = el("div", { class: "chart", tabindex: "0", role: "figure", "aria-label": label });
  const axis = {
    stroke: () => color("text"),
    grid: { stroke: () => color("grid"), width: 1 },
    ticks: { show: false },
  };
  const plot = new uPlot(
    {
      width: 600,
      height: HEIGHT,
      scales: { x: { time: false } },
      axes: [
        { ...axis, values: (_, ticks) => ticks.map(whole) },
        { ...axis, size: 64, values: (_, ticks) => format(ticks) },
      ],
      hooks: { draw: [(drawn) => drawMarks(drawn, marks)] },
      legend: {
        markers: { dash: ({ series: lines }, i) => (lines[i].dash?.length > 0 ? "dashed" : "solid") },
      },
      series: [{ label: words.call, value: (_, value) => (value == null ? "–" : whole(value)) }, ...series],
    },
    data,
    holder,
  );
  holder.addEventListener("keydown", (event) => moveCursor(plot, event));
  const setWidth = (width) => {
    if (width > 0 && width !== plot.width) plot.setSize({ width, height: HEIGHT });
  };
  const observer = new ResizeObserver(() => setWidth(holder.clientWidth));
  observer.observe(holder);
  return {
    holder,
    redraw: () => plot.redraw(),
    setWidth: (width) => setWidth(width ?? holder.clientWidth),
    destroy() {
      observer.disconnect();
      plot.destroy();
    },
  };
}

function drawMarks({ ctx, valToPos, bbox }, marks) {
  const scale = window.devicePixelRatio || 1;
  ctx.save();
  ctx.font = `600 ${11 * scale}px system-ui, sans-serif`;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  for (const [i, { call, value }] of marks.entries()) {
    const x = valToPos(call, "x", true);
    const y = Math.min(valToPos(value, "y", true) + 14 * scale, bbox.top + bbox.height - 9 * scale);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.beginPath();
    ctx.arc(x, y, MARK_RADIUS * scale, 0, 2 * Math.PI);
    ctx.fillStyle = color("text");
    ctx.fill();
    ctx.fillStyle = color("back");
    ctx.fillText(String(i + 1), x, y + scale / 2);
  }
  ctx.restore();
}

const STEPS = { ArrowLeft: -1, ArrowRight: 1, PageUp: -100, PageDown: 100, Home: -Infinity, End: Infinity };

function moveCursor(plot, event) {
  const step = STEPS[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const numbers = plot.data[0];
  const index = Math.max(0, Math.min(numbers.length - 1, (plot.cursor.idx ?? -1) + step));
  plot.setCursor({ left: plot.valToPos(numbers[index], "x"), top: 10 });
}

function runningSums(values) {
  let sum = 0;
  return values.map((value) => {
    sum += value;
    return sum;
  });
}
