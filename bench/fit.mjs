// How likely what was shown is to be needed again, with the constants of forgetting and their spread: `npm run bench:fit`.
// The sessions are public recordings of many agents (bench/fit/manifest.json), fetched once, or the arrays of messages in
// the folder STRATA_RECORDINGS. One side of the repositories is fitted, the other checks. Prints Markdown.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fittedWithSpread, summed } from "./fit/forgetting.mjs";
import { messagesIn } from "./fit/formats.mjs";
import { measure } from "./fit/measure.mjs";
import { KINDS } from "./fit/pieces.mjs";
import { cached } from "./public.mjs";

const SIDES = ["fit", "check"];
/** Fitted from this age in calls on: nothing younger is ever cut. */
const LEAST_AGE = 3;
/** All that the model wrote is one class. */
const byOrigin = (name) => (/result|user/.test(name) ? name : "own");
const whole = (name) => name;
const TABLES = [
  ["Spans of 24 characters (every 12) per 1000 tokens", "spans", byOrigin, 1000],
  ["Uses per name of 8 characters or more", "names", whole, 1],
  ["Quotes in edits per line", "lines", whole, 1],
  ["Quotes per line that was read, from the first edit after that on", "memory", whole, 1],
];

const manifest = JSON.parse(await readFile(new URL("fit/manifest.json", import.meta.url), "utf8"));
const folder = process.env.STRATA_RECORDINGS;
const recordings = folder === undefined ? manifest : await recordingsIn(folder);
const sessions = [];
for (const [i, recording] of recordings.entries()) {
  process.stderr.write(`recording ${i + 1} of ${recordings.length}\r`);
  try {
    const { repository, side } = recording;
    sessions.push({ repository, side, ...measure(await messagesOf(recording)) });
  } catch (error) {
    // Somebody else's repository may be gone one day; the others still tell.
    console.error(`Left out: ${error.message}`);
  }
}
console.error();

const tables = TABLES.map(([title, of, classOf, per]) => {
  const names = [...new Set(sessions.flatMap((session) => [...session[of].keys()].map(classOf)))];
  const rows = names
    .sort(inOrder)
    .map((name) => [name, Object.fromEntries(SIDES.map((side) => [side, fitOf(of, classOf, name, side)]))]);
  return { title, per, rows: rows.filter(([, { fit, check }]) => Math.max(fit.events, check.events) > 0) };
});
console.log([...SIDES.map(sizeOf), ...tables.flatMap((table) => [...printed(table)])].join("\n"));

/** Files `owner+repository+….json` of a folder; a repository that the manifest does not name checks. */
async function recordingsIn(folder) {
  const files = (await readdir(folder)).filter((name) => name.endsWith(".json"));
  return files.map((name) => {
    const repository = name
      .replace(/\.json$/, "")
      .split("+")
      .slice(0, 2)
      .join("/");
    const side = manifest.find((known) => known.repository === repository)?.side ?? "check";
    return { repository, side, file: join(folder, name) };
  });
}

async function messagesOf({ file, repository, commit, path, format }) {
  if (file !== undefined) return JSON.parse(await readFile(file, "utf8"));
  const name = `${repository}/${commit}/${path}`;
  return messagesIn(await cached(name, name.replaceAll("/", "+").slice(-200)), format);
}

/** Constants of a class on one side: what is lost with its newest copy (`worth`), and the share of it in each call (`rate`). */
function fitOf(of, classOf, name, side) {
  const counts = [...new Set(recordings.map(({ repository }) => repository))].flatMap((repository) => {
    const ours = sessions.filter((session) => session.repository === repository && session.side === side);
    const ofClass = ours.flatMap((session) => [...session[of]].filter(([key]) => classOf(key) === name));
    return ours.length > 0 ? summed(ofClass.map(([, count]) => count)) : [];
  });
  const events = summed(counts).needed.reduce((sum, count) => sum + count, 0);
  const [worth, rate] = ["awaited", "needed"].map((of) => fittedWithSpread(counts, of, LEAST_AGE));
  return { events, worth, rate };
}

function inOrder(a, b) {
  return KINDS.indexOf(a) - KINDS.indexOf(b) || (a < b ? -1 : 1);
}

function sizeOf(side) {
  const ours = sessions.filter((session) => session.side === side);
  const repositories = new Set(ours.map(({ repository }) => repository)).size;
  return `${side}: ${ours.length} sessions of ${repositories} repositories, ${ours.reduce((sum, { calls }) => sum + calls, 0)} calls`;
}

function* printed({ title, per, rows }) {
  const shares = ["worth", "rate"].flatMap((value) => SIDES.map((side) => [value, side]));
  const columns = shares.flatMap(([value, side]) => [`${value}, ${side}`, "half-life"]);
  yield `\n### ${title}\n\n| | events, ${SIDES.join(" and ")} | ${columns.join(" | ")} |\n|${"---|".repeat(columns.length + 2)}`;
  for (const [name, sides] of rows) {
    const cells = shares.flatMap(([value, side]) => constants(sides[side][value], per));
    yield `| ${name} | ${SIDES.map((side) => sides[side].events).join(", ")} | ${cells.join(" | ")} |`;
  }
}

function constants({ chance, halfLife, spread }, per) {
  const among = (values, by) => values.map((value) => digits(value * by)).join("–");
  if (chance === 0) return ["0", "–"];
  return [
    `${digits(chance * per)} (${among(spread.chance, per)})`,
    `${digits(halfLife)} (${among(spread.halfLife, 1)})`,
  ];
}

function digits(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(2))) : "–";
}
