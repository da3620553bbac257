// Stores in the host's SQLite and Postgres, with the same methods: SQLite's return values, Postgres's promises. A write is
// atomic.
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

/** Returns the methods of a store. `read(work, key)` and `write(work, key, isRepeatable)` run the statements of `work()`. */
function storeOver(lost, read, write) {
  const store = new SqlStore(lost);
  return {
    find: (key) => read(() => store.find(key), key),
    list: () => read(() => store.list()),
    add: (key, ...given) => write(() => store.add(key, ...given), key),
    change: (key, ...given) => write(() => store.change(key, ...given), key),
    // After a broken connection a second clear would delete newer messages, too.
    clear: (key) => write(() => store.clear(key), key, false),
  };
}

function sqliteStore(option, given, lost) {
  const handle = new SqliteHandle(option, given);
  const read = (work) => finishNow(work(), ([sql, values]) => handle.run(sql, values));
  const write = (work) => handle.atomically(() => read(work));
  const unreadable = [];
  /**
   * Creates missing tables: a host may have rolled back the transaction that created them. Reports unreadable rows after the
   * transaction: a listener can clear their session.
   */
  const withTables = (run) => (work) => {
    try {
      return run(work);
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      write(makeTables);
      return run(work);
    } finally {
      for (const row of unreadable.splice(0)) lost(row);
    }
  };
  withTables(read)(checkTables);
  return storeOver((row) => unreadable.push(row), withTables(read), withTables(write));
}

function postgresStore(pool, lost) {
  const finish = (work) => (query) => finishLater(work(), ([sql, values]) => query(sql, values));
  /** The newest write of each session. Writes to a session run one after the other, and reads wait for them. */
  const writes = new Map();
  let tables;

  async function makeMissingTables() {
    try {
      await pool.read(finish(() => checkTables(true)));
    } catch (error) {
      if (!isTableMissing(error)) throw error;
      await pool.transaction(async (query) => {
        await query(`SELECT pg_advisory_xact_lock(${LOCK})`);
        await finish(makeTables)(query);
      });
    }
  }

  /** Runs `work()` when earlier writes are done and the tables exist. Makes those that were dropped since. */
  async function withTables(key, work) {
    await writes.get(key);
    for (let isRetry = false; ; isRetry = true) {
      tables ??= makeMissingTables();
      const made = tables;
      try {
        await made;
        return await work();
      } catch (error) {
        if (tables === made) tables = undefined;
        if (isRetry || !isTableMissing(error)) throw error;
      }
    }
  }

  const read = (work, key) => withTables(key, () => pool.read(finish(work)));

  function write(work, key, isRepeatable) {
    const outcome = withTables(key, () => pool.transaction(finish(work), isRepeatable));
    const settled = outcome.then(ignore, ignore).then(() => {
      if (writes.get(key) === settled) writes.delete(key);
    });
    writes.set(key, settled);
    return outcome;
  }

  return storeOver(lost, read, write);
}

module.exports = { finishLater, finishNow, postgresStore, sqliteStore };
