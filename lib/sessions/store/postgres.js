// Sessions in Postgres, for hosts with more than one machine. The database orders what is appended, by a lock on the
// session's row; what a conversation may let go is not decided here.
"use strict";

const { DatabaseError } = require("../../native/database-error.js");
const { Reporter } = require("../../hook/events.js");
const { native } = require("../../native/native.js");
const { PostgresConnection, checkConnection } = require("./postgres_connection.js");
const { isDuplicate } = require("./postgres_errors.js");
const { Changes, hashOf } = require("./postgres_changes.js");
const { migrate } = require("./postgres_schema.js");
const sql = require("./postgres_statements.js");

/** Rows that one transaction of `prune` deletes: few enough to hold no lock for long. */
const PRUNE_BATCH = 1_000;

/** Transactions at once: more would be smaller ones, and cost more in all. */
const MAX_PARALLEL = 4;

class PostgresStore {
  engine = "postgres";
  #options;
  #connection;
  #opening;
  #listener;
  /** Takes events for the manager, once it has opened this. */
  #report = () => {};

  constructor(options) {
    this.#options = checkConnection("PostgresStore", options);
    this.#listener = new Reporter(this.#options.onEvent);
    this.#connection = new PostgresConnection(this.#options, (event) => {
      this.#listener.emit(event);
      this.#report(event);
    });
  }

  get parallel() {
    return Math.min(this.#options.poolSize, MAX_PARALLEL);
  }

  open(report) {
    if (report !== undefined) this.#report = report;
    this.#opening ??= migrate(this.#connection).catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async apply(operations) {
    if (operations.length === 0) return [];
    const changes = new Changes(operations, (text) => ` ${native().searchForm(text)}`);
    let isCareful = false;
    const work = async (query) => {
      try {
        return await changes.run(query, isCareful);
      } catch (error) {
        // An id that is there already: one statement for all cannot tell which.
        isCareful ||= isDuplicate(error);
        throw error;
      }
    };
    const isStored = (outcomes, read) => this.#isStored(operations, outcomes, read);
    try {
      return await this.#connection.transaction(work, isStored);
    } catch (error) {
      if (!isCareful) throw error;
      return this.#connection.transaction(work, isStored);
    }
  }

  async load(namespace, key) {
    const { rows } = await this.#connection.read(sql.load, [namespace, hashOf(key)]);
    if (rows.length === 0) return undefined;
    const { prompt, fields, digest, compressions, tokensSaved, messages, ...stamp } = rows[0];
    return {
      stamp,
      ...(prompt !== null && { prompt }),
      fields,
      digest,
      compressions,
      tokensSaved,
      messages,
    };
  }

  async stamp(namespace, key) {
    const { rows } = await this.#connection.read(sql.stamp, [namespace, hashOf(key)]);
    return rows[0];
  }

  async read(namespace, key, { after = 0, limit, newest = false }) {
    const values = [namespace, hashOf(key), after, limit];
    const { rows } = await this.#connection.read(sql.read(newest), values);
    return newest ? rows.reverse() : rows;
  }

  async list({ namespace, order, limit, cursor }) {
    const { id, updated } = cursor === undefined ? {} : readCursor(order, cursor);
    const values = [namespace, id ?? null, limit + 1];
    if (order === "updated") values.push(updated ?? null);
    const { rows } = await this.#connection.read(sql.list[order], values);
    const page = rows.slice(0, limit);
    const sessions = page.map(({ key, createdAt, updatedAt, messages, fields }) => {
      return { key, createdAt, updatedAt, messages, fields };
    });
    if (rows.length <= limit || limit === 0) return { sessions };
    return { sessions, cursor: writeCursor(order, page.at(-1)) };
  }

  async search({ namespace, key, phrases, limit }) {
    if (phrases.length === 0) return [];
    const patterns = phrases.map((phrase) => `% ${phrase.replace(/[\\%_]/g, "\\$&")}%`);
    const hash = key === undefined ? null : hashOf(key);
    const statement = sql.search(patterns.length, key !== undefined);
    const { rows } = await this.#connection.read(statement, [namespace, hash, limit, ...patterns]);
    return rows;
  }

  async prune(namespace, before) {
    let [sessions, messages] = [0, 0];
    for (let batch = PRUNE_BATCH; batch === PRUNE_BATCH; sessions += batch) {
      const gone = await this.#pruneSessions(namespace, before);
      batch = gone.sessions;
      messages += gone.messages;
    }
    for (let batch = PRUNE_BATCH; batch === PRUNE_BATCH; messages += batch) {
      const values = [namespace, before, PRUNE_BATCH];
      const { rowCount } = await this.#connection.transaction(
        (query) => query(sql.pruneLetGo, values),
        // Deleting once more what is old is no harm.
        () => true,
      );
      batch = rowCount;
    }
    return { sessions, messages };
  }

  async close() {
    await this.#connection.close();
  }

  #pruneSessions(namespace, before) {
    return this.#connection.transaction(
      async (query) => {
        const { rows } = await query(sql.oldSessions, [namespace, before, PRUNE_BATCH]);
        const ids = rows.map(({ id }) => id);
        const { rowCount: messages } = await query(sql.pruneMessages, [namespace, ids]);
        await query(sql.pruneSessions, [namespace, ids]);
        return { sessions: ids.length, messages };
      },
      () => true,
    );
  }

  /** Whether the sessions show that the changes were made: each has come as far, or is gone if that was the change. */
  async #isStored(operations, outcomes, read) {
    const last = new Map();
    for (const [i, { namespace, key }] of operations.entries()) {
      const { applied, stamp } = outcomes[i];
      if (applied) last.set(JSON.stringify([namespace, key]), stamp);
    }
    const stamps = Array.from(last.values()).filter((stamp) => stamp !== undefined);
    const { rows } = await read(sql.versions, [stamps.map(({ session }) => session)]);
    const versions = new Map(rows.map(({ session, version }) => [session, version]));
    return stamps.every(({ session, version }) => versions.get(session) >= version);
  }
}

function writeCursor(order, { id, updated }) {
  return Buffer.from(JSON.stringify({ order, id, updated })).toString("base64url");
}

function readCursor(order, cursor) {
  try {
    const read = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (read.order === order && /^\d{1,18}$/.test(read.id) && /^\d{1,12}(?:\.\d{1,6})?$/.test(read.updated))
      return read;
  } catch {
    // Said below.
  }
  throw new DatabaseError(
    "ERR_BAD_CURSOR",
    `the cursor is none of a list in the order ${JSON.stringify(order)}`,
  );
}

module.exports = { PostgresStore };
