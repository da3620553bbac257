// The tables in Postgres: made and brought up to date by lib/sessions/store/postgres.sql, in one transaction under a lock that
// all who open the database take.
"use strict";

const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const { DatabaseError } = require("../../native/database-error.js");

/** Key of the advisory lock: "strata" in ASCII. */
const LOCK = 0x737472617461;

/** ms a migration may take, and wait for another's: an index over 10⁷ rows takes minutes. */
const MIGRATION_MS = 3_600_000;
/**
 * Looks into the catalogue's own table: a name alone would be looked up in what this connection remembers of it, and that
 * may be older than the wait for the lock.
 */
const IS_THERE = "SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass($1)) AS exists";

let parts;

/** The parts of the SQL file, by name: "migration 1", …, "history", "events". */
function sql() {
  if (parts !== undefined) return parts;
  const file = readFileSync(join(__dirname, "postgres.sql"), "utf8");
  const pieces = file.split(/^-- @(.+)$/m).slice(1);
  parts = new Map();
  for (let i = 0; i < pieces.length; i += 2) parts.set(pieces[i], pieces[i + 1].trim());
  return parts;
}

function migrations() {
  return Array.from(sql().keys()).filter((name) => name.startsWith("migration ")).length;
}

/** Brings the tables of the sessions to the newest version. */
async function migrate(connection) {
  const version = await currentVersion(connection.read.bind(connection));
  if (version === migrations()) return;
  await connection.transaction(
    async (query) => {
      await query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
      // Another process may have been faster.
      let done = await currentVersion(query);
      if (done === 0) await query("CREATE TABLE IF NOT EXISTS strata_schema (version int PRIMARY KEY)");
      for (; done < migrations(); done += 1) {
        await query(sql().get(`migration ${done + 1}`));
        await query("INSERT INTO strata_schema VALUES ($1)", [done + 1]);
      }
    },
    async (_, read) => (await currentVersion(read)) === migrations(),
    MIGRATION_MS,
  );
}

/** 0 where there is nothing yet. */
async function currentVersion(query) {
  const { rows: found } = await query(IS_THERE, ["strata_schema"]);
  if (!found[0].exists) return 0;
  const { rows } = await query("SELECT coalesce(max(version), 0) AS version FROM strata_schema");
  const [{ version }] = rows;
  if (version <= migrations()) return version;
  throw new DatabaseError(
    "ERR_DATABASE_VERSION",
    `the tables are of version ${version}, this release knows them up to ${migrations()}; update pi-strata`,
  );
}

/** Makes the table of a pipeline that is not there, under a name of the host's. */
async function createTable(connection, part, name) {
  const isThere = async (query) => {
    const { rows } = await query(IS_THERE, [name]);
    return rows[0].exists;
  };
  if (await isThere(connection.read.bind(connection))) return;
  await connection.transaction(
    async (query) => {
      await query("SELECT pg_advisory_xact_lock($1)", [LOCK]);
      if (!(await isThere(query))) await query(sql().get(part).replaceAll(`"${part}"`, name));
    },
    (_, read) => isThere(read),
    MIGRATION_MS,
  );
}

module.exports = { createTable, migrate };
