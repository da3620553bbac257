// The tables of sessions: their statements for SQLite and Postgres, the same statements over Maps, and the changes of a session as
// generators of statements, `[name, ...values]`. A generator resumes with the rows.
"use strict";

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
  // Every write begins with one of these two, which lock the session against other processes.
  open: `INSERT INTO strata_sessions (${SESSION}) VALUES (?, ?, ?, ?)
    ON CONFLICT (session_id) DO UPDATE SET updated_at = excluded.updated_at RETURNING ${SESSION}`,
  touch: `UPDATE strata_sessions SET updated_at = ? WHERE session_id = ? RETURNING ${SESSION}`,
  save: "UPDATE strata_sessions SET state = ? WHERE session_id = ?",
  find: `SELECT ${SESSION} FROM strata_sessions WHERE session_id = ?`,
  list: `SELECT ${SESSION}, (SELECT CAST(COUNT(*) AS INTEGER) FROM strata_messages m
    WHERE m.session_id = s.session_id AND position >= 0) AS messages FROM strata_sessions s ORDER BY created_at, session_id`,
  rows: `SELECT position, id, body ${FROM_MESSAGES} AND position >= ?`,
  size: `SELECT CAST(COUNT(*) AS INTEGER) AS messages, COALESCE(MAX(position), 0) AS last,
    EXISTS (SELECT 1 ${FROM_MESSAGES} AND id = ?) AS known ${FROM_MESSAGES} AND position >= 0`,
  put: `INSERT INTO strata_messages (session_id, position, id, body) VALUES (?, ?, ?, ?)
    ON CONFLICT (session_id, position) DO UPDATE SET id = excluded.id, body = excluded.body`,
  remove: `DELETE ${FROM_MESSAGES} AND position = ?`,
  clear: "DELETE FROM strata_sessions WHERE session_id = ?",
  clearMessages: `DELETE ${FROM_MESSAGES}`,
};

/** Position of the system prompt. */
const PROMPT = 0;
/** Smallest position in Postgres. A message that a compression replaced leaves a note at its negated position. */
const LEAST = -(2 ** 31);

/** Returns the same statements over Maps, by name. Their rows hold objects where a database holds JSON. */
function memoryTables() {
  /** Sessions by key, with their messages and notes by position, and the ids of both. */
  const sessions = new Map();
  const part = ({ messages, notes }, position) => (position < 0 ? notes : messages);
  const tables = {
    open(key, state, createdAt, updatedAt) {
      const row = { session_id: key, state, created_at: createdAt, last: PROMPT };
      if (!sessions.has(key))
        sessions.set(key, { ...row, messages: new Map(), notes: new Map(), ids: new Set() });
      return tables.touch(updatedAt, key);
    },
    touch(updatedAt, key) {
      const found = tables.find(key);
      for (const session of found) session.updated_at = updatedAt;
      return found;
    },
    save: (state, key) => Object.assign(sessions.get(key), { state }),
    find: (key) => (sessions.has(key) ? [sessions.get(key)] : []),
    list: () => Array.from(sessions.values(), (session) => ({ ...session, messages: session.messages.size })),
    rows(key, least) {
      const { messages, notes } = sessions.get(key);
      return [...messages.values(), ...(least < 0 ? notes.values() : [])];
    },
    size(key, id) {
      const { messages, ids, last } = sessions.get(key);
      return [{ messages: messages.size, last, known: ids.has(id) }];
    },
    put(key, position, id, body) {
      tables.remove(key, position);
      const session = sessions.get(key);
      part(session, position).set(position, { position, id, body });
      session.ids.add(id);
      session.last = Math.max(session.last, position);
    },
    remove(key, position) {
      const session = sessions.get(key);
      const rows = part(session, position);
      session.ids.delete(rows.get(position)?.id);
      rows.delete(position);
    },
    clear: (key) => sessions.delete(key),
    clearMessages: () => {},
  };
  return tables;
}

const now = () => new Date().toISOString();

/** Returns the change that sets the system prompt. A change is `{ state, remove, put, result }`: rows to remove, rows to put. */
const promptChange = (message) => ({ put: [{ position: PROMPT, id: message.id, message }] });

