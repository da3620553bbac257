// Measures what the hook is worth in live use: recorded sessions played in the closed loop, each against providers of many sizes,
// and how long calls over long lists take. `npm run bench:live -- [--only calls|reach|compacted|lies|speed] SESSION…` prints the
// tables; with `--save` all of them together are written to bench/results/live.json. `calls` prints each call of each session.

import { mkdir, writeFile } from "node:fs/promises";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { loadSession } from "../lib/cli/session.mjs";
import { LIVE_HEADER, liveLine, liveTable, replayLive, summarizeLive } from "./live/calls.mjs";
import { badReportsTable, compactedTable, reachTable } from "./live/reach.mjs";
import { speedTables } from "./live/speed.mjs";

const RESULTS = new URL("results/", import.meta.url);
const EXAMPLE = fileURLToPath(new URL("../examples/session.jsonl", import.meta.url));

const { values, positionals } = parseArgs({
  options: { only: { type: "string" }, save: { type: "boolean" } },
  allowPositionals: true,
});
const isWanted = (part) => values.only === undefined || values.only === part;

const sessions = [];
for (const file of positionals.length > 0 ? positionals : [EXAMPLE]) {
  sessions.push({ name: basename(file), recording: await loadSession(file) });
}
const results = {};
if (values.only === "calls") {
  for (const { name, recording } of sessions) {
    const reports = [];
    console.log(`\n${name}\n\n${LIVE_HEADER}`);
    for await (const report of replayLive(recording)) {
      reports.push(report);
      console.log(liveLine(report));
    }
    console.log(`\n${liveTable(recording, summarizeLive(reports))}`);
  }
}
if (isWanted("reach")) {
  console.log("\nClosed loop, as it grows\n");
  results.reach = await reachTable(sessions);
  console.table(results.reach);
}
if (isWanted("compacted")) {
  console.log("\nClosed loop, compacted by the host as pi does\n");
  results.compacted = await compactedTable(sessions);
  console.table(results.compacted);
}
if (isWanted("lies")) {
  console.log("\nClosed loop, reports that are not so\n");
  results.badReports = await badReportsTable(sessions);
  console.table(results.badReports);
}
if (isWanted("speed")) {
  results.speed = await speedTables();
  for (const [name, rows] of Object.entries(results.speed)) {
    console.log(`\n${name}\n`);
    console.table(rows);
  }
}
if (values.save && values.only === undefined) {
  await mkdir(RESULTS, { recursive: true });
  await writeFile(new URL("live.json", RESULTS), `${JSON.stringify(results, null, 1)}\n`);
}
