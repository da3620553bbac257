// Postgres: appends per second from one process and from four, sizes and times at a growing number of rows. The server is
// a real one of its own, with every commit on disk; the client runs on the same machine and takes its share of it.
import { fork } from "node:child_process";
import { once } from "node:events";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { PostgresServer } from "../../__test__/support/postgres.mjs";
import { cpuMsOf } from "./cpu.mjs";
import { megabytes, print, rate } from "./print.mjs";

const WRITER = fileURLToPath(new URL("postgres-writer.mjs", import.meta.url));
const MESSAGES = 40_000;
/** Operations of one transaction, as the manager makes them under load. */
const BATCH = 500;
const PARALLEL = 2;
/** Messages of a session in the filled table. */
const SESSION_MESSAGES = 1_000;
/** Of so many messages one has a rare word. */
const RARE = 10_000;
/** Rows that one statement fills in. */
const FILL = 100_000;
const READS = 200;
const SETTINGS = { fsync: "on", shared_buffers: "1GB", max_wal_size: "8GB", maintenance_work_mem: "1GB" };

/** The same text as `message.mjs` makes, and its words as the store folds them. */
const FILL_ROWS = `
  INSERT INTO strata_message (namespace, session, seq, place, at, is_live, is_summary, id, body, words)
  SELECT '', 1 + n / ${SESSION_MESSAGES}, 1 + n % ${SESSION_MESSAGES}, 1 + n % ${SESSION_MESSAGES}, now(),
    n % ${SESSION_MESSAGES} >= ${SESSION_MESSAGES - 50}, false, n::text,
    '{"role":"user","content":"Message ' || n || ': please look at src/module_' || n % 97 || '.rs, 然后修复第 ' || n ||
      ' 个错误 and run the tests again.","timestamp":"1970-01-01T00:00:00.000Z"}',
    ' message ' || n || ' please look at src module ' || n % 97 || ' rs 然 后 修 复 第 ' || n ||
      ' 个 错 误 and run the tests again' || CASE WHEN n % ${RARE} = ${RARE} - 1 THEN ' xylophone 木 琴' ELSE '' END
  FROM generate_series($1::bigint, $2::bigint) n ORDER BY n`;
const FILL_SESSIONS = `
  INSERT INTO strata_session (namespace, key, key_hash, version, revision, last_seq, fields, digest, compressions,
    tokens_saved, created_at, updated_at)
  SELECT '', '"filled ' || n || '"', sha256(('"filled ' || n || '"')::bytea), 1, 0, ${SESSION_MESSAGES}, '{}', '', 0, 0, now(), now()
  FROM generate_series($1::bigint, $2::bigint) n`;
const NEWEST = `SELECT id, seq, body FROM strata_message WHERE namespace = '' AND session = $1 AND seq > 0 ORDER BY seq DESC LIMIT 50`;
const LIVE = `SELECT id, seq, body FROM strata_message WHERE namespace = '' AND session = $1 AND is_live ORDER BY place, seq`;
const SEARCH = (pattern) =>
  `SELECT id FROM strata_message WHERE namespace = '' AND words LIKE '${pattern}' ORDER BY number DESC LIMIT 20`;

/** `largest` rows at most are filled in; beyond `searchable` without the index of words, whose making takes longest. */
export async function postgres({ largest, searchable }) {
  const server = await PostgresServer.start(SETTINGS);
  try {
    await appends(server, 1);
    await appends(server, 4);
    await sizes(server, largest, searchable);
  } finally {
    await server.remove();
  }
}

const micros = (ms) => Math.round((ms * 1000) / MESSAGES);

