// A bar chart of the bench's report as SVG: megabytes per second on session text, warm and cold, on a logarithmic scale,
// because the fastest and the slowest lie a factor of hundreds apart.

const WIDTH = 720;
const LABEL = 130;
const BAR = 18;
const GAP = 10;
/** Megabytes per second at the left edge and at the right. */
const SCALE = [0.3, 1000];

function x(mbps) {
  const [least, most] = SCALE.map(Math.log);
  return Math.max(2, ((Math.log(mbps) - least) / (most - least)) * (WIDTH - LABEL - 90));
}

/** The chart of a report, from its first corpus. */
export function chart(report) {
  const [corpus] = Object.keys(report.warm);
  const names = Object.keys(report.warm[corpus]);
  const height = 56 + names.length * (2 * BAR + GAP);
  const bar = (mbps, y, kind) =>
    `<rect class="${kind}" x="${LABEL}" y="${y}" width="${x(mbps).toFixed(1)}" height="${BAR - 2}" rx="2"/>` +
    `<text x="${(LABEL + x(mbps) + 6).toFixed(1)}" y="${y + 12}">${mbps.toPrecision(3)} ${kind}</text>`;
  const rows = names.map((name, index) => {
    const y = 48 + index * (2 * BAR + GAP);
    const bars =
      bar(report.warm[corpus][name].median, y, "warm") +
      bar(report.cold[corpus][name].median, y + BAR, "cold");
    return `<text x="${LABEL - 8}" y="${y + 22}" text-anchor="end">${name}</text>${bars}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="12">
<style>text{fill:#57606a}.warm{fill:#1a7f64}.cold{fill:#86c5b3}</style>
<text x="8" y="20" font-size="14">Counting the tokens of ${corpus} text through Node, MB/s (logarithmic; longer is faster)</text>
<text x="8" y="36">Node ${report.node}, ${report.cpu}</text>
${rows.join("\n")}
</svg>
`;
}
