// Reads and writes the history of chats in the host's own table, by the host's SQLite handle or Postgres pool. It never creates
// or alters that table. It creates a missing table of events.
"use strict";

const { attempt } = require("../helpers.js");
const { Reporter } = require("../hook/events.js");
const { anything, checkOptions, checkValue, count, handler, show } = require("../options.js");
const { checkedFields } = require("../sessions/message.js");
const { PostgresPool } = require("../sessions/postgres.js");
const { SqliteHandle } = require("../sessions/sqlite.js");
const { isPlain, storable, written } = require("../shapes/text.js");

const COMPRESSION_FIELDS = ["original_count", "compressed_count", "max_messages", "max_chars_per_message"];
/** Longest name of a chat, UTF-16 units: every database can index it. */
const MAX_CHAT_ID_CHARS = 256;
/** Largest `created_at` in seconds, in the year 5138, in milliseconds and in microseconds. A larger number is nanoseconds. */
const LARGEST_TIMES = [1e11, 1e14, 1e17];
/** A time as SQLite, Python and JavaScript write it: its separator, fraction and zone differ. */
const UTC_TEXT = /^\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d(\.\d+)?((?:Z|\+00:?00)?)$/;
/** Time for which a statement is repeated while the Postgres server is away, ms. */
const RETRY_MS = 10_000;

/** A column's type that holds numbers. SQLite's columns can have no type. */
const NUMBER = /int|real|num|double|float|dec|serial/i;

const NAME = "[A-Za-z_][A-Za-z0-9_]{0,62}";
const tableName = {
  allowed: "the name of a table, with its schema or without: ASCII letters, digits and _",
  accepts: (value) => typeof value === "string" && new RegExp(`^(?:${NAME}\\.)?${NAME}$`).test(value),
};
const OPTIONS = {
  historyTable: ["history", tableName],
  eventsTable: ["events", tableName],
  onEvent: [undefined, handler],
};

/**
 * What differs in SQL: the cast of a column to text, the stored forms of a chat's key, the query for a table's columns, the
 * columns of a new table of events.
 */
