// Measures how fast texts are counted through Node, against the others on npm in the same run:
// `npm run bench:tokens [-- --session FILE --rounds N --only CORPUS --encoding NAME]`. Contenders are installed from
// `bench/package.json` and take turns; medians and spreads are printed; with `--save` they are written to
// `bench/results/tokens.json`, a chart beside it. Measures only; that the counts are right is for the tests to prove, but a wrong one is marked here with `!`.

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { cpus } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { EXAMPLE, quantile, save } from "./shared.mjs";
import { chart } from "./tokens/chart.mjs";
import { CONTENDERS, load } from "./tokens/contenders.mjs";
import { corpora } from "./tokens/corpora.mjs";

const HERE = dirname(fileURLToPath(import.meta.url));
const NAMES = Object.keys(CONTENDERS);
/** Least time of one measurement, in ms; a slow contender's single pass takes longer. */
const ROUND_MS = 40;

const { values: options } = parseArgs({
  options: {
    session: { type: "string", default: EXAMPLE },
    rounds: { type: "string", default: "5" },
    only: { type: "string" },
    save: { type: "boolean" },
    encoding: { type: "string" },
  },
});
const rounds = Number(options.rounds);

function summary(figures) {
  return { median: quantile(figures), min: Math.min(...figures), max: Math.max(...figures) };
}

/** Megabytes of UTF-8 per second, warm. */
function speed(count, corpus) {
  const start = performance.now();
  let passes = 0;
  do {
    for (const text of corpus.texts) count(text);
    passes += 1;
  } while (performance.now() - start < ROUND_MS);
  return (corpus.bytes * passes) / 1e3 / (performance.now() - start);
}

function warm(counters, corpus) {
  const totals = NAMES.map((name) => corpus.texts.reduce((sum, text) => sum + counters[name](text), 0));
  const figures = turns(NAMES, (name) => speed(counters[name], corpus));
  // tiktoken is the reference for the count.
  const wanted = totals[NAMES.indexOf("tiktoken")];
  return Object.fromEntries(
    NAMES.map((name, index) => [name, { ...summary(figures[index]), exact: totals[index] === wanted }]),
  );
}

/** Every contender once a round. */
function turns(names, measure) {
  const figures = names.map(() => []);
  for (let round = 0; round < rounds; round += 1) {
    names.forEach((name, index) => {
      figures[index].push(measure(name));
    });
  }
  return figures;
}

/** The first sight of a corpus in a new process, with the time to the first count and the memory it took. */
function cold(corpus, encoding) {
  const figures = Object.fromEntries(NAMES.map((name) => [name, { mbps: [], loadMs: [], rssMb: [] }]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of NAMES) {
      const child = join(HERE, "tokens/cold.mjs");
      const output = execFileSync(process.execPath, [child, name, corpus.name, options.session, encoding], {
        encoding: "utf8",
      });
      for (const [key, figure] of Object.entries(JSON.parse(output))) figures[name][key].push(figure);
    }
  }
  const row = ([name, { mbps, loadMs, rssMb }]) => [
    name,
    { ...summary(mbps), exact: true, loadMs: summary(loadMs).median, rssMb: summary(rssMb).median },
  ];
  return Object.fromEntries(Object.entries(figures).map(row));
}

/** A table of the contenders, of `[row, figures by contender]`. */
function print(title, rows) {
  console.log(`\n${title}`);
  console.table(Object.fromEntries(rows));
}

function speeds(row) {
  const told = ([name, { median, min, max, exact }]) => [
    name,
    `${median.toPrecision(3)} (${min.toPrecision(3)}-${max.toPrecision(3)})${exact ? "" : "!"}`,
  ];
  return Object.fromEntries(Object.entries(row).map(told));
}

/** Every figure of one encoding. */
async function measure(encoding, wanted) {
  const counters = {};
  for (const name of NAMES) counters[name] = await load(name, encoding);
  const report = { warm: {}, cold: {} };
  for (const corpus of wanted) {
    report.warm[corpus.name] = warm(counters, corpus);
    report.cold[corpus.name] = cold(corpus, encoding);
  }
  const speedsOf = (when) => wanted.map(({ name }) => [name, speeds(report[when][name])]);
  print(`${encoding}: count, warm, MB/s: median (least-most)`, speedsOf("warm"));
  print(`${encoding}: count, cold, MB/s: first sight in a new process`, speedsOf("cold"));
  const first = Object.entries(report.cold[wanted[0].name]);
  const loads = ["loadMs", "rssMb"].map((key) => [
    key,
    Object.fromEntries(first.map(([name, of]) => [name, of[key].toFixed(1)])),
  ]);
  print(`${encoding}: load to first count, ms; memory after the first corpus, MB`, loads);
  return report;
}

if (!existsSync(join(HERE, "node_modules"))) {
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: HERE, stdio: "inherit" });
}
const wanted = corpora(options.session).filter(({ name }) => !options.only || name === options.only);
const encodings = options.encoding === undefined ? ["cl100k_base", "o200k_base"] : [options.encoding];
const [first, ...others] = encodings;
const report = { node: process.version, cpu: cpus()[0].model, rounds, ...(await measure(first, wanted)) };
for (const encoding of others) report[encoding] = await measure(encoding, wanted);
if (options.save && !options.only && options.encoding === undefined) {
  save("tokens.json", report);
  save("tokens.svg", chart(report));
}
