// Databases of sessions: the host's SQLite handle and the host's Postgres pool. Both have the methods of a store; the first returns
// values, the second promises. A write is atomic.
"use strict";

const { SqliteHandle } = require("./sqlite.js");
const { SqlStore, checkTables, makeTables } = require("./store.js");

/** Key of the advisory lock for creating tables: "strata" in ASCII. */
const LOCK = 0x737472617461;

const ignore = () => {};
const isTableMissing = ({ code }) => code === "ERR_DATABASE_NO_TABLE";

const itself = (step) => step;

/** Runs a generator to the end at once. */
function finishNow(steps, answer = itself) {
  let step = steps.next();
  while (!step.done) step = steps.next(answer(step.value));
  return step.value;
}

/** Runs a generator to the end and awaits each answer. */
async function finishLater(steps, answer = itself) {
  let step = steps.next();
  while (!step.done) step = steps.next(await answer(step.value));
  return step.value;
}

/** The methods of a store that read or write. */
const METHODS = { find: "read", list: "read", add: "write", change: "write", clear: "write" };

/** Has the methods of a store. A subclass has `read(ask, key)` and `write(ask, key)`; `ask(store)` calls a method of a SQL store. */
class Database {}

for (const [name, way] of Object.entries(METHODS))
  Database.prototype[name] = function (key, ...given) {
    // Clearing is not repeatable: after a broken connection a second one would delete newer messages, too.
    return this[way]((store) => store[name](key, ...given), key, name !== "clear");
  };

class SqliteDatabase extends Database {
  #handle;
  #store;

  constructor(handle, lost) {
    super();
    this.#handle = new SqliteHandle("ContextManager: option database", handle);
    this.#store = new SqlStore(lost);
    this.#withTables(() => this.#finish(checkTables()));
  }

  read(ask) {
    return this.#withTables(() => this.#finish(ask(this.#store)));
  }

  write(ask) {
    return this.#withTables(() => this.#handle.atomically(() => this.#finish(ask(this.#store))));
  }

  #finish(steps) {
    return finishNow(steps, ([sql, values]) => this.#handle.run(sql, values));
  }

  /** Creates missing tables: a host may have rolled back the transaction that created them. */
  #withTables(work) {
    try {
      return work();
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      this.#handle.atomically(() => this.#finish(makeTables()));
      return work();
    }
  }
}

class PostgresDatabase extends Database {
  #pool;
  #store;
  #ready;
  /** The newest write of each session. Writes to a session run one after the other, and reads wait for them. */
  #writes = new Map();

  constructor(pool, lost) {
    super();
    this.#pool = pool;
    this.#store = new SqlStore(lost);
  }

  async read(ask, key) {
    await this.#isReady(key);
    return this.#pool.read(this.#steps(ask));
  }

  write(ask, key, isRepeatable) {
    const work = this.#isReady(key).then(() => this.#pool.transaction(this.#steps(ask), isRepeatable));
    const settled = work.then(ignore, ignore).then(() => {
      if (this.#writes.get(key) === settled) this.#writes.delete(key);
    });
    this.#writes.set(key, settled);
    return work;
  }

  /** Resolves when the tables are there and the writes before are done. */
  async #isReady(key) {
    await this.#writes.get(key);
    this.#ready ??= this.#makeTables().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  #steps(ask) {
    return (query) => finishWith(query, ask(this.#store));
  }

  async #makeTables() {
    try {
      await this.#pool.read((query) => finishWith(query, checkTables(true)));
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      await this.#pool.transaction(async (query) => {
        await query(`SELECT pg_advisory_xact_lock(${LOCK})`);
        await finishWith(query, makeTables());
      });
    }
  }
}

const finishWith = (query, steps) => finishLater(steps, ([sql, values]) => query(sql, values));

module.exports = { PostgresDatabase, SqliteDatabase, finishLater, finishNow };
