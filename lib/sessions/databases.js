// Stores sessions in a Map, by the host's SQLite handle or by the host's Postgres pool. Each class has `read(key, logic)` and
// `write(key, logic)`; `logic(store, key)` is a generator over a store. A write is atomic.
"use strict";

const { SqliteHandle } = require("./sqlite.js");
const { finishLater, finishNow } = require("./steps.js");
const { MemoryStore, SqlStore, checkTables, makeTables } = require("./store.js");

/** Key of the advisory lock for creating tables: "strata" in ASCII. */
const LOCK = 0x737472617461;

const ignore = () => {};
const isTableMissing = ({ code }) => code === "ERR_DATABASE_NO_TABLE";

class MemoryDatabase {
  #store = new MemoryStore();

  read(key, logic) {
    return finishNow(logic(this.#store, key));
  }

  write(key, logic) {
    return this.read(key, logic);
  }
}

class SqliteDatabase {
  #handle;
  #run;
  #store;

  constructor(handle, lost) {
    this.#handle = new SqliteHandle("ContextManager: option database", handle);
    this.#run = (sql, values) => this.#handle.run(sql, values);
    this.#store = new SqlStore(this.#run, lost);
    this.#withTables(() => finishNow(checkTables(this.#run)));
  }

  read(key, logic) {
    return this.#withTables(() => finishNow(logic(this.#store, key)));
  }

  write(key, logic) {
    return this.#withTables(() => this.#handle.atomically(() => finishNow(logic(this.#store, key))));
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
  /** The newest write of each session. Writes to a session run one after the other, and reads wait for them. */
  #writes = new Map();

  constructor(pool, lost) {
    this.#pool = pool;
    this.#lost = lost;
  }

  async read(key, logic) {
    await this.#isReady(key);
    return this.#pool.read(this.#steps(key, logic));
  }

  write(key, logic, isRepeatable) {
    const work = this.#isReady(key).then(() => this.#pool.transaction(this.#steps(key, logic), isRepeatable));
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

  #steps(key, logic) {
    return (query) => finishLater(logic(new SqlStore(query, this.#lost), key));
  }

  async #makeTables() {
    try {
      await this.#pool.read((query) => finishLater(checkTables(query, true)));
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      await this.#pool.transaction(async (query) => {
        await query(`SELECT pg_advisory_xact_lock(${LOCK})`);
        await finishLater(makeTables(query));
      });
    }
  }
}

module.exports = { MemoryDatabase, PostgresDatabase, SqliteDatabase };
