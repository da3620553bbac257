// The tables of sessions, and two stores with the same methods: SQL for SQLite and Postgres, a Map for memory. The SQL store
// returns values or promises, as its driver does.
// A session is a state and rows `{ position, id, message }`. The system prompt has position 0. A message that a compression
// replaced leaves a note at its negated position.
"use strict";

const { written } = require("../shapes/calls.js");
const { DatabaseError } = require("./database_errors.js");
const { parsed } = require("./message.js");

/** Version of the tables. */
const VERSION = 1;
const TABLES = [
  "CREATE TABLE IF NOT EXISTS strata_meta (version INTEGER NOT NULL)",
  `INSERT INTO strata_meta SELECT ${VERSION} WHERE NOT EXISTS (SELECT 1 FROM strata_meta)`,
  `CREATE TABLE IF NOT EXISTS strata_sessions (session_id TEXT PRIMARY KEY, state TEXT NOT NULL, created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS strata_messages (session_id TEXT NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL,
     body TEXT NOT NULL, PRIMARY KEY (session_id, position), UNIQUE (session_id, id))`,
];

const SESSION = "session_id, state, created_at, updated_at";
const FROM_MESSAGES = "FROM strata_messages WHERE session_id = ?";
const SQL = {
  // Every write begins with one of these two, which lock the session against other processes.
  open: `INSERT INTO strata_sessions (${SESSION}) VALUES (?, ?, ?, ?)
    ON CONFLICT (session_id) DO UPDATE SET updated_at = excluded.updated_at RETURNING ${SESSION}`,
  touch: `UPDATE strata_sessions SET updated_at = ? WHERE session_id = ? RETURNING ${SESSION}`,
  save: "UPDATE strata_sessions SET state = ? WHERE session_id = ?",
  find: `SELECT ${SESSION} FROM strata_sessions WHERE session_id = ?`,
  list: `SELECT ${SESSION}, (SELECT COUNT(*) FROM strata_messages m WHERE m.session_id = s.session_id AND position >= 0) AS messages
    FROM strata_sessions s ORDER BY created_at, session_id`,
  live: `SELECT position, id, body ${FROM_MESSAGES} AND position >= 0 ORDER BY position`,
  gone: `SELECT position, id, body ${FROM_MESSAGES} AND position < 0 ORDER BY position DESC`,
  size: `SELECT COUNT(*) AS messages, MAX(position) AS last, (SELECT MIN(position) ${FROM_MESSAGES}) AS first,
    (SELECT COUNT(*) ${FROM_MESSAGES} AND id = ?) AS known ${FROM_MESSAGES} AND position >= 0`,
  put: `INSERT INTO strata_messages (session_id, position, id, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (session_id, position) DO UPDATE SET id = excluded.id, body = excluded.body`,
  remove: `DELETE ${FROM_MESSAGES} AND id = ?`,
  clear: "DELETE FROM strata_sessions WHERE session_id = ?",
  clearMessages: `DELETE ${FROM_MESSAGES}`,
};

const now = () => new Date().toISOString();

/** Checks the version and the columns of the tables. Reads no session. A user without the right to write checks reads only. */
function* checkTables(run, onlyReads = false) {
  const [row] = yield run("SELECT version FROM strata_meta", []);
  if (row === undefined) throw new DatabaseError("NO_TABLE", "strata_meta is empty");
  if (Number(row.version) !== VERSION) throw new DatabaseError("VERSION", `${row.version}, not ${VERSION}`);
  const statements = Object.values(SQL).filter((sql) => !onlyReads || sql.startsWith("SELECT"));
  for (const sql of statements) yield run(`EXPLAIN ${sql}`, sql.match(/\?/g)?.fill(null) ?? []);
}

function* makeTables(run) {
  for (const sql of TABLES) yield run(sql, []);
  yield* checkTables(run);
}

class SqlStore {
  #run;
  #lost;

  /** `run(sql, values)` returns rows or a promise of them. `lost({ key, id, error })` reports an unreadable row. */
  constructor(run, lost) {
    this.#run = run;
    this.#lost = lost;
  }

