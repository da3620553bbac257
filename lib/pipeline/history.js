// The history of a host's chats in two tables of a database, the host's own or new ones: what is written and read, and
// the statements for it. A database runs them, and has the words that SQLite and Postgres do not share.
"use strict";

const { DatabaseError } = require("../native/database-error.js");

/** Five parameters each at the most; Postgres takes 65 535, SQLite 32 766. */
const ROWS_PER_STATEMENT = 1_000;
/** The columns that a table must have. Without one of events, messages can be read all the same. */
const COLUMNS = { history: ["id", "chat_id", "role", "text"], events: [] };

class History {
  #database;
  #names;
  /** Names of the columns of each table, once they are known. */
  #columns = new Map();

  /** @param database what `SqliteDatabase` has; `names` are those of the tables, quoted */
  constructor(database, names) {
    this.#database = database;
    this.#names = names;
  }

  get isServer() {
    return this.#database.isServer;
  }

  /** Ids of the rows, all stored or none. */
  async append(rows) {
    const table = this.#names.history;
    const columns = await this.#columnsOf("history");
    const stored = rows.map(this.#database.exact);
    if (!columns.has("extra") && stored.some(({ extra }) => extra !== undefined)) {
      throw foreign(
        `${table} has no column for tool calls and images; ALTER TABLE ${table} ADD COLUMN extra text`,
      );
    }
    const names = ["chat_id", "role", "text", ...(columns.has("extra") ? ["extra"] : [])];
    const statements = [];
    for (let from = 0; from < stored.length; from += ROWS_PER_STATEMENT) {
      const values = stored.slice(from, from + ROWS_PER_STATEMENT).map(({ chatId, role, text, extra }) => {
        return [this.#database.chatId(chatId), role, text, extra ?? null].slice(0, names.length);
      });
      statements.push(this.#insertion(table, columns, names, values, "CAST(id AS float8) AS id"));
    }
    const answers = await this.#database.change(statements, async (made, read) => {
      const ids = made.flat().map(({ id }) => id);
      const [{ found }] = await read(`SELECT count(*)::int AS found FROM ${table} WHERE id = ANY($1)`, [ids]);
      return found === ids.length;
    });
    return answers.flat().map(({ id }) => id);
  }

  /** `{ rows, skipped }`: the newest messages, oldest first, and the number of rows among them that are none. */
  async newest(chatId, limit) {
    const columns = await this.#columnsOf("history");
    const text = this.#database.text;
    const extra = columns.has("extra") ? text("extra") : "NULL AS extra";
    const select = (where) =>
      this.#database.read(
        `SELECT ${text("role")}, ${text("text")}, ${extra} FROM ${this.#names.history}
         WHERE chat_id = $1 ${where} ORDER BY id DESC LIMIT $2`,
        [this.#database.chatId(chatId), limit],
      );
    const isMessage = (row) => typeof row.role === "string" && typeof row.text === "string";
    let rows = await select("");
    const skipped = rows.filter((row) => !isMessage(row)).length;
    if (skipped > 0)
      rows = await select(`AND ${this.#database.isText("role")} AND ${this.#database.isText("text")}`);
    return { rows: rows.filter(isMessage).reverse(), skipped };
  }

  async record(kind, chatId, payload) {
    const table = this.#names.events;
    const columns = await this.#columnsOf("events");
    const type = ["event_type", "type"].find((column) => columns.has(column));
    if (type === undefined || !columns.has("payload")) {
      throw foreign(`${table} has no columns event_type and payload`);
    }
    const hasChat = columns.has("chat_id") && chatId !== undefined;
    const names = [type, "payload", ...(hasChat ? ["chat_id"] : [])];
    const values = [kind, payload, ...(hasChat ? [this.#database.chatId(chatId)] : [])];
    const statement = this.#insertion(table, columns, names, [values], "1 AS stored");
    await this.#database.change([statement], () => true, this.#database.recordMs);
  }

  close() {
    return this.#database.close();
  }

  /** A parameter for each value: so each takes the type of the host's column, whatever that is. */
  #insertion(table, columns, names, rows, answer) {
    const { now } = this.#database;
    const isTimed = now !== undefined && columns.has("created_at");
    const tuples = rows.map((values, i) => {
      const marks = values.map((_, j) => `$${i * names.length + j + 1}`);
      return `(${[...marks, ...(isTimed ? [now] : [])]})`;
    });
    const into = [...names, ...(isTimed ? ["created_at"] : [])];
    return [`INSERT INTO ${table} (${into}) VALUES ${tuples} RETURNING ${answer}`, rows.flat()];
  }

  /** The columns of a table, which is made if it is not there. */
  async #columnsOf(part) {
    let columns = this.#columns.get(part);
    if (columns === undefined) {
      const names = await this.#database.columnsOf(this.#names[part], part);
      columns = new Set(names.map(({ name }) => name));
      this.#columns.set(part, columns);
    }
    return columns;
  }
}

/** The script that makes a table where it is not there. `types` are the database's own. */
function created(part, table, { id, chat, json, time }) {
  if (part === "events") {
    return `CREATE TABLE IF NOT EXISTS ${table}
      (id ${id}, chat_id ${chat}, event_type text NOT NULL, payload ${json} NOT NULL, created_at ${time});`;
  }
  // Tool calls, results and images stand in `extra` as JSON, which is NULL where a message is text alone.
  return `CREATE TABLE IF NOT EXISTS ${table}
    (id ${id}, chat_id ${chat} NOT NULL, role text NOT NULL, text text NOT NULL, extra text, created_at ${time});`;
}

function foreign(what) {
  return new DatabaseError("ERR_DATABASE_FOREIGN", `the table ${what}`);
}

module.exports = { COLUMNS, History, created };
