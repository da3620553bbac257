// Puts the figures of the last runs into the tables of both READMEs: `node bench/readme.mjs`. A row is known by its
// first cell, so the words around it stay the writer's. A test fails when the pages and the results differ.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const RESULTS = new URL("results/", import.meta.url);
const PAGES = ["README.md", "README.zh-CN.md"].map((name) => new URL(`../${name}`, import.meta.url));

const results = (name) => JSON.parse(readFileSync(new URL(name, RESULTS), "utf8"));
const percent = (share) => `${(100 * share).toFixed(1)} %`;
/** Three digits, as nobody needs more of a measurement. */
const short = (number) => (number >= 100 ? String(Math.round(number)) : number.toPrecision(3));

/** Rows by their first cell: megabytes per second of each counter, and what each policy costs and keeps. */
function rows() {
  const { warm, cold } = results("tokens.json");
  const counters = Object.entries(warm.session).map(([name, { median }]) => [
    name,
    ...[median, warm.code[name].median, warm.chinese[name].median, cold.session[name].median].map(short),
    String(Math.round(cold.session[name].loadMs)),
  ]);
  const policies = results("economy.json").rows.map(({ policy, dollars, recall, toolRecall, userText }) => [
    policy,
    ...[dollars.prefix, dollars.breakpoint].map((sum) => sum.toFixed(2)),
    ...[recall, toolRecall, userText].map(percent),
  ]);
  return [...counters, ...policies];
}

/** A page with these figures in it. */
export function withFigures(page) {
  const lines = new Map(rows().map((cells) => [cells[0], `| ${cells.join(" | ")} |`]));
  return page.replace(/^\| ([^|]+?) \|.*$/gm, (line, first) => lines.get(first) ?? line);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  for (const page of PAGES) writeFileSync(page, withFigures(readFileSync(page, "utf8")));
}