/** Checks the version and the columns of the tables. Reads no session. A user without the right to write checks reads only. */
function* checkTables(onlyReads = false) {
  const [row] = yield ["SELECT version FROM strata_meta"];
  if (row?.version !== VERSION) throw new DatabaseError("VERSION", `${row?.version}, not ${VERSION}`);
  const statements = Object.values(SQL).filter((sql) => !onlyReads || sql.startsWith("SELECT"));
  for (const sql of statements) yield [`EXPLAIN ${sql}`, ...(sql.match(/\?/g)?.fill(null) ?? [])];
}

function* makeTables() {
  for (const sql of TABLES) yield [sql];
  yield* checkTables();
}

const isState = ({ id }) => typeof id === "string";
const isMessage = ({ role, content }) => ROLES.has(role) && typeof content === "string";
const isNote = ({ role, toolCalls }) => ROLES.has(role) && Array.isArray(toolCalls);

class Store {
  #reporter;

  constructor(reporter) {
    this.#reporter = reporter;
  }

  /** Returns the session with its messages; undefined if there is none. */
  *find(key) {
    return yield* this.#session(yield ["find", key]);
  }

  *list() {
    const rows = yield ["list"];
    return rows.map((row) => ({ ...this.#fields(row), messages: row.messages }));
  }

  /**
   * Adds a message unless its id is known. Creates a missing session with `state`. If the session then has more than `max`
   * messages, stores the change that `change(session)` returns, and returns its result.
   */
  *add(key, state, message, max, change) {
    yield ["open", key, state, now(), now()];
    const [{ messages, last, known }] = yield ["size", key, message.id, key];
    if (known) return undefined;
    // A system message that opens a session is its prompt.
    const position = message.role === "system" && messages === 0 ? PROMPT : last + 1;
    yield ["put", key, position, message.id, message];
    return messages < max ? undefined : yield* this.change(key, undefined, change);
  }

  /**
   * Stores the change that `change(session)` returns, and returns its result. Creates a missing session with `state`; without a
   * state it returns undefined.
   */
  *change(key, given, change, withNotes = false) {
    const rows = yield given === undefined ? ["touch", now(), key] : ["open", key, given, now(), now()];
    const session = yield* this.#session(rows, withNotes);
    if (session === undefined) return undefined;
    const { state, remove = [], put = [], result } = change(session) ?? {};
    for (const { position } of remove) yield ["remove", key, position];
    for (const { position, id, message } of put) yield ["put", key, position, id, message];
    if (state !== undefined) yield ["save", state, key];
    return result;
  }

  *clear(key) {
    yield ["clear", key];
    yield ["clearMessages", key];
  }

  /** Returns a session: its state, the rows `{ position, id, message }` of its messages and of its notes, oldest first. */
  *#session([row], withNotes = false) {
    if (row === undefined) return undefined;
    const key = row.session_id;
    const fields = this.#fields(row);
    const stored = yield ["rows", key, withNotes ? LEAST : PROMPT];
    const readable = stored.flatMap(({ position, id, body }) => {
      const message = this.#value(key, id, body, position < 0 ? isNote : isMessage);
      return message === undefined ? [] : [{ position, id, message }];
    });
    readable.sort((a, b) => Math.abs(a.position) - Math.abs(b.position));
    const rows = readable.filter(({ position }) => position >= 0);
    const notes = readable.filter(({ position }) => position < 0);
    return { ...fields, rows, notes, messages: rows.map(({ message }) => message) };
  }

  #fields({ session_id: key, state, created_at: createdAt, updated_at: updatedAt }) {
    return { state: this.#value(key, undefined, state, isState) ?? { id: key }, createdAt, updatedAt };
  }

  /** Parses a row's JSON. Returns undefined for a value that `isReadable` refuses, and reports it once. */
  #value(key, id, stored, isReadable) {
    try {
      const value = typeof stored === "string" ? parsed(stored) : stored;
      if (isReadable(value)) return value;
      throw new TypeError("it has another shape");
    } catch (cause) {
      const what = id === undefined ? "the state of a session" : "a message";
      const details = { sessionId: key, ...(id !== undefined && { messageId: id }), cause };
      const event = { type: "rowUnreadable", code: "ERR_DATABASE_ROW", ...details };
      if (this.#reporter.isFirst(JSON.stringify([key, id])))
        this.#reporter.warn({ ...event, message: `${what} cannot be read and is left out` });
      return undefined;
    }
  }
}

module.exports = { SQL, Store, checkTables, makeTables, memoryTables, promptChange };
