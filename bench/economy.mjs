// What policies cost and what they keep, and where our own settings stand between them:
// `npm run bench:economy [-- SESSION…]`. Prints the table, writes bench/results/economy.json and economy.svg.
// With `--public` the sessions are public recordings at pinned commits, and the files are economy-public.json and .svg.

import { mkdir, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { PRICES } from "../lib/cli/economy/caches.mjs";
import { compare, compareTable } from "../lib/cli/economy/compare.mjs";
import { ours } from "../lib/cli/economy/policies.mjs";
import { loadSession } from "../lib/cli/session.mjs";
import { scatterPlot } from "./plot.mjs";
import { publicRecordings } from "./public.mjs";

const CONTEXT_WINDOW = 200_000;
const RESULTS = new URL("results/", import.meta.url);
const EXAMPLE = fileURLToPath(new URL("../examples/session.jsonl", import.meta.url));

/** Our settings: the schedule that recomputes, with more or less kept, and the sticky one between its waters. */
const SWEEP = [
  ...[12, 6, 3, 1].map((keepRecentToolResults) => ({ schedule: "everyCall", keepRecentToolResults })),
  ...[
    [0.75, 0.6],
    [0.6, 0.45],
    [0.5, 0.35],
    [0.4, 0.3],
    [0.3, 0.2],
    [0.2, 0.12],
  ].map(([highWater, lowWater]) => ({ schedule: "sticky", highWater, lowWater })),
];

const nameOf = (settings) => Object.values(settings).join(" ");

const given = process.argv.slice(2);
const isPublic = given[0] === "--public";
const named = given.length > 0 ? given : [EXAMPLE];
const files = isPublic ? await publicRecordings() : named;
const name = isPublic ? "economy-public" : "economy";
const sessions = [];
for (const file of files) sessions.push({ name: basename(file), messages: await loadSession(file) });
const setting = { contextWindow: CONTEXT_WINDOW, prices: PRICES };

const rows = await compare(sessions, setting);
const sweep = await compare(sessions, {
  ...setting,
  policies: Object.fromEntries(SWEEP.map((settings) => [nameOf(settings), ours(settings)])),
});
console.log(compareTable(rows));
console.log("\nOur settings\n");
console.log(compareTable(sweep));

const whole = sessions.length > 1 ? "all" : sessions[0].name;
const points = (of, kind) =>
  of
    .filter(({ session }) => session === whole)
    .map(({ policy, dollarsWithRereads, recall }) => ({
      label: policy,
      x: dollarsWithRereads,
      y: 100 * recall,
      kind,
    }));
const plot = scatterPlot({
  title: `Dollars and recall, ${sessions.map(({ name }) => name).join(", ")}`,
  xLabel: "dollars, with what reading again after blind edits would cost",
  yLabel: "recall, %",
  rings: "ours, other settings",
  points: [...points(rows, "policy"), ...points(sweep, "setting")],
});
await mkdir(RESULTS, { recursive: true });
await writeFile(
  new URL(`${name}.json`, RESULTS),
  `${JSON.stringify({ ...setting, rows, sweep }, null, 1)}\n`,
);
await writeFile(new URL(`${name}.svg`, RESULTS), plot);