async function appends(server, processes) {
  const url = await server.newDatabase();
  const each = MESSAGES / processes;
  const writers = Array.from({ length: processes }, (_, i) =>
    fork(WRITER, [url, `${i}`, `${each}`, `${BATCH}`, `${PARALLEL}`]),
  );
  await Promise.all(writers.map((child) => once(child, "message")));
  const logged = async () =>
    Number((await server.query("SELECT pg_current_wal_lsn() - '0/0' AS n", url))[0].n);
  const before = await logged();
  const cpuBefore = cpuMsOf(server.pid);
  const start = performance.now();
  const done = Promise.all(writers.map((child) => once(child, "message")));
  for (const child of writers) child.send("go");
  const clientMs = (await done).reduce((sum, [cpuMs]) => sum + cpuMs, 0);
  const ms = performance.now() - start;
  const serverMs = cpuMsOf(server.pid) - cpuBefore;
  await Promise.all(writers.map(async (child) => child.exitCode ?? once(child, "exit")));
  const [{ n }] = await server.query("SELECT count(*)::int AS n FROM strata_message", url);
  if (n !== MESSAGES) throw new Error(`${n} of ${MESSAGES} messages are there`);
  const name = `postgres: messages appended from ${processes} process${processes > 1 ? "es" : ""}`;
  const cpu = `${rate(MESSAGES, clientMs + serverMs)} per second of CPU`;
  const shares = `client ${micros(clientMs)}, server ${micros(serverMs)}`;
  print(name, `${rate(MESSAGES, ms)}/s (${cpu}; µs a message: ${shares})`);
  print(`${name}, log written`, `${Math.round(((await logged()) - before) / MESSAGES)} bytes a message`);
}

async function sizes(server, largest, searchable) {
  const url = await server.newDatabase();
  const { PostgresStore } = await import("../../lib/sessions/store/postgres.js");
  const store = new PostgresStore(url);
  await store.open(() => {});
  await store.close();
  const client = new pg.Client(url);
  await client.connect();
  let rows = 0;
  for (const target of [1e4, 1e5, 1e6, 1e7].filter((size) => size <= largest)) {
    if (target > searchable) await client.query("DROP INDEX IF EXISTS strata_message_words");
    const start = performance.now();
    await client.query(FILL_SESSIONS, [rows / SESSION_MESSAGES, target / SESSION_MESSAGES - 1]);
    for (; rows < target; rows += FILL) {
      await client.query(FILL_ROWS, [rows, Math.min(rows + FILL, target) - 1]);
      if (rows + FILL > target) break;
    }
    rows = target;
    await client.query("VACUUM (ANALYZE) strata_message");
    print(
      `postgres: ${target.toLocaleString("en")} rows, filled in`,
      `${((performance.now() - start) / 1000).toFixed(0)} s`,
    );
    await report(client, target, target <= searchable);
  }
  await client.end();
}

async function report(client, rows, isSearchable) {
  const name = `postgres: ${rows.toLocaleString("en")} rows`;
  const { rows: parts } = await client.query(`
    SELECT relname, pg_relation_size(oid)::float8 AS bytes FROM pg_class
    WHERE relname LIKE 'strata_message%' AND relkind IN ('r', 'i') ORDER BY relkind DESC, relname`);
  for (const { relname, bytes } of parts) {
    print(`${name}: ${relname}`, `${megabytes(bytes)}, ${Math.round(bytes / rows)} bytes a message`);
  }
  const sessions = rows / SESSION_MESSAGES;
  print(`${name}: newest 50 of a session, at the server`, await serverMs(client, NEWEST, sessions));
  print(`${name}: the 50 a session keeps, at the server`, await serverMs(client, LIVE, sessions));
  if (!isSearchable) return;
  for (const [what, pattern] of [
    ["a rare word", "% xyloph%"],
    ["a rare Chinese word", "% 木 琴%"],
    ["one number among as many", `% message ${rows - 7}%`],
    ["a word in one of 97", "% module 13%"],
    ["a word in every message", "% 错 误%"],
  ]) {
    print(`${name}: search for ${what}, at the server`, await serverMs(client, SEARCH(pattern)));
  }
}

/** The median time of a statement at the server, the least and the 99th percentile, over sessions taken at random. */
async function serverMs(client, statement, sessions) {
  const times = [];
  for (let i = 0; i < (sessions === undefined ? READS / 10 : READS); i += 1) {
    const values = sessions === undefined ? [] : [1 + Math.floor(Math.random() * sessions)];
    const { rows } = await client.query(`EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ${statement}`, values);
    const [{ "Execution Time": execution, "Planning Time": planning }] = rows[0]["QUERY PLAN"];
    times.push(execution + planning);
  }
  times.sort((a, b) => a - b);
  const shown = [0, 0.5, 0.99].map((share) => times[Math.floor((times.length - 1) * share)].toFixed(2));
  return `${shown[1]} ms (least ${shown[0]}, 99 %: ${shown[2]})`;
}
