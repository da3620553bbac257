// The history of a host's chats in Postgres, in tables of the host's or in new ones.
"use strict";

const { DatabaseError } = require("../native/database-error.js");
const { PostgresConnection, checkConnection } = require("../sessions/store/postgres_connection.js");
const { makeTables } = require("../sessions/store/postgres_schema.js");
const { isStorable, storable } = require("./rows.js");
const { StoredHistory } = require("./stored.js");

const NAME = "[A-Za-z_][A-Za-z0-9_]{0,62}";
const TABLE = new RegExp(`^(?:${NAME}\\.)?${NAME}$`);
const tableName = {
  allowed: "the name of a table, with its schema or without: letters, digits and _",
  accepts: (value) => typeof value === "string" && TABLE.test(value),
};
/** Four parameters each; the protocol takes 65 535. */
const ROWS_PER_STATEMENT = 1_000;
const OPTIONS = { historyTable: ["history", tableName], eventsTable: ["events", tableName] };

class PostgresProvider extends StoredHistory {
  constructor(options) {
    const checked = checkConnection("PostgresProvider", options, OPTIONS);
    super("PostgresProvider", checked.onEvent, (tell) => new PostgresHistory(checked, tell));
  }
}

class PostgresHistory {
  isServer = true;
  #connection;
  #history;
  #events;
  /** Names of the columns, once they are known. */
  #columns = new Map();

  constructor(options, tell) {
    this.#history = quoted(options.historyTable);
    this.#events = quoted(options.eventsTable);
    this.#connection = new PostgresConnection(options, tell);
  }

  async append(rows) {
    const columns = await this.#columnsOf("history", this.#history);
    const stored = rows.map(exact);
    if (!columns.has("extra") && stored.some(({ extra }) => extra !== undefined)) {
      throw new DatabaseError(
        "ERR_DATABASE_FOREIGN",
        `the table ${this.#history} has no column for tool calls, images and NUL; ALTER TABLE ${this.#history} ADD COLUMN extra text`,
      );
    }
    const names = ["chat_id", "role", "text", ...(columns.has("extra") ? ["extra"] : [])];
    const statements = [];
    for (let from = 0; from < stored.length; from += ROWS_PER_STATEMENT) {
      statements.push(this.#insertion(names, stored.slice(from, from + ROWS_PER_STATEMENT)));
    }
    return this.#insert(statements);
  }

  async newest(chatId, limit) {
    const columns = await this.#columnsOf("history", this.#history);
    const extra = columns.has("extra") ? "extra::text" : "NULL AS extra";
    const select = (where) =>
      this.#connection.read(
        `SELECT role::text, text::text, ${extra} FROM ${this.#history} WHERE chat_id = $1 ${where} ORDER BY id DESC LIMIT $2`,
        [String(chatId), limit],
      );
    let { rows } = await select("");
    const skipped = rows.filter(({ role, text }) => role === null || text === null).length;
    if (skipped > 0) ({ rows } = await select("AND role IS NOT NULL AND text IS NOT NULL"));
    return { rows: rows.reverse(), skipped };
  }

  async record(kind, chatId, payload) {
    const columns = await this.#columnsOf("events", this.#events);
    const name = ["event_type", "type"].find((column) => columns.has(column));
    if (name === undefined || !columns.has("payload")) {
      throw new DatabaseError(
        "ERR_DATABASE_FOREIGN",
        `the table ${this.#events} has no columns event_type and payload`,
      );
    }
    const hasChat = columns.has("chat_id") && chatId !== undefined;
    const statement = `INSERT INTO ${this.#events} (${name}, payload${hasChat ? ", chat_id" : ""})
      VALUES ($1, $2${hasChat ? ", $3" : ""}) RETURNING 1`;
    await this.#connection.transaction(
      (query) => query(statement, [kind, payload, ...(hasChat ? [String(chatId)] : [])]),
      () => true,
    );
  }

  close() {
    return this.#connection.close();
  }

  /** A parameter for each value: so each takes the type of the host's column, whatever that is. */
  #insertion(names, rows) {
    const values = rows.flatMap(({ chatId, role, text, extra }) =>
      [String(chatId), role, text, extra ?? null].slice(0, names.length),
    );
    const tuples = rows.map((_, i) => `(${names.map((_, j) => `$${i * names.length + j + 1}`)})`);
    const statement = `INSERT INTO ${this.#history} (${names}) VALUES ${tuples} RETURNING id::float8`;
    return { statement, values };
  }

  #insert(statements) {
    return this.#connection.transaction(
      async (query) => {
        const ids = [];
        for (const { statement, values } of statements) {
          const { rows } = await query(statement, values);
          ids.push(...rows.map(({ id }) => id));
        }
        return ids;
      },
      async (ids, read) => {
        const found = await read(`SELECT count(*)::int AS found FROM ${this.#history} WHERE id = ANY($1)`, [
          ids,
        ]);
        return found.rows[0].found === ids.length;
      },
    );
  }

  /** The columns of a table, which is made if it is not there. */
  async #columnsOf(part, table) {
    const known = this.#columns.get(part);
    if (known !== undefined) return known;
    await makeTables(this.#connection, part, table);
    const { rows } = await this.#connection.read(
      "SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
      [table],
    );
    const columns = new Set(rows.map(({ name }) => name));
    this.#columns.set(part, columns);
    return columns;
  }
}

function quoted(name) {
  return name
    .split(".")
    .map((part) => `"${part}"`)
    .join(".");
}

/** The part that Postgres' text cannot hold, kept as JSON beside it. */
function exact(row) {
  if (isStorable(row.text)) return row;
  const { content = row.text, ...more } = row.extra === undefined ? {} : JSON.parse(row.extra);
  return { ...row, text: storable(row.text), extra: JSON.stringify({ content, ...more }) };
}

module.exports = { PostgresProvider };
