// A host's own handle of better-sqlite3 or node:sqlite: statements, savepoints, and errors with a code. Sets no PRAGMA and
// never closes the handle.
"use strict";

const { show } = require("../options.js");
const { DatabaseError } = require("./database_errors.js");

/** SQLite's primary result codes (sqlite.org/rescode.html). */
const KINDS = new Map([
  [5, "BUSY"],
  [6, "BUSY"],
  [8, "READ_ONLY"],
  [10, "DISK"],
  [11, "CORRUPT"],
  [13, "FULL"],
  [14, "CANNOT_OPEN"],
  [19, "FOREIGN"],
  [26, "CORRUPT"],
]);
/** Their names in the codes of better-sqlite3; node:sqlite gives the number. */
const NAMES = {
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  CONSTRAINT: 19,
  NOTADB: 26,
};
/** Words of errors that have no result code of their own. */
const WORDS = [
  [/(?:connection|database) is not open|has been finalized/, "CLOSED"],
  [/busy executing/, "BUSY"],
  [/no such table/, "NO_TABLE"],
  [/no such column|has no column|no column named|ON CONFLICT|is not a table|cannot modify/, "FOREIGN"],
];
const ANSWERS = /^\s*SELECT|RETURNING/;

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
    const message = `${option} is ${show(handle)}; it must be an open handle of better-sqlite3 or node:sqlite`;
    throw Object.assign(new TypeError(message), { code: "ERR_DATABASE_HANDLE" });
  }

  /** The rows of a statement. */
  run(sql, values = []) {
    try {
      const statement = this.#statement(sql);
      if (ANSWERS.test(sql)) return statement.all(...values);
      statement.run(...values);
      return [];
    } catch (error) {
      throw coded(error);
    }
  }

  /** Throws where the database does not take a statement: its tables have other columns or keys. */
  check(sql) {
    try {
      this.#statement(sql);
    } catch (error) {
      throw coded(error);
    }
  }

  /** `work()` in a savepoint: whole or not at all, inside a transaction of the host's or as one of its own. */
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
        // SQLite has rolled back by itself, or the handle is closed.
      }
      throw error;
    }
  }

  #statement(sql) {
    let statement = this.#statements.get(sql);
    if (statement !== undefined) return statement;
    statement = this.#handle.prepare(sql);
    // A host may have set other defaults for its own statements.
    statement.safeIntegers?.(false);
    statement.setReadBigInts?.(false);
    statement.setReturnArrays?.(false);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** The error as a host sees it; one that is not the database's comes back as it is. */
function coded(error) {
  const text = String(error?.message);
  const name = /^SQLITE_([A-Z]+)/.exec(error?.code)?.[1];
  const [, said] = WORDS.find(([words]) => words.test(text)) ?? [];
  if (said === undefined && name === undefined && error?.errcode === undefined) return error;
  return new DatabaseError(said ?? KINDS.get(NAMES[name] ?? error.errcode & 0xff) ?? "", text, error);
}

module.exports = { SqliteHandle };
