// The two line charts: tokens per call and dollars per call, on uPlot. Arrow keys move the cursor as the mouse does.

import uPlot from "uplot";
import { color, dollars, el, whole } from "./dom.mjs";

const HEIGHT = 300;
/** Strokes of the policies, apart in hue and lightness, also for the colour-blind (after Okabe and Ito). */
const STROKES = ["blue", "orange", "green", "purple", "yellow", "sky", "red"];
/** When the strokes begin again, their lines are broken. */
const DASHES = [undefined, [7, 4], [2, 3]];

export function tokensChart(data, words) {
  const { calls, contextWindow, thresholdTokens } = data;
  const flat = (value) => calls.before.map(() => value);
  const numbers = calls.before.map((_, i) => i + 1);
  return chart({
    label: words.tokensTitle,
    data: [numbers, calls.before, calls.after, flat(contextWindow), flat(thresholdTokens)],
    series: [
      line(words.raw, "orange", whole),
      line(words.sent, "blue", whole),
      { ...line(words.window, "red", whole), dash: [8, 4] },
      { ...line(words.threshold, "green", whole), dash: [3, 3] },
    ],
    words,
    format: whole,
  });
}

/** `isTotal` adds the calls up; `model` is the cache model. */
export function dollarsChart({ costs }, words, { isTotal, model }) {
  const columns = costs.policies.map(({ series }) => (isTotal ? runningSums(series[model]) : series[model]));
  return chart({
    label: words.dollarsTitle,
    data: [costs.calls, ...columns],
    series: costs.policies.map(({ name }, i) => ({
      ...line(name, STROKES[i % STROKES.length], dollars),
      dash: DASHES[Math.floor(i / STROKES.length) % DASHES.length],
    })),
    words,
    format: dollars,
  });
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

function chart({ label, data, series, words, format }) {
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
      axes: [axis, { ...axis, size: 76, values: (_, ticks) => ticks.map(format) }],
      legend: {
        markers: { dash: ({ series: lines }, i) => (lines[i].dash?.length > 0 ? "dashed" : "solid") },
      },
      series: [{ label: words.call, value: (_, value) => (value == null ? "–" : whole(value)) }, ...series],
    },
    data,
    holder,
  );
  holder.addEventListener("keydown", (event) => moveCursor(plot, event));
  const fit = () => {
    if (holder.clientWidth > 0) plot.setSize({ width: holder.clientWidth, height: HEIGHT });
  };
  const observer = new ResizeObserver(fit);
  observer.observe(holder);
  const destroy = () => {
    observer.disconnect();
    plot.destroy();
  };
  return { holder, redraw: () => plot.redraw(), destroy };
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
