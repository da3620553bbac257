// The tables of sessions, and two stores with the same methods: SQL for SQLite and Postgres, a Map for memory. The methods of the
// SQL store are generators of statements, `[sql, values]`; each resumes with the rows. A pool may read integers as text or BigInt.
"use strict";

const { written } = require("../shapes/text.js");
const { DatabaseError } = require("./database_errors.js");
const { ROLES, parsed } = require("./message.js");

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
  // Every write begins with one of these two: they lock the session against other processes.
  open: `INSERT INTO strata_sessions (${SESSION}) VALUES (?, ?, ?, ?)
    ON CONFLICT (session_id) DO UPDATE SET updated_at = excluded.updated_at RETURNING ${SESSION}`,
  touch: `UPDATE strata_sessions SET updated_at = ? WHERE session_id = ? RETURNING ${SESSION}`,
  save: "UPDATE strata_sessions SET state = ? WHERE session_id = ?",
  find: `SELECT ${SESSION} FROM strata_sessions WHERE session_id = ?`,
  list: `SELECT ${SESSION}, (SELECT CAST(COUNT(*) AS INTEGER) FROM strata_messages m
    WHERE m.session_id = s.session_id AND position >= 0) AS messages FROM strata_sessions s ORDER BY created_at, session_id`,
  messages: `SELECT position, id, body ${FROM_MESSAGES} AND position >= 0`,
  all: `SELECT position, id, body ${FROM_MESSAGES}`,
  size: `SELECT CAST(COUNT(*) AS INTEGER) AS messages, COALESCE(MAX(position), 0) AS last,
    (SELECT COALESCE(MIN(position), 0) ${FROM_MESSAGES}) AS first, EXISTS (SELECT 1 ${FROM_MESSAGES} AND id = ?) AS known
    ${FROM_MESSAGES} AND position >= 0`,
  put: `INSERT INTO strata_messages (session_id, position, id, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (session_id, position) DO UPDATE SET id = excluded.id, body = excluded.body`,
  remove: `DELETE ${FROM_MESSAGES} AND id = ?`,
  clear: "DELETE FROM strata_sessions WHERE session_id = ?",
  clearMessages: `DELETE ${FROM_MESSAGES}`,
};

const now = () => new Date().toISOString();

/** Position of the system prompt. */
const PROMPT = 0;

/**
 * Returns a session: its state, the rows `{ position, id, message }` of its messages and those of its notes, oldest first. The
 * system prompt has position 0. A message that a compression replaced leaves a note at its negated position.
 */
function sessionOf({ state, createdAt, updatedAt }, unordered) {
  const all = unordered.sort((a, b) => Math.abs(a.position) - Math.abs(b.position));
  const rows = all.filter(({ position }) => position >= 0);
  const notes = all.filter(({ position }) => position < 0);
  return { state, createdAt, updatedAt, rows, notes, messages: rows.map(({ message }) => message) };
}

/** Returns the change that replaces the system prompt. A change is `{ state, remove, put, result }`, all optional: ids and rows. */
function promptChange({ rows: [first] }, message) {
  const remove = first?.position === PROMPT ? [first.id] : [];
  return { remove, put: [{ position: PROMPT, id: message.id, message }] };
}

/** Returns the position of a new message: a system message that opens a session is its prompt. */
const positionOf = ({ role }, messages, last) => (role === "system" && messages === 0 ? PROMPT : last + 1);

/** Checks the version and the columns of the tables. Reads no session. A user without the right to write checks reads only. */
function* checkTables(onlyReads = false) {
  const [row] = yield ["SELECT version FROM strata_meta", []];
  if (row === undefined) throw new DatabaseError("NO_TABLE", "strata_meta is empty");
  if (Number(row.version) !== VERSION) throw new DatabaseError("VERSION", `${row.version}, not ${VERSION}`);
  const statements = Object.values(SQL).filter((sql) => !onlyReads || sql.startsWith("SELECT"));
  for (const sql of statements) yield [`EXPLAIN ${sql}`, sql.match(/\?/g)?.fill(null) ?? []];
}

function* makeTables() {
  for (const sql of TABLES) yield [sql, []];
  yield* checkTables();
}

const isState = ({ id }) => typeof id === "string";
const isMessage = ({ role, content }) => ROLES.has(role) && typeof content === "string";
const isNote = ({ role, toolCalls }) => ROLES.has(role) && Array.isArray(toolCalls);

class SqlStore {
  #lost;

  /** `lost({ sessionId, id, error })` reports an unreadable row. */
  constructor(lost) {
    this.#lost = lost;
  }

  /** Returns the session with its messages; undefined if there is none. */
  *find(key) {
    return yield* this.#session(yield [SQL.find, [key]]);
  }

