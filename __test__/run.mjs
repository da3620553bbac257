// Runs the JavaScript tests, `npm run test:js`, each suite on the Node that its users have. The hook and the counting run on the
// Node that npm runs on, 20 or newer. The command line, sessions, the pipeline and pi run on Node 22. Names choose suites:
// `npm run test:js -- cli extension`.

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { nodeBinary } from "./support/nodes.mjs";

/** Suites of what needs Node 22, by the beginning of their names. */
const ON_NODE_22 =
  /^(agent|cli|extension|inspector|openclaw|pi-|pipeline|recording|refusing-server|report|seed|sessions|shown|snippets|strangers|wire)/;
/** Suites over a SQLite handle. They run with better-sqlite3 on the running Node, which it is built for. */
const OVER_SQLITE = /^(pipeline|seed-sessions|sessions-arguments|sessions-database)\./;
/** Suites at once: most of them wait for processes of their own. */
const CONCURRENCY = 3;

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const chosen = process.argv.slice(2);
const suites = readdirSync(FOLDER)
  .filter((name) => name.endsWith(".test.mjs"))
  .filter((name) => chosen.length === 0 || chosen.some((start) => name.startsWith(start)));

const here = suites.filter((name) => OVER_SQLITE.test(name) || !ON_NODE_22.test(name));
const onNode22 = suites.filter((name) => ON_NODE_22.test(name));
const passed = [
  run(process.execPath, here),
  run(nodeBinary("node22"), onNode22, { STRATA_SQLITE: "node:sqlite" }),
];
process.exitCode = passed.every(Boolean) ? 0 : 1;

function run(binary, names, env = {}) {
  if (names.length === 0) return true;
  const args = ["--test", `--test-concurrency=${CONCURRENCY}`, ...names.map((name) => `${FOLDER}${name}`)];
  return spawnSync(binary, args, { stdio: "inherit", env: { ...process.env, ...env } }).status === 0;
}
