// A picture of sums that grow from call to call, one line an arm.

const WIDTH = 760;
const HEIGHT = 420;
const MARGIN = { left: 60, right: 150, top: 40, bottom: 40 };
const COLOURS = ["#888888", "#b07aa1", "#e15759", "#f28e2b", "#76b7b2", "#59a14f", "#4e79a7", "#1f3b5c"];

/** An SVG of `lines`, `{ label, values }` each. */
export function linePlot({ title, lines }) {
  const most = Math.max(1, ...lines.flatMap(({ values }) => values));
  const calls = Math.max(2, ...lines.map(({ values }) => values.length));
  const x = (call) => MARGIN.left + (call / (calls - 1)) * (WIDTH - MARGIN.left - MARGIN.right);
  const y = (value) => HEIGHT - MARGIN.bottom - (value / most) * (HEIGHT - MARGIN.top - MARGIN.bottom);
  const text = (at, words, more = "") =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" ${more}>${words}</text>`;
  const ends = spread(lines.map(({ values }) => y(values.at(-1) ?? 0)));
  const drawn = lines.map(({ label, values }, i) => {
    const points = values.map((value, call) => `${x(call).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
    const colour = COLOURS[i % COLOURS.length];
    return `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="2"/>${text([x(values.length - 1) + 6, ends[i] + 4], label, `fill="${colour}"`)}`;
  });
  const grid = [0, 0.5, 1].map(
    (share) =>
      `<line x1="${MARGIN.left}" x2="${WIDTH - MARGIN.right}" y1="${y(share * most)}" y2="${y(share * most)}" stroke="#dddddd"/>${text([8, y(share * most) + 4], `${Math.round((share * most) / 1000)}k`)}`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="100%" height="100%" fill="white"/>`,
    text([MARGIN.left, 22], title, 'font-size="14"'),
    ...grid,
    ...drawn,
    text([MARGIN.left, HEIGHT - 12], `calls, 1 to ${calls}`),
    "</svg>\n",
  ].join("\n");
}

/** Heights of labels, moved apart where they would overlap. */
function spread(heights) {
  const least = 14;
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const moved = heights.slice();
  for (const [n, i] of order.entries()) if (n > 0) moved[i] = Math.max(moved[i], moved[order[n - 1]] + least);
  return moved;
}
