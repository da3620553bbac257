// Where sessions are kept, each behind `read(key, logic)` and `write(key, logic)`: a Map, the host's SQLite handle, the host's
// Postgres pool. `logic(store)` is a generator over a store; a write is whole or not at all.
"use strict";

const { DatabaseError } = require("./database_errors.js");
const { PostgresPool } = require("./postgres.js");
const { SqliteHandle } = require("./sqlite.js");
const { finishLater, finishNow } = require("./steps.js");
const { META, MemoryStore, SQL, SqlStore, TABLES, VERSION } = require("./store.js");

/** Key of the advisory lock under which tables are made: "strata" in ASCII. */
const LOCK = 0x737472617461;

const ignore = () => {};

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
  #store;

  constructor(handle, lost) {
    this.#handle = new SqliteHandle("ContextManager: option database", handle);
    this.#store = new SqlStore((sql, values, read = ignore) => read(this.#handle.run(sql, values)), lost);
    this.#withTables(() => this.#checkTables());
  }

  read(_, logic) {
    return this.#withTables(() => finishNow(logic(this.#store)));
  }

  write(_, logic) {
    return this.#withTables(() => this.#handle.atomically(() => finishNow(logic(this.#store))));
  }

  /** Makes the tables where they are missing: a host may have rolled back the transaction that made them. */
  #withTables(work) {
    try {
      return work();
    } catch (error) {
      if (error?.code !== "ERR_DATABASE_NO_TABLE") throw error;
      this.#handle.run(META);
      this.#handle.atomically(() => {
        for (const sql of TABLES) this.#handle.run(sql);
        this.#checkTables();
      });
      return work();
    }
  }

  /** Preparing a statement tells whether the tables have its columns and keys. */
  #checkTables() {
    checkVersion(this.#handle.run(SQL.version));
    for (const sql of Object.values(SQL)) this.#handle.check(sql);
  }
}

class PostgresDatabase {
  #pool;
  #lost;
  #ready;
  /** The newest write of each session that is under way: writes go one after the other, and reads wait for them. */
  #lanes = new Map();

  constructor(pool, retryMs, lost) {
    this.#pool = new PostgresPool(pool, retryMs);
    this.#lost = lost;
  }

  async read(key, logic) {
    await this.#lanes.get(key);
    await this.#tables();
    return this.#pool.read((query) => finishLater(logic(this.#storeOf(query))));
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
    return this.#pool.transaction((query) => finishLater(logic(this.#storeOf(query))), isRepeatable);
  }

  #storeOf(query) {
    return new SqlStore(async (sql, values, read = ignore) => read(await query(sql, values)), this.#lost);
  }

  #tables() {
    this.#ready ??= this.#makeTables().catch((error) => {
      this.#ready = undefined;
      throw error;
    });
    return this.#ready;
  }

  async #makeTables() {
    const check = async (query) => {
      checkVersion(await query(SQL.version));
      await finishLater(probe(this.#storeOf(query)));
    };
    try {
      await this.#pool.read(check);
    } catch (error) {
      if (error?.code !== "ERR_DATABASE_NO_TABLE") throw error;
      await this.#pool.transaction(async (query) => {
        await query(`SELECT pg_advisory_xact_lock(${LOCK})`);
        for (const sql of [META, ...TABLES]) await query(sql);
        await check(query);
      });
    }
  }
}

/** Reads a session that is not there: fails where the tables have other columns. */
function* probe(store) {
  yield store.find("");
  yield store.live("");
}

function checkVersion([row]) {
  if (row === undefined) throw new DatabaseError("NO_TABLE", "strata_meta is empty");
  const version = Number(row.version);
  if (version !== VERSION) throw new DatabaseError("VERSION", `${version}, not ${VERSION}`);
}

module.exports = { MemoryDatabase, PostgresDatabase, SqliteDatabase };
