// The history of a host's chats in the host's own table, behind its own handle of SQLite or pool of Postgres. The table is never
// made or changed; the table of events is made where it is missing.
"use strict";

const { checkOptions, count, handler, show } = require("../options.js");
const { DatabaseError } = require("../sessions/database_errors.js");
const { Notices } = require("../sessions/notices.js");
const { PostgresPool } = require("../sessions/postgres.js");
const { SqliteHandle } = require("../sessions/sqlite.js");
const { isPlain, storable } = require("../shapes/text.js");

const ROLES = ["system", "user", "assistant", "tool"];
const COMPRESSION_FIELDS = ["original_count", "compressed_count", "max_messages", "max_chars_per_message"];
/** UTF-16 units of a chat's name: every database can index that. */
const MAX_CHAT_ID_CHARS = 256;
/** A larger number in `created_at` is milliseconds: as seconds it would lie beyond the year 5000. */
const MOST_SECONDS = 1e11;
/** ms for which a statement is tried again while the server of Postgres is away. */
const RETRY_MS = 10_000;

const NAME = "[A-Za-z_][A-Za-z0-9_]{0,62}";
const tableName = {
  allowed: "the name of a table, with its schema or without: letters, digits and _",
  accepts: (value) => typeof value === "string" && new RegExp(`^(?:${NAME}\\.)?${NAME}$`).test(value),
};
const OPTIONS = {
  historyTable: ["history", tableName],
  eventsTable: ["events", tableName],
  onEvent: [undefined, handler],
};

/** The class of both providers. `words` are what the databases do not share. */
class StoredHistory {
  #owner;
  #words;
  #names;
  #notices;
  /** True once the host heard that calls and images are left out. */
  #isTold = false;
  /** Columns of a table by name, once they are known. */
  #columns = new Map();

  constructor(owner, { historyTable, eventsTable, onEvent }, words) {
    this.#owner = owner;
    this.#words = words;
    const quoted = (name) => `"${name.replace(".", '"."')}"`;
    this.#names = { history: quoted(historyTable), events: quoted(eventsTable) };
    this.#notices = new Notices(owner, onEvent);
  }

  /** The newest messages, oldest first; rows among them that are none are passed over. */
  async getHistory(chatId, limit) {
    const method = `${this.#owner}.getHistory`;
    const chat = checkChatId(method, chatId);
    if (!count.accepts(limit))
      throw new TypeError(`${method}: limit is ${show(limit)}; it must be ${count.allowed}`);
    const { run, chatKey, text, isText } = this.#words;
    const extra = (await this.#columnsOf("history")).has("extra") ? text("extra") : "NULL AS extra";
    const select = async (where) => {
      const rows = await run(
        `SELECT ${text("role")}, ${text("text")}, ${extra} FROM ${this.#names.history}
         WHERE chat_id = ? ${where} ORDER BY id DESC LIMIT ?`,
        [chatKey(chat), limit],
      );
      return rows.map(fromRow).reverse();
    };
    const messages = await select("");
    const rows = messages.filter((message) => message === undefined).length;
    if (rows === 0) return messages;
    const message = `${rows} rows of the chat ${JSON.stringify(chatId)} are no messages and were passed over.`;
    this.#notices.warn({ type: "rows_skipped", message, chatId, rows });
    return (await select(`AND ${isText("role")} AND ${isText("text")}`)).filter((one) => one !== undefined);
  }

  /** Resolves with the row's id once the message is stored. */
  async append(chatId, message) {
    const method = `${this.#owner}.append`;
    const { role, text, extra } = toRow(method, message);
    const columns = await this.#columnsOf("history");
    const values = { chat_id: this.#words.chatKey(checkChatId(method, chatId)), role, text: storable(text) };
    if (columns.has("extra")) values.extra = extra ?? null;
    else if (extra !== undefined && !this.#isTold) {
      this.#isTold = true;
      const told = `the table ${this.#names.history} has no column "extra": calls and images are left out`;
      this.#notices.warn({ type: "extra_left_out", message: told });
    }
    const [{ id }] = await this.#insert("history", values, "RETURNING id");
    return Number(id);
  }

  /** One `context.compressed` row in the table of events. */
  async recordCompression(fields, chatId) {
    const method = `${this.#owner}.recordCompression`;
    const payload = JSON.stringify(checkCompression(method, fields));
    const key = chatId === undefined ? null : this.#words.chatKey(checkChatId(method, chatId));
    await this.#words.run(`CREATE TABLE IF NOT EXISTS ${this.#names.events} ${this.#words.events}`, []);
    const columns = await this.#columnsOf("events");
    const type = ["event_type", "type"].find((name) => columns.has(name));
    if (type === undefined)
      throw new DatabaseError("FOREIGN", `${this.#names.events} has no column event_type`);
    await this.#insert(
      "events",
      { [type]: "context.compressed", payload, ...(columns.has("chat_id") && { chat_id: key }) },
      "",
    );
  }

  async #insert(part, values, ending) {
    const { now } = await this.#clockOf(part);
    const row = now === undefined ? values : { ...values, created_at: now };
    const marks = Object.keys(row).map(() => "?");
    const sql = `INSERT INTO ${this.#names[part]} (${Object.keys(row)}) VALUES (${marks}) ${ending}`;
    return this.#words.change(sql, Object.values(row));
  }

