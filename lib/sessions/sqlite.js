// Runs statements and savepoints on a host's handle of better-sqlite3 or node:sqlite. Its errors have a code. It sets no PRAGMA
// and never closes the handle.
"use strict";

const { DatabaseError, handleError } = require("./database_errors.js");

/** Parts of the messages of SQLite (sqlite3_errstr) and of its two packages. The first match counts. */
const WORDS = [
  [/(?:connection|database) is not open|has been finalized/, "CLOSED"],
  [/is locked|busy executing/, "BUSY"],
  [/readonly database/, "READ_ONLY"],
  [/image is malformed|is not a database/, "CORRUPT"],
  [/unable to open/, "CANNOT_OPEN"],
  [/is full/, "FULL"],
  [/no such table/, "NO_TABLE"],
  [
    /constraint failed|no such column|has no column|no column named|ON CONFLICT|is not a table|cannot (?:modify|store)/,
    "FOREIGN",
  ],
];

class SqliteHandle {
  #handle;
  #statements = new Map();

  /** Throws a TypeError with a code for a handle of another kind; `option` names it, as in "ContextManager: option database". */
  constructor(option, handle) {
    this.#handle = handle;
    try {
      if (Number(this.run("SELECT 1 AS one")[0]?.one) === 1) return;
    } catch (error) {
      if (error instanceof DatabaseError) throw error;
    }
    throw handleError(option, handle, "an open handle of better-sqlite3 or node:sqlite");
  }

  /** Runs a statement and returns its rows. */
  run(sql, values = []) {
    try {
      const statement = this.#statement(sql);
      // better-sqlite3 refuses to read rows where there are none.
      if (statement.reader !== false) return statement.all(...values);
      statement.run(...values);
      return [];
    } catch (error) {
      throw coded(error);
    }
  }

  /** Runs `work()` in a savepoint, inside the host's transaction if there is one. */
  atomically(work) {
    this.run("SAVEPOINT strata");
    try {
      const result = work();
      this.run("RELEASE strata");
      return result;
    } catch (error) {
      try {
        this.run("ROLLBACK TO strata");
        this.run("RELEASE strata");
      } catch {
        // SQLite rolled back by itself, or the handle is closed.
      }
      throw error;
    }
  }

  #statement(sql) {
    let statement = this.#statements.get(sql);
    if (statement !== undefined) return statement;
    statement = this.#handle.prepare(sql);
    // A host can have other defaults for its own statements.
    statement.safeIntegers?.(false);
    statement.setReadBigInts?.(false);
    statement.setReturnArrays?.(false);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** Turns an error of the database into a `DatabaseError`. Returns any other error as it is. */
function coded(error) {
  const text = String(error?.message);
  const [, kind] = WORDS.find(([words]) => words.test(text)) ?? [];
  const isSqlite = error?.errcode !== undefined || String(error?.code).startsWith("SQLITE_");
  return kind === undefined && !isSqlite ? error : new DatabaseError(kind ?? "", text, error);
}

module.exports = { SqliteHandle };
