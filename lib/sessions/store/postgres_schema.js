// The tables in Postgres, made by lib/sessions/store/postgres.sql in one transaction, under a lock that all who open the
// database take.
"use strict";

const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { DatabaseError } = require("../../native/database-error.js");

/** Key of the advisory lock: "strata" in ASCII. */
const LOCK = 0x737472617461;
/** Of the tables of sessions, as `strata_schema` says it. */
const VERSION = 1;
/** ms that making a table may take, and waiting for another who makes it. */
const MAKING_MS = 3_600_000;
/**
 * Looks into the catalogue's own table: a name alone would be looked up in what this connection remembers of it, and that
 * may be older than the wait for the lock.
 */
const IS_THERE = "SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass($1)) AS exists";

/** Makes the tables of sessions where they are not there. */
async function makeTables(connection) {
  const sql = readFileSync(join(__dirname, "postgres.sql"), "utf8");
  await makeTable(connection, "strata_schema", sql, checkVersion);
}

/** Runs a script where the table that it makes is not there; else `check(query)`. */
async function makeTable(connection, name, script, check = async () => {}) {
  const isThere = async (query) => {
    const { rows } = await query(IS_THERE, [name]);
    if (rows[0].exists) await check(query);
    return rows[0].exists;
  };
  if (await isThere(connection.read.bind(connection))) return;
  await connection.transaction(
    async (query) => {
      await query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
      // Another process may have been faster.
      if (!(await isThere(query))) await query(script);
    },
    (_, read) => isThere(read),
    MAKING_MS,
  );
}

async function checkVersion(query) {
  const { rows } = await query("SELECT coalesce(max(version), 0) AS version FROM strata_schema");
  const [{ version }] = rows;
  if (version === VERSION) return;
  throw new DatabaseError(
    "ERR_DATABASE_VERSION",
    `the tables are of version ${version}, this release knows version ${VERSION}; update pi-strata`,
  );
}

module.exports = { makeTable, makeTables };