  /** The time as the newest row of a table has it; `now` is undefined where the column fills itself or is missing. */
  async #clockOf(part) {
    const column = (await this.#columnsOf(part)).get("created_at");
    if (column === undefined) return {};
    const [newest] = await this.#words.run(
      `SELECT created_at FROM ${this.#names[part]} ORDER BY id DESC LIMIT 1`,
      [],
    );
    const known = newest?.created_at ?? undefined;
    if (known === undefined && column.fills) return {};
    return { now: timeLike(known ?? (/int|real|num|double/i.test(column.type) ? Date.now() : "")) };
  }

  async #columnsOf(part) {
    const known = this.#columns.get(part);
    if (known !== undefined) return known;
    const rows = await this.#words.columns(this.#names[part]);
    if (rows.length === 0) throw new DatabaseError("NO_TABLE", this.#names[part]);
    const columns = new Map(rows.map(({ name, ...column }) => [name, column]));
    const needed = part === "history" ? ["id", "chat_id", "role", "text"] : ["payload"];
    for (const name of needed)
      if (!columns.has(name))
        throw new DatabaseError("FOREIGN", `${this.#names[part]} has no column ${name}`);
    this.#columns.set(part, columns);
    return columns;
  }
}

/** Now in the form of another time: a Date, seconds or milliseconds, SQLite's own text, else ISO 8601. */
function timeLike(time) {
  const now = new Date();
  if (time instanceof Date) return now;
  if (time !== "" && Number.isFinite(Number(time))) {
    const number = Math.abs(Number(time)) > MOST_SECONDS ? now.getTime() : Math.floor(now.getTime() / 1000);
    return BigInt(number);
  }
  return /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(time)
    ? now.toISOString().slice(0, 19).replace("T", " ")
    : now.toISOString();
}

class SqliteProvider extends StoredHistory {
  constructor(options) {
    const { db, ...checked } = checkOptions("SqliteProvider", options, {
      ...OPTIONS,
      db: [undefined, { accepts: () => true }],
    });
    const handle = new SqliteHandle("SqliteProvider: option db", db);
    const run = async (sql, values) => handle.run(sql, values);
    const columns = (table) =>
      run("SELECT name, type, dflt_value IS NOT NULL AS fills FROM pragma_table_info(?)", [
        table.replaceAll('"', ""),
      ]);
    super("SqliteProvider", checked, {
      run,
      change: run,
      columns,
      // A number is bound as a float, which a column of texts would write as "42.0".
      chatKey: (chatId) => (typeof chatId === "number" ? BigInt(chatId) : chatId),
      text: (column) => column,
      isText: (column) => `typeof(${column}) = 'text'`,
      events:
        "(id INTEGER PRIMARY KEY, chat_id, event_type text NOT NULL, payload text NOT NULL, created_at text NOT NULL)",
    });
  }
}

class PostgresProvider extends StoredHistory {
  constructor(options) {
    const { pool, ...checked } = checkOptions("PostgresProvider", options, {
      ...OPTIONS,
      pool: [undefined, { accepts: () => true }],
    });
    const database = new PostgresPool("PostgresProvider: option pool", pool, RETRY_MS);
    super("PostgresProvider", checked, {
      run: (sql, values) => database.read((query) => query(sql, values)),
      change: (sql, values) => database.transaction((query) => query(sql, values), false),
      columns: (table) =>
        database.read((query) =>
          query(
            `SELECT attname AS name, format_type(atttypid, atttypmod) AS type, atthasdef AS fills FROM pg_attribute
             WHERE attrelid = to_regclass(?) AND attnum > 0 AND NOT attisdropped`,
            [table],
          ),
        ),
      chatKey: String,
      text: (column) => `${column}::text AS ${column}`,
      isText: (column) => `${column} IS NOT NULL`,
      events: `(id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, chat_id text, event_type text NOT NULL, payload jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now())`,
    });
  }
}

/** A chat's name: a whole number, or a text; one that writes a whole number is that number. */
function checkChatId(method, chatId) {
  if (Number.isSafeInteger(chatId)) return chatId;
  const isName = typeof chatId === "string" && chatId !== "" && chatId.length <= MAX_CHAT_ID_CHARS;
  if (!isName || !isPlain(chatId)) {
    throw new TypeError(
      `${method}: chatId is ${show(chatId)}; it must be a whole number or a text of at most ${MAX_CHAT_ID_CHARS} characters, without NUL and lone surrogates`,
    );
  }
  const number = Number(chatId);
  return Number.isSafeInteger(number) && String(number) === chatId ? number : chatId;
}

/** A message as `{ role, text, extra }`; `extra` is undefined where the text says it all. */
function toRow(method, message) {
  const { role, content, blocks, toolCalls, toolCallId, isError, original } = message ?? {};
  if (!ROLES.includes(role) || typeof content !== "string") {
    throw new TypeError(
      `${method}: message must be { role: ${ROLES.join(" | ")}, content: string }; its role is ${show(role)}`,
    );
  }
  // A text that a database may not hold is kept as JSON beside it.
  const exact = isPlain(content) ? undefined : content;
  const more = {
    content: exact,
    blocks,
    toolCalls,
    toolCallId,
    isError: isError === true || undefined,
    original,
  };
  try {
    const json = JSON.stringify(more);
    return { role, text: content, extra: json === "{}" ? undefined : json };
  } catch {
    throw new TypeError(`${method}: the calls or blocks of the message cannot be written as JSON`);
  }
}

/** The message of a row; undefined for a row that is none. */
function fromRow({ role, text, extra }) {
  if (typeof role !== "string" || typeof text !== "string") return undefined;
  try {
    return { role, content: text, ...JSON.parse(extra ?? "{}") };
  } catch {
    return undefined;
  }
}

function checkCompression(method, fields) {
  return Object.fromEntries(
    COMPRESSION_FIELDS.map((name) => {
      const value = fields?.[name];
      if (count.accepts(value)) return [name, value];
      throw new TypeError(`${method}: ${name} is ${show(value)}; it must be ${count.allowed}`);
    }),
  );
}

module.exports = { PostgresProvider, SqliteProvider };
