// Plots as SVG, readable on a light and on a dark page: dots in a plane, and lines over calls.

const WIDTH = 900;
const HEIGHT = 420;
const MARGIN = { left: 70, right: 270, top: 50, bottom: 56 };
const RIGHT = WIDTH - MARGIN.right;
const BOTTOM = HEIGHT - MARGIN.bottom;
/** Distance between two lines of the legend, and the least between two labels at the ends of lines. */
const LEGEND_LINE = 22;
const LABEL_LINE = 16;
const TICKS = 5;
const COLOURS = ["#888888", "#b07aa1", "#e15759", "#f28e2b", "#76b7b2", "#59a14f", "#4e79a7", "#2f6f9f"];
const STYLE = `text{font:13px system-ui,sans-serif;fill:#57606a}.title{font-size:16px;font-weight:600}
.grid{stroke:#8c959f;stroke-opacity:.35}.policy{fill:#0072b2}.setting{fill:none;stroke:#d55e00;stroke-width:2}
.number{fill:#fff;font-size:11px;text-anchor:middle}polyline{fill:none;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#b1bac4}.policy{fill:#1f7fb8}}`;

/**
 * `points` are `{ label, x, y, kind }`; `kind` is "policy" (a numbered dot, named in the legend) or "setting" (a ring). `rings` is
 * the legend's word for the latter.
 */
export function scatterPlot({ title, xLabel, yLabel, points, rings }) {
  const x = scale(
    points.map((point) => point.x),
    [MARGIN.left, RIGHT],
  );
  const y = scale(
    points.map((point) => point.y),
    [BOTTOM, MARGIN.top],
  );
  const marks = points.map((point, i) => mark(point, i + 1, x.at(point.x), y.at(point.y)));
  return plot({ title, xLabel, yLabel, x, y }, [...marks, ...legend(points, rings)]);
}

/** `lines` are `{ label, values }`, a value per call. Each has its label at its end. */
export function linePlot({ title, xLabel, yLabel, lines }) {
  const calls = Math.max(...lines.map(({ values }) => values.length));
  const x = scale([1, calls], [MARGIN.left, RIGHT]);
  const y = scale([0, ...lines.flatMap(({ values }) => values)], [BOTTOM, MARGIN.top]);
  let above = Number.NEGATIVE_INFINITY;
  const drawn = lines
    .map(({ label, values }, i) => ({
      ...{ label, values, colour: COLOURS[i % COLOURS.length] },
      last: values.at(-1) ?? 0,
    }))
    .toSorted((a, b) => b.last - a.last)
    .flatMap(({ label, values, colour, last }) => {
      const places = values.map((value, call) => `${round(x.at(call + 1))},${round(y.at(value))}`);
      above = Math.max(above + LABEL_LINE, y.at(last));
      return [
        `<polyline points="${places.join(" ")}" stroke="${colour}"/>`,
        text(x.at(values.length) + 8, above + 4, label, `style="fill:${colour}"`),
      ];
    });
  return plot({ title, xLabel, yLabel, x, y }, drawn);
}

/** A frame with ticks and labels around what is drawn. */
function plot({ title, xLabel, yLabel, x, y }, drawn) {
  const yPlace = `text-anchor="middle" transform="translate(18 ${HEIGHT / 2}) rotate(-90)"`;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}">`,
    `<style>${STYLE}</style>`,
    text(MARGIN.left, 26, title, 'class="title"'),
    ...x.ticks.map((tick) => line(x.at(tick), MARGIN.top, x.at(tick), BOTTOM)),
    ...x.ticks.map((tick) => text(x.at(tick), BOTTOM + 20, tick, 'text-anchor="middle"')),
    ...y.ticks.map((tick) => line(MARGIN.left, y.at(tick), RIGHT, y.at(tick))),
    ...y.ticks.map((tick) => text(MARGIN.left - 8, y.at(tick) + 4, tick, 'text-anchor="end"')),
    text((MARGIN.left + RIGHT) / 2, HEIGHT - 12, xLabel, 'text-anchor="middle"'),
    text(0, 0, yLabel, yPlace),
    ...drawn,
    "</svg>",
  ].join("\n")}\n`;
}

function mark({ label, kind }, number, x, y) {
  const title = `<title>${escaped(label)}</title>`;
  const at = `cx="${round(x)}" cy="${round(y)}"`;
  if (kind === "setting") return `<circle class="setting" ${at} r="5">${title}</circle>`;
  return `<circle class="policy" ${at} r="10">${title}</circle>${text(x, y + 4, number, 'class="number"')}`;
}

function legend(points, rings) {
  const left = RIGHT + 34;
  const policies = points.filter(({ kind }) => kind === "policy");
  const named = policies.length < points.length ? [...policies, { label: rings, kind: "setting" }] : policies;
  return named.flatMap((point, i) => {
    const y = MARGIN.top + 10 + i * LEGEND_LINE;
    return [mark(point, i + 1, left, y), text(left + 18, y + 4, point.label, "")];
  });
}

/** Maps round numbers around `values` to pixels. */
function scale(values, [from, to]) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const step = roundStep((high - low || 1) / TICKS);
  const start = step * Math.floor(low / step);
  const end = step * Math.ceil(high / step + 1e-9);
  const count = Math.round((end - start) / step);
  return {
    ticks: Array.from({ length: count + 1 }, (_, i) => round(start + i * step)),
    at: (value) => from + ((value - start) / (end - start)) * (to - from),
  };
}

function roundStep(step) {
  const power = 10 ** Math.floor(Math.log10(step));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= step);
}

function line(x1, y1, x2, y2) {
  return `<line class="grid" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`;
}

function text(x, y, content, attributes) {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped(String(content))}</text>`;
}

const round = (number) => Number(number.toFixed(2));
const escaped = (content) => content.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
