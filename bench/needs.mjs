// Measures what answers need of what was said before, and how much of it is in view under each policy, offline and without a key:
// `npm run bench:needs [-- SESSION or FOLDER…]`. Without any the sessions are public recordings at pinned commits, and with
// `--save` the table is written to bench/results/needs-public.json.

import { existsSync, statSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { PRICES } from "../__test__/support/live/provider.mjs";
import { uncompacted } from "../__test__/support/recordings.mjs";
import { percent, whole } from "../lib/cli/numbers.mjs";
import { loadSession } from "../lib/cli/session.mjs";
import { progressLine, textTable } from "../lib/cli/terminal.mjs";
import { recordedCompactions } from "./economy/compaction.mjs";
import { POLICIES } from "./economy/compare.mjs";
import { frontierPlot } from "./needs/frontier.mjs";
import { addNeeds, emptyNeeds, needsUnder, Session, sharesOf } from "./needs/measure.mjs";
import { publicRecordings } from "./public.mjs";
import { CONTEXT_WINDOW, save } from "./shared.mjs";

const ALL = { ...POLICIES, "compacted as recorded": recordedCompactions };

const HEADS = ["policy", "tokens", "copied", "edits", "calls"];
const LEGEND = `tokens  mean size of a request, as the simulated provider counts
copied  spans of 24 code units that an answer copies from before, in the request
edits   edits whose old lines, so far as they were shown before, are in the request
calls   earlier tool calls that stand in the request`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "context-window": { type: "string", default: String(CONTEXT_WINDOW) },
    each: { type: "boolean" },
    save: { type: "boolean" },
  },
});
const isPublic = positionals.length === 0;
const contextWindow = Number(values["context-window"]);

const files = isPublic ? await publicRecordings() : (await Promise.all(positionals.map(filesIn))).flat();
const bar = progressLine("replay", files.length * Object.keys(ALL).length);
const rows = [];
const totals = new Map(Object.keys(ALL).map((policy) => [policy, emptyNeeds()]));
for (const file of files) {
  const recording = await loadSession(file);
  const { messages: played, compactions } = uncompacted(recording);
  const messages = Array.from({ length: played.length }, (_, number) => played.message(number));
  const session = new Session(messages);
  for (const [policy, make] of Object.entries(ALL)) {
    const play = make({ contextWindow, prices: PRICES, compactions });
    const needs = await needsUnder(play, session, played, { contextWindow });
    totals.set(policy, addNeeds(totals.get(policy), needs));
    rows.push({ session: basename(file), policy, ...needs, shares: sharesOf(needs) });
    bar.advance();
  }
}
bar.stop();
for (const [policy, needs] of totals)
  rows.push({ session: "all", policy, ...needs, shares: sharesOf(needs) });

for (const name of [...new Set(rows.map(({ session }) => session))]) {
  if (name !== "all" && values.each !== true) continue;
  const own = rows.filter(({ session }) => session === name);
  const [{ calls, spans, edits }] = own;
  console.log(`\n${name}: ${whole(calls)} calls, ${whole(spans)} copied spans, ${whole(edits)} edits\n`);
  console.log(textTable(HEADS, own.map(cells)));
  const over = own.filter((row) => row.over > 0).map((row) => `${row.policy} ${whole(row.over)}`);
  if (over.length > 0) console.log(`\nOver the window, and taken as answered: ${over.join(", ")}`);
}
console.log(`\n${LEGEND}`);
if (isPublic && values.save) {
  const size = contextWindow === CONTEXT_WINDOW ? "" : `-${contextWindow}`;
  save(`needs-public${size}.json`, { contextWindow, rows });
  const bill = new URL("results/economy-public-uncompacted.json", import.meta.url);
  if (size === "" && existsSync(bill)) {
    const economy = JSON.parse(await readFile(bill, "utf8"));
    save("frontier.svg", frontierPlot(economy.rows, rows));
  }
}

function cells({ policy, shares }) {
  const { tokensPerCall, copied, edits, earlierCalls } = shares;
  return [policy, whole(tokensPerCall), ...[copied, edits, earlierCalls].map((share) => percent(share))];
}

async function filesIn(path) {
  if (!statSync(path).isDirectory()) return [path];
  const names = await readdir(path);
  return names.filter((name) => /\.jsonl?$/.test(name)).map((name) => join(path, name));
}