  /** Runs a statement and returns `read(rows)`, or a promise of it. */
  #ask(sql, values, read) {
    const rows = this.#run(sql, values);
    return rows instanceof Promise ? rows.then(read) : read(rows);
  }

  #askSession(sql, values) {
    return this.#ask(sql, values, ([row]) => row && this.#session(row));
  }

  /** Locks and returns the session; creates it with `state` if it is missing. Returns undefined without both. */
  open(key, state) {
    if (state === undefined) return this.#askSession(SQL.touch, [now(), key]);
    return this.#askSession(SQL.open, [key, written(state), now(), now()]);
  }

  find(key) {
    return this.#askSession(SQL.find, [key]);
  }

  list() {
    return this.#ask(SQL.list, [], (rows) => rows.map((row) => this.#session(row)));
  }

  save(key, state) {
    return this.#run(SQL.save, [written(state), key]);
  }

  /** Returns the messages of a session, or the notes on replaced ones; oldest first. */
  rows(key, areGone = false) {
    return this.#ask(areGone ? SQL.gone : SQL.live, [key], (rows) =>
      rows.flatMap(({ position, id, body }) => {
        const message = this.#value(key, id, body, areGone ? "role" : "content");
        return message === undefined ? [] : [{ position: Number(position), id, message }];
      }),
    );
  }

  /** Returns the number of messages, the position of the next one, and whether the id is taken. */
  size(key, id) {
    return this.#ask(SQL.size, [key, key, id, key], ([{ messages, last, first, known }]) => ({
      messages: Number(messages),
      next: Math.max(Number(last ?? 0), -Number(first ?? 0)) + 1,
      isKnown: Number(known) > 0,
    }));
  }

  /** Writes a row; replaces the row at the same position. */
  put(key, position, id, message) {
    return this.#run(SQL.put, [key, position, id, written(message)]);
  }

  remove(key, id) {
    return this.#run(SQL.remove, [key, id]);
  }

  clear(key) {
    return this.#ask(SQL.clear, [key], () => this.#run(SQL.clearMessages, [key]));
  }

  #session({ session_id: key, state: text, created_at: createdAt, updated_at: updatedAt, messages }) {
    const state = this.#value(key, undefined, text, "id") ?? { id: key };
    return { state, createdAt, updatedAt, messages: Number(messages) };
  }

  /** Parses a row's JSON object, which must have a string `field`. */
  #value(key, id, text, field) {
    try {
      const value = parsed(text);
      if (typeof value[field] === "string") return value;
      throw new TypeError(`it has no ${field}`);
    } catch (error) {
      this.#lost({ key, id, error });
      return undefined;
    }
  }
}

class MemoryStore {
  #sessions = new Map();

  open(key, state) {
    if (state !== undefined && !this.#sessions.has(key)) {
      const rows = { live: new Map(), gone: new Map(), places: new Map(), last: 0 };
      this.#sessions.set(key, { state, createdAt: now(), ...rows });
    }
    const session = this.#sessions.get(key);
    if (session !== undefined) session.updatedAt = now();
    return session;
  }

  find(key) {
    return this.#sessions.get(key);
  }

  list() {
    return Array.from(this.#sessions.values(), (session) => ({ ...session, messages: session.live.size }));
  }

  save(key, state) {
    this.#sessions.get(key).state = state;
  }

  rows(key, areGone = false) {
    const { live, gone } = this.#sessions.get(key);
    return [...(areGone ? gone : live).values()].sort((a, b) => Math.abs(a.position) - Math.abs(b.position));
  }

  size(key, id) {
    const { live, places, last } = this.#sessions.get(key);
    return { messages: live.size, next: last + 1, isKnown: places.has(id) };
  }

  put(key, position, id, message) {
    const session = this.#sessions.get(key);
    const rows = position < 0 ? session.gone : session.live;
    session.places.delete(rows.get(position)?.id);
    rows.set(position, { position, id, message });
    session.places.set(id, position);
    session.last = Math.max(session.last, Math.abs(position));
  }

  remove(key, id) {
    const { live, gone, places } = this.#sessions.get(key);
    live.delete(places.get(id));
    gone.delete(places.get(id));
    places.delete(id);
  }

  clear(key) {
    this.#sessions.delete(key);
  }
}

module.exports = { MemoryStore, SqlStore, checkTables, makeTables };
