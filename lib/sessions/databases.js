// Stores sessions in a Map, by the host's SQLite handle or by the host's Postgres pool. Each class has `read(key, logic)` and
// `write(key, logic)`; `logic(store)` is a generator over a store. A write is atomic.
"use strict";

const { SqliteHandle } = require("./sqlite.js");
const { finishLater, finishNow } = require("./steps.js");
const { MemoryStore, SqlStore, checkTables, makeTables } = require("./store.js");

/** Key of the advisory lock for creating tables: "strata" in ASCII. */
const LOCK = 0x737472617461;

const ignore = () => {};
/** Both run a statement and return `read(rows)`: the first at once, the second as a promise. */
const atOnce =
  (handle) =>
  (sql, values, read = rowsAsTheyAre) =>
    read(handle.run(sql, values));
const later =
  (query) =>
  async (sql, values, read = rowsAsTheyAre) =>
    read(await query(sql, values));
const rowsAsTheyAre = (rows) => rows;
const isTableMissing = ({ code }) => code === "ERR_DATABASE_NO_TABLE";

class MemoryDatabase {
  #store = new MemoryStore();

  read(_, logic) {
    return finishNow(logic(this.#store));
  }

  write(_, logic) {
    return finishNow(logic(this.#store));
  }
}

class SqliteDatabase {
  #handle;
  #run;
  #store;

  constructor(handle, lost) {
    this.#handle = new SqliteHandle("ContextManager: option database", handle);
    this.#run = atOnce(this.#handle);
    this.#store = new SqlStore(this.#run, lost);
    this.#withTables(() => finishNow(checkTables(this.#run)));
  }

  read(_, logic) {
    return this.#withTables(() => finishNow(logic(this.#store)));
  }

  write(_, logic) {
    return this.#withTables(() => this.#handle.atomically(() => finishNow(logic(this.#store))));
  }

  /** Creates missing tables: a host may have rolled back the transaction that created them. */
  #withTables(work) {
    try {
      return work();
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      this.#handle.atomically(() => finishNow(makeTables(this.#run)));
      return work();
    }
  }
}

class PostgresDatabase {
  #pool;
  #lost;
  #ready;
  /** The newest pending write of each session. Writes to a session run one after the other, and reads wait for them. */
  #lanes = new Map();

  constructor(pool, lost) {
    this.#pool = pool;
    this.#lost = lost;
  }

  async read(key, logic) {
    await this.#lanes.get(key);
    await this.#tables();
    return this.#pool.read(this.#steps(logic));
  }

  write(key, logic, isRepeatable) {
    const work = this.#inLane(key, logic, isRepeatable);
    const settled = work.then(ignore, ignore).then(() => {
      if (this.#lanes.get(key) === settled) this.#lanes.delete(key);
    });
    this.#lanes.set(key, settled);
    return work;
  }

  async #inLane(key, logic, isRepeatable) {
    await this.#lanes.get(key);
    await this.#tables();
    return this.#pool.transaction(this.#steps(logic), isRepeatable);
  }

  #steps(logic) {
    return (query) => finishLater(logic(new SqlStore(later(query), this.#lost)));
  }

  #tables() {
    this.#ready ??= this.#makeTables().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #makeTables() {
    try {
      await this.#pool.read((query) => finishLater(checkTables(later(query), true)));
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      await this.#pool.transaction(async (query) => {
        await query(`SELECT pg_advisory_xact_lock(${LOCK})`);
        await finishLater(makeTables(later(query)));
      });
    }
  }
}

module.exports = { MemoryDatabase, PostgresDatabase, SqliteDatabase };
