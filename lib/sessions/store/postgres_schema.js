// Makes tables in Postgres in one transaction, under a lock that all who open the database take.
"use strict";

/** Key of the advisory lock: "strata" in ASCII. */
const LOCK = 0x737472617461;
/** ms that making a table may take, and waiting for another who makes it. */
const MAKING_MS = 3_600_000;
/**
 * Looks into the catalogue's own table: a name alone would be looked up in what this connection remembers of it, and that
 * may be older than the wait for the lock.
 */
const IS_THERE = "SELECT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass($1)) AS exists";

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

module.exports = { makeTable };