const SQLITE = {
  cast: "",
  // Hosts store 42 as a number or as text. A text column stores the float 42 as "42.0".
  formsOf: (chat) => (typeof chat === "bigint" ? [chat, `${chat}`, `${chat}.0`] : [chat]),
  columnsOf: (name) => {
    const names = name.split(".").reverse();
    const [table, schema = "%"] = names;
    const info = `pragma_table_info(${names.map(() => "?")})`;
    // A default that is a constant says nothing about the time of a row.
    const fills = "dflt_value LIKE '%(%' OR dflt_value LIKE 'current%'";
    const sql = `SELECT lower(name) AS name, type, ${fills} AS fills, 0 AS is_time FROM ${info}
      UNION ALL SELECT 'rowid', '', 0, 0 FROM pragma_table_list(?) WHERE type = 'table' AND NOT wr AND schema LIKE ?`;
    return [sql, [...names, table, schema]];
  },
  events:
    "(id INTEGER PRIMARY KEY, chat_id, event_type text NOT NULL, payload text NOT NULL, created_at text NOT NULL)",
};
const POSTGRES = {
  cast: "::text",
  formsOf: (chat) => [chat],
  columnsOf: (name) => [
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, atthasdef AS fills,
       atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype, 'date'::regtype) AS is_time FROM pg_attribute
     WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped`,
    [quoted(name)],
  ],
  events: `(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, chat_id text, event_type text NOT NULL, payload jsonb NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now())`,
};

/** The base of both providers. `database` is one of these, with `run(sql, values)` and, for rows to insert, `change`. */
class StoredHistory {
  #owner;
  #database;
  #names;
  #reporter;
  /** Columns of a table, once read. */
  #columns = new Map();

  constructor(owner, { historyTable: history, eventsTable: events, onEvent }, database) {
    this.#owner = owner;
    this.#database = database;
    this.#names = { history, events };
    this.#reporter = new Reporter(onEvent, owner);
  }

  async getHistory(chatId, limit) {
    const chats = this.#database.formsOf(this.#chat("getHistory", chatId));
    checkValue(`${this.#owner}.getHistory: limit`, limit, count);
    const columns = await this.#columnsOf("history");
    const { run, cast } = this.#database;
    const read = columns.has("extra") ? ["role", "text", "extra"] : ["role", "text"];
    const rows = await run(
      `SELECT ${read.map((name) => `${name}${cast} AS ${name}`)} FROM ${quoted(this.#names.history)}
       WHERE chat_id IN (${chats.map(() => "?")}) ORDER BY ${newestFirst(columns)} LIMIT ?`,
      [...chats, limit],
    );
    const readable = rows.reverse().filter(isReadable);
    const extras = readable.map(extraOf);
    this.#warn("rows_skipped", chatId, rows.length - readable.length, "are no messages and were passed over");
    const bare = extras.filter((extra) => extra === undefined).length;
    this.#warn("extra_unreadable", chatId, bare, "have an unreadable extra: calls and images are left out");
    const messages = readable.map(({ role, text }, i) => ({ role, content: String(text), ...extras[i] }));
    return messages.filter(saysSomething);
  }

  #warn(type, chatId, rows, told) {
    const message = `${rows} rows of the chat ${show(chatId)} ${told}.`;
    if (rows > 0) this.#reporter.warn({ type, message, chatId, rows });
  }

  async append(chatId, message) {
    const { extra, ...row } = toRow(`${this.#owner}.append`, message);
    const values = { chat_id: this.#chat("append", chatId), ...row };
    const hasExtra = (await this.#columnsOf("history")).has("extra");
    if (hasExtra && extra !== undefined) values.extra = extra;
    const [{ id }] = await this.#insert("history", values, "RETURNING CAST(id AS TEXT) AS id");
    if (extra !== undefined && !hasExtra && this.#reporter.isFirst("extra")) {
      const told = `the table ${this.#names.history} has no column "extra": calls and images are left out`;
      this.#reporter.warn({ type: "extra_left_out", message: told });
    }
    return Number.isSafeInteger(Number(id)) ? Number(id) : Number.NaN;
  }

  async recordCompression(fields, chatId) {
    for (const name of COMPRESSION_FIELDS)
      checkValue(`${this.#owner}.recordCompression: ${name}`, fields?.[name], count);
    const { run, events } = this.#database;
    const isMissing = (await this.#columnsOf("events")).size === 0;
    if (isMissing) await run(`CREATE TABLE IF NOT EXISTS ${quoted(this.#names.events)} ${events}`, []);
    const columns = await this.#columnsOf("events");
    const type = ["event_type", "type"].find((name) => columns.has(name)) ?? "event_type";
    const values = { [type]: "context.compressed" };
    if (columns.has("payload")) values.payload = JSON.stringify(fields, COMPRESSION_FIELDS);
    const isOfChat = columns.has("chat_id") && chatId !== undefined;
    if (isOfChat) values.chat_id = this.#chat("recordCompression", chatId);
    await this.#insert("events", values);
  }

  async #insert(part, values, ending = "") {
    const row = { ...values, ...(await this.#timeOf(part)) };
    const marks = Object.keys(row).map(() => "?");
    const sql = `INSERT INTO ${quoted(this.#names[part])} (${Object.keys(row)}) VALUES (${marks}) ${ending}`;
    return this.#database.change(sql, Object.values(row));
  }

  /**
   * Returns `{ created_at }` in the form of the newest row, or of any row of a table without ids; nothing if the column is missing,
   * or has a default and no number or text with a zone to imitate. Only the host knows the zone of other times.
   */
  async #timeOf(part) {
    const columns = await this.#columnsOf(part);
    const column = columns.get("created_at");
    if (column === undefined) return {};
    const order = columns.has("id") ? "ORDER BY id DESC" : "";
    const sql = `SELECT CAST(created_at AS TEXT) AS newest FROM ${quoted(this.#names[part])} ${order} LIMIT 1`;
    const [{ newest } = {}] = await this.#database.run(sql, []);
    if (column.fills && (newest == null || column.is_time || UTC_TEXT.exec(newest)?.[3] === "")) return {};
    if (column.is_time) return { created_at: new Date() };
    return { created_at: timeLike(newest ?? (NUMBER.test(column.type) ? Date.now() : "")) };
  }

  /** Returns the columns of a table by name; none for a missing table, which a host may create later. */
  async #columnsOf(part) {
    if (this.#columns.has(part)) return this.#columns.get(part);
    const { run, columnsOf } = this.#database;
    const rows = await run(...columnsOf(this.#names[part]));
    const columns = new Map(rows.map((column) => [column.name, column]));
    if (rows.length > 0) this.#columns.set(part, columns);
    return columns;
  }

  /** Checks a chat's name, a whole number or a text, and returns its key. "42" and 42 are one chat. */
  #chat(method, chatId) {
    const isText = typeof chatId === "string" && chatId !== "" && chatId.length <= MAX_CHAT_ID_CHARS;
    const isLong = typeof chatId === "bigint" && BigInt.asIntN(64, chatId) === chatId;
    const isWhole = isLong || Number.isSafeInteger(chatId);
    if (!isWhole && !(isText && isPlain(chatId))) {
      throw new TypeError(
        `${this.#owner}.${method}: chatId is ${show(chatId)}; it must be a whole number of at most 64 bits or a text of at most ${MAX_CHAT_ID_CHARS} characters, without NUL and lone surrogates`,
      );
    }
    const isNumber = Number.isSafeInteger(Number(chatId)) && String(Number(chatId)) === chatId;
    // SQLite binds a number as a float.
    return isWhole || isNumber ? BigInt(chatId) : chatId;
  }
}

const quoted = (name) => `"${name.replace(".", '"."')}"`;

/**
 * Returns the order of a chat's rows: by id, or by time if ids are texts, which need not grow. Rows without a time are the oldest.
 * A rowid of SQLite grows with each row.
 */
function newestFirst(columns) {
  const isText = !NUMBER.test(columns.get("id")?.type || "int");
  const last = isText && columns.has("rowid") ? "rowid DESC" : "id DESC";
  return isText && columns.has("created_at") ? `created_at DESC NULLS LAST, ${last}` : last;
}

/** Returns the current time in the form of another: a number from seconds to nanoseconds, or a text in UTC. The default is ISO 8601. */
function timeLike(time) {
  const now = new Date();
  if (time !== "" && Number.isFinite(Number(time))) {
    const thousands = LARGEST_TIMES.filter((largest) => Math.abs(Number(time)) > largest).length;
    return (BigInt(now.getTime()) * 1000n ** BigInt(thousands)) / 1000n;
  }
  const [, separator, fraction = "", zone] = UTC_TEXT.exec(time) ?? ["", "T", ".000", "Z"];
  const [date, clock] = now.toISOString().slice(0, -1).split("T");
  const digits = clock.slice(8).padEnd(fraction.length, "0").slice(0, fraction.length);
  return `${date}${separator}${clock.slice(0, 8)}${digits}${zone}`;
}

class SqliteProvider extends StoredHistory {
  constructor(options) {
    const owner = "SqliteProvider";
    const { db, ...checked } = checkOptions(owner, options, { ...OPTIONS, db: [undefined, anything] });
    const handle = new SqliteHandle(`${owner}: option db`, db);
    const run = async (sql, values) => handle.run(sql, values);
    super(owner, checked, { ...SQLITE, run, change: run });
  }
}

class PostgresProvider extends StoredHistory {
  constructor(options) {
    const owner = "PostgresProvider";
    const { pool, ...checked } = checkOptions(owner, options, { ...OPTIONS, pool: [undefined, anything] });
    const database = new PostgresPool(`${owner}: option pool`, pool, RETRY_MS);
    const run = (sql, values) => database.read((query) => query(sql, values));
    const change = (sql, values) => database.transaction((query) => query(sql, values), false);
    super(owner, checked, { ...POSTGRES, run, change });
  }
}

/** Returns a message as `{ role, text, extra }`; `extra` is undefined for text alone. */
function toRow(method, message) {
  const { role, content, isError, ...more } = fieldsOf(method, message);
  if (isError) more.isError = true;
  // A text that a database cannot hold is stored as JSON as well.
  if (!isPlain(content)) more.content = content;
  const extra = written(more);
  return { role, text: storable(content), extra: extra === "{}" ? undefined : extra };
}

/** Returns the fields that a history stores. It has ids and times of its own. */
function fieldsOf(method, message) {
  try {
    return checkedFields(message);
  } catch (error) {
    throw new TypeError(`${method}: ${error.message}`, { cause: error });
  }
}

const isReadable = ({ role, text }) => typeof role === "string" && ["string", "number"].includes(typeof text);

/** False for an answer that held only calls, if they were left out: some servers refuse an empty message. */
const saysSomething = ({ role, content, ...more }) =>
  role !== "assistant" || content !== "" || Object.keys(more).length > 0;

/** Returns the fields in `extra`, none for an empty one; undefined if it is unreadable. */
function extraOf({ extra }) {
  const fields = attempt(() => JSON.parse(extra || "{}"));
  return typeof fields === "object" && !Array.isArray(fields) ? fields : undefined;
}

module.exports = { PostgresProvider, SqliteProvider };
