// The tables of sessions, and the two stores over them: SQL, for SQLite and Postgres alike, and a Map in memory. Both answer the
// same calls; SQL answers at once or with a promise, as its driver does.
"use strict";

const { written } = require("../shapes/calls.js");
const { parsed } = require("./message.js");

/** Version of the tables. */
const VERSION = 1;
const META = "CREATE TABLE IF NOT EXISTS strata_meta (version INTEGER NOT NULL)";
const TABLES = [
  // The first statement of a transaction writes: SQLite then waits for its lock.
  `INSERT INTO strata_meta SELECT ${VERSION} WHERE NOT EXISTS (SELECT 1 FROM strata_meta)`,
  `CREATE TABLE IF NOT EXISTS strata_sessions (session_id TEXT PRIMARY KEY, state TEXT NOT NULL, created_at TEXT NOT NULL,
     updated_at TEXT NOT NULL)`,
  // Positions order the messages of a session. The note on a message that was let go has its position, negated.
  `CREATE TABLE IF NOT EXISTS strata_messages (session_id TEXT NOT NULL, position INTEGER NOT NULL, id TEXT NOT NULL,
     body TEXT NOT NULL, PRIMARY KEY (session_id, position), UNIQUE (session_id, id))`,
];

const SESSION = "session_id, state, created_at, updated_at";
const FROM_MESSAGES = "FROM strata_messages WHERE session_id = ?";
const SQL = {
  version: "SELECT version FROM strata_meta",
  // Each write begins with one of these two, which lock the session against other processes.
  open: `INSERT INTO strata_sessions (${SESSION}) VALUES (?, ?, ?, ?)
    ON CONFLICT (session_id) DO UPDATE SET updated_at = excluded.updated_at RETURNING ${SESSION}`,
  touch: `UPDATE strata_sessions SET updated_at = ? WHERE session_id = ? RETURNING ${SESSION}`,
  save: "UPDATE strata_sessions SET state = ? WHERE session_id = ?",
  find: `SELECT ${SESSION} FROM strata_sessions WHERE session_id = ?`,
  list: `SELECT ${SESSION}, (SELECT COUNT(*) FROM strata_messages m WHERE m.session_id = s.session_id AND position > 0) AS messages
    FROM strata_sessions s ORDER BY created_at, session_id`,
  live: `SELECT position, id, body ${FROM_MESSAGES} AND position > 0 ORDER BY position`,
  gone: `SELECT position, id, body ${FROM_MESSAGES} AND position < 0 ORDER BY position DESC`,
  size: `SELECT COUNT(*) AS messages, MAX(position) AS last, (SELECT MIN(position) ${FROM_MESSAGES}) AS first
    ${FROM_MESSAGES} AND position > 0`,
  add: `INSERT INTO strata_messages (session_id, position, id, body) VALUES (?, ?, ?, ?) ON CONFLICT (session_id, id) DO NOTHING`,
  letGo: "UPDATE strata_messages SET position = -position, body = ? WHERE session_id = ? AND id = ?",
  remove: `DELETE ${FROM_MESSAGES} AND id = ?`,
  clear: "DELETE FROM strata_sessions WHERE session_id = ?",
  clearMessages: `DELETE ${FROM_MESSAGES}`,
};

/** Sessions by SQL. `run(sql, values, read)` answers `read(rows)`, or a promise of it. */
class SqlStore {
  #run;
  #lost;

  /** `lost({ key, id, error })` hears of each row that cannot be read. */
  constructor(run, lost) {
    this.#run = run;
    this.#lost = lost;
  }

  open(key, state, now) {
    return this.#run(SQL.open, [key, written(state), now, now], ([row]) => this.#session(row));
  }

  touch(key, now) {
    return this.#run(SQL.touch, [now, key], ([row]) => this.#session(row));
  }

  save(key, state) {
    return this.#run(SQL.save, [written(state), key]);
  }

  find(key) {
    return this.#run(SQL.find, [key], ([row]) => this.#session(row));
  }

  list() {
    return this.#run(SQL.list, [], (rows) => rows.map((row) => this.#session(row)));
  }

  /** The messages of a session: `{ position, id, message }`. */
  live(key) {
    return this.#run(SQL.live, [key], (rows) => rows.flatMap((row) => this.#message(key, row, "content")));
  }

  /** The notes on the messages that it let go. */
  gone(key) {
    return this.#run(SQL.gone, [key], (rows) => rows.flatMap((row) => this.#message(key, row, "role")));
  }

  /** How many messages a session has, and the position of the next. */
  size(key) {
    return this.#run(SQL.size, [key, key], ([{ messages, last, first }]) => ({
      messages: Number(messages),
      next: Math.max(Number(last ?? 0), -Number(first ?? 0)) + 1,
    }));
  }

  add(key, position, message) {
    return this.#run(SQL.add, [key, position, message.id, written(message)]);
  }

  letGo(key, id, note) {
    return this.#run(SQL.letGo, [written(note), key, id]);
  }

  remove(key, id) {
    return this.#run(SQL.remove, [key, id]);
  }

  clear(key) {
    return this.#run(SQL.clear, [key]);
  }

  clearMessages(key) {
    return this.#run(SQL.clearMessages, [key]);
  }

  #session(row) {
    if (row === undefined) return undefined;
    const { session_id: key, state, created_at: createdAt, updated_at: updatedAt, messages } = row;
    const value = this.#value(key, undefined, state, "id") ?? { id: key };
    return { key, state: value, createdAt, updatedAt, messages: Number(messages) };
  }

  /** No message or one. */
  #message(key, { position, id, body }, field) {
    const message = this.#value(key, id, body, field);
    return message === undefined ? [] : [{ position: Number(position), id, message }];
  }

  /** The object that a row holds, with a text as `field`. */
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

/** Sessions in a Map. */
class MemoryStore {
  #sessions = new Map();

  open(key, state, now) {
    if (!this.#sessions.has(key))
      this.#sessions.set(key, { key, state, createdAt: now, live: new Map(), gone: new Map(), last: 0 });
    return this.touch(key, now);
  }

  touch(key, now) {
    const session = this.#sessions.get(key);
    if (session !== undefined) session.updatedAt = now;
    return session;
  }

  save(key, state) {
    this.find(key).state = state;
  }

  find(key) {
    return this.#sessions.get(key);
  }

  list() {
    return Array.from(this.#sessions.values(), (session) => ({ ...session, messages: session.live.size }));
  }

  live(key) {
    return [...this.find(key).live.values()].sort((a, b) => a.position - b.position);
  }

  gone(key) {
    return [...this.find(key).gone.values()];
  }

  size(key) {
    const { live, last } = this.find(key);
    return { messages: live.size, next: last + 1 };
  }

  add(key, position, message) {
    const session = this.find(key);
    const { id } = message;
    if (session.live.has(id) || session.gone.has(id)) return;
    session.live.set(id, { position, id, message });
    session.last = Math.max(session.last, position);
  }

  letGo(key, id, note) {
    const { live, gone } = this.find(key);
    gone.set(id, { ...live.get(id), message: note });
    live.delete(id);
  }

  remove(key, id) {
    const { live, gone } = this.find(key);
    live.delete(id);
    gone.delete(id);
  }

  clear(key) {
    this.#sessions.delete(key);
  }

  clearMessages() {}
}

module.exports = { META, MemoryStore, SQL, SqlStore, TABLES, VERSION };
