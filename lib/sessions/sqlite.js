// Runs statements and transactions on a host's handle of better-sqlite3 or node:sqlite. Its errors have a code. It sets no PRAGMA
// and never closes the handle.
"use strict";

const { attempt } = require("../helpers.js");
const { DatabaseError, handleError, kindBy } = require("./database_errors.js");

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
      // node:sqlite can open a closed handle again, but not its statements.
      const isStale = /has been finalized/.test(error?.message) && this.#statements.delete(sql);
      if (isStale) return this.run(sql, values);
      throw coded(error);
    }
  }

  /** Runs `work()` in a transaction; in a savepoint if the host has a transaction open. */
  atomically(work) {
    const isOwn = this.#begins();
    if (!isOwn) this.run("SAVEPOINT strata");
    try {
      const result = work();
      this.run(isOwn ? "COMMIT" : "RELEASE strata");
      return result;
    } catch (error) {
      // SQLite may have rolled back by itself, or the handle is closed.
      attempt(() => {
        this.run(isOwn ? "ROLLBACK" : "ROLLBACK TO strata");
        if (!isOwn) this.run("RELEASE strata");
      });
      throw error;
    }
  }

  /** Begins a transaction. Returns false inside one of the host's. */
  #begins() {
    try {
      this.run("BEGIN");
      return true;
    } catch (error) {
      if (/within a transaction/.test(error.message)) return false;
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
    // SQLite crashes where a kept EXPLAIN of an upsert meets a changed schema.
    if (!sql.startsWith("EXPLAIN")) this.#statements.set(sql, statement);
    return statement;
  }
}

/** Turns an error of the database into a `DatabaseError`. Returns any other error as it is. */
function coded(error) {
  const text = String(error?.message);
  const { code, errcode } = error ?? {};
  const name = /^SQLITE_([A-Z]+)/.exec(code)?.[1];
  // better-sqlite3 has the name of a result code, node:sqlite the number.
  const kind = kindBy("sqliteMessage", text) ?? kindBy("sqlite", name ?? errcode & 0xff);
  const isForeign = kind === undefined && name === undefined && errcode === undefined;
  return isForeign ? error : new DatabaseError(kind, text, error);
}

module.exports = { SqliteHandle };
