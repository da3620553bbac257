// The two figures of the page, as SVG: the intervals against the margin, and the tasks one by one.

import { signed } from "./text.mjs";

const WIDTH = 900;
const NAMES = 210;
const ROW = 30;

/** One line per comparison: the interval of the difference, and the margin. */
export function forestPlot(comparisons, { margin }) {
  const left = Math.min(-margin, ...comparisons.map(({ low }) => low)) * 1.05;
  const right = Math.max(margin / 2, ...comparisons.map(({ high }) => high)) * 1.05;
  const x = (share) => NAMES + ((share - left) / (right - left)) * (WIDTH - NAMES - 20);
  const height = ROW * (comparisons.length + 1.6);
  const bottom = height - ROW * 0.9;
  const rows = comparisons.map(({ arm, baseline, difference, low, high }, i) => {
    const y = ROW * (i + 0.7);
    return `<text x="0" y="${y + 4}">${arm} <tspan class="quiet">against ${baseline}</tspan></text>
<line class="interval" x1="${x(low)}" x2="${x(high)}" y1="${y}" y2="${y}"/><circle class="middle" cx="${x(difference)}" cy="${y}" r="4.5"/>`;
  });
  const line = (share, kind) =>
    `<line class="${kind}" x1="${x(share)}" x2="${x(share)}" y1="4" y2="${bottom}"/>`;
  const label = (share, kind) =>
    `<text class="${kind}" text-anchor="middle" x="${x(share)}" y="${bottom + 18}">${signed(share)}</text>`;
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="Differences of success with their intervals">
${line(0, "rule")}${line(-margin, "margin")}${rows.join("\n")}${label(0, "quiet")}${label(-margin, "margin-text")}</svg>`;
}

const CELL = 22;
const GAP = 4;

/** One block per session, one row per arm, one square per task. */
export function taskGrid({ arms, sessions }, records) {
  const names = [...new Set(records.map(({ task }) => task))];
  const label = 110;
  const block = (arms.length + 1.4) * CELL;
  const squares = [];
  for (let session = 0; session < sessions; session += 1) {
    const top = session * block;
    squares.push(`<text class="quiet" x="0" y="${top + 14}">session ${session + 1}</text>`);
    for (const [row, arm] of arms.entries()) {
      const y = top + (row + 1) * CELL;
      squares.push(`<text x="0" y="${y + 13}">${arm}</text>`);
      for (const record of records.filter((r) => r.session === session && r.arm === arm)) {
        const at = label + names.indexOf(record.task) * CELL;
        const outcome = record.isSolved ? "solved" : "not solved";
        squares.push(
          `<rect class="${record.isSolved ? "solved" : "unsolved"}" x="${at}" y="${y}" width="${CELL - GAP}" height="${CELL - GAP}" rx="3"><title>${record.task}, ${record.kind}: ${outcome}</title></rect>`,
        );
      }
    }
  }
  const width = label + Math.max(1, names.length) * CELL;
  return `<svg viewBox="0 0 ${width} ${sessions * block}" role="img" aria-label="Each task under each arm">${squares.join("\n")}</svg>`;
}