  *list() {
    const rows = yield [SQL.list, []];
    return rows.map((row) => ({ ...this.#fields(row), messages: Number(row.messages) }));
  }

  /**
   * Adds a message; creates the session with `state` if it is missing. If the session then has more than `max` messages, it
   * returns `change(session)`; without a `change`, `{ isOver: true }`.
   */
  *add(key, state, message, max, change) {
    yield [SQL.open, [key, written(state), now(), now()]];
    const [{ known, ...sizes }] = yield [SQL.size, [key, key, message.id, key]];
    if (known) return undefined;
    const [messages, last, first] = [sizes.messages, sizes.last, sizes.first].map(Number);
    const position = positionOf(message, messages, Math.max(last, -first));
    yield this.#put(key, { position, id: message.id, message });
    if (messages < max) return undefined;
    return change === undefined ? { isOver: true } : yield* this.change(key, undefined, change);
  }

  /**
   * Stores the change that `change(session)` returns, and returns its result. Creates a missing session with `state`; without a
   * state it returns undefined.
   */
  *change(key, given, change, withNotes = false) {
    const rows = yield given === undefined
      ? [SQL.touch, [now(), key]]
      : [SQL.open, [key, written(given), now(), now()]];
    const session = yield* this.#session(rows, withNotes);
    if (session === undefined) return undefined;
    const { state, remove = [], put = [], result } = change(session) ?? {};
    for (const id of remove) yield [SQL.remove, [key, id]];
    for (const row of put) yield this.#put(key, row);
    if (state !== undefined) yield [SQL.save, [written(state), key]];
    return result;
  }

  *clear(key) {
    yield [SQL.clear, [key]];
    yield [SQL.clearMessages, [key]];
  }

  #put(key, { position, id, message }) {
    return [SQL.put, [key, position, id, written(message)]];
  }

  *#session([row], withNotes = false) {
    if (row === undefined) return undefined;
    const fields = this.#fields(row);
    const rows = yield [withNotes ? SQL.all : SQL.messages, [row.session_id]];
    const readable = rows.flatMap(({ position, id, body }) => {
      const message = this.#value(fields.state.id, id, body, position < 0 ? isNote : isMessage);
      return message === undefined ? [] : [{ position: Number(position), id, message }];
    });
    return sessionOf(fields, readable);
  }

  #fields({ session_id: key, state, created_at: createdAt, updated_at: updatedAt }) {
    return { state: this.#value(key, undefined, state, isState) ?? { id: key }, createdAt, updatedAt };
  }

  /** Parses a row's JSON. Reports a value that `isReadable` refuses. */
  #value(sessionId, id, text, isReadable) {
    try {
      const value = parsed(text);
      if (isReadable(value)) return value;
      throw new TypeError("it has another shape");
    } catch (error) {
      this.#lost({ sessionId, id, error });
      return undefined;
    }
  }
}

class MemoryStore {
  /** Sessions by key, with their rows by id, the rows of their notes by id, and the largest position in use. */
  #sessions = new Map();

  find(key) {
    const session = this.#sessions.get(key);
    return session && sessionOf(session, [...session.rows.values()]);
  }

  list() {
    return Array.from(this.#sessions.values(), (session) => ({ ...session, messages: session.rows.size }));
  }

  add(key, state, message, max, change) {
    const session = this.#open(key, state);
    const { rows, notes, last } = session;
    if (rows.has(message.id) || notes.has(message.id)) return undefined;
    const position = positionOf(message, rows.size, last);
    this.#write(session, { put: [{ position, id: message.id, message }] });
    if (rows.size <= max) return undefined;
    return change === undefined ? { isOver: true } : this.change(key, undefined, change);
  }

  change(key, state, change, withNotes = false) {
    const session = this.#open(key, state);
    if (session === undefined) return undefined;
    const rows = [...session.rows.values(), ...(withNotes ? session.notes.values() : [])];
    return this.#write(session, change(sessionOf(session, rows)) ?? {});
  }

  clear(key) {
    this.#sessions.delete(key);
  }

  #open(key, state) {
    if (state !== undefined && !this.#sessions.has(key))
      this.#sessions.set(key, { state, createdAt: now(), rows: new Map(), notes: new Map(), last: PROMPT });
    const session = this.#sessions.get(key);
    if (session !== undefined) session.updatedAt = now();
    return session;
  }

  #write(session, { state = session.state, remove = [], put = [], result }) {
    const { rows, notes } = session;
    session.state = state;
    for (const id of remove) rows.delete(id) || notes.delete(id);
    for (const row of put) {
      (row.position < 0 ? notes : rows).set(row.id, row);
      session.last = Math.max(session.last, Math.abs(row.position));
    }
    return result;
  }
}

module.exports = { MemoryStore, SqlStore, checkTables, makeTables, promptChange, sessionOf };
