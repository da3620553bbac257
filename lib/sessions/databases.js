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

/** The methods of a store. A subclass has `read(key, ask)` and `write(key, ask)`; `ask(store)` calls a method of a SQL store. */
class Database {
  find(key) {
    return this.read(key, (store) => store.find(key));
  }

  list() {
    return this.read(undefined, (store) => store.list());
  }

  add(key, ...given) {
    return this.write(key, (store) => store.add(key, ...given));
  }

  change(key, ...given) {
    return this.write(key, (store) => store.change(key, ...given));
  }

  clear(key) {
    // Not repeatable: after a broken connection a second one would delete newer messages, too.
    return this.write(key, (store) => store.clear(key), false);
  }
}

class SqliteDatabase extends Database {
  #handle;
  #store;

  constructor(handle, lost) {
    super();
    this.#handle = new SqliteHandle("ContextManager: option database", handle);
    this.#store = new SqlStore(lost);
    this.#withTables(() => this.#finish(checkTables()));
  }

  read(_, ask) {
    return this.#withTables(() => this.#finish(ask(this.#store)));
  }

  write(_, ask) {
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

  async read(key, ask) {
    await this.#isReady(key);
    return this.#pool.read(this.#steps(ask));
  }

  write(key, ask, isRepeatable) {
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
