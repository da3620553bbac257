// Measures the pipeline's door: appending to and reading from a history of a million rows.
// `node bench/doors.mjs [ROWS]`; times are medians and 99th percentiles of this run.

import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import Database from "better-sqlite3";
import { SqliteProvider } from "../lib/pipeline/index.js";
import { quantile } from "./shared.mjs";

const ROWS = Number(process.argv[2] ?? 1_000_000);
const CHATS = 1_000;
const BATCH = 1_000;
const READS = 2_000;
const NEWEST = 50;

const ms = (value) => `${value.toFixed(3)} ms`;

/** Wall-clock times of `rounds` runs of `work`, in ms. */
async function timed(rounds, work) {
  const times = [];
  for (let i = 0; i < rounds; i += 1) {
    const start = performance.now();
    await work(i);
    times.push(performance.now() - start);
  }
  return times;
}

function report(name, times) {
  console.log(`${name.padEnd(44)}${ms(quantile(times))} median, ${ms(quantile(times, 0.99))} p99`);
}

async function history() {
  const folder = mkdtempSync(join(tmpdir(), "pi-strata-bench-"));
  const file = join(folder, "history.db");
  const db = new Database(file);
  db.pragma("journal_mode = WAL");
  db.exec("CREATE TABLE history(id INTEGER PRIMARY KEY, chat_id, role text, text text, created_at text)");
  db.exec("CREATE INDEX history_by_chat ON history(chat_id, id)");
  const provider = new SqliteProvider({ db });
  const content = "What a person writes in a chat is about this long, one or two sentences. ".repeat(2);
  const cpu = process.cpuUsage();
  const start = performance.now();
  for (let row = 0; row < ROWS; row += BATCH) {
    const batch = Array.from({ length: BATCH }, (_, i) =>
      provider.append((row + i) % CHATS, { role: i % 2 ? "assistant" : "user", content }),
    );
    await Promise.all(batch);
  }
  const seconds = (performance.now() - start) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const cpuSeconds = ((user + system) / 1e6).toFixed(1);
  const megabytes = (statSync(file).size / 1e6).toFixed(0);
  const rate = `${Math.round(ROWS / seconds)} per second`;
  console.log(`${ROWS} rows appended, ${BATCH} at a time: ${rate}, ${cpuSeconds} s of CPU, ${megabytes} MB`);
  const reads = await timed(READS, (i) => provider.getHistory((i * 7) % CHATS, NEWEST));
  report(`newest ${NEWEST} of ${ROWS} rows`, reads);
  report("one append, awaited", await timed(500, () => provider.append(1, { role: "user", content })));
  db.close();
  rmSync(folder, { recursive: true });
}

await history();
