// The history of a host's chats in two tables of a database, the host's own or new ones. A database runs the statements,
// and has the words that SQLite and Postgres do not share.
"use strict";

const { DatabaseError } = require("../native/database-error.js");
const { count, show } = require("../options.js");
const { Notices } = require("../sessions/notices.js");
const { Lane } = require("../sessions/store/lane.js");
const { checkChatId, checkCompression, fromRow, toRow } = require("./rows.js");

/** The class of `SqliteProvider` and `PostgresProvider`; `name` is theirs. */
class StoredHistory {
  #name;
  #names;
  #database;
  #notices;
  #lane = new Lane((rows) => this.#store(rows));
  /** Resolves when the database is closed; undefined as long as nobody asked for that. */
  #closed;
  /** Names of the columns of each table, once they are known. */
  #columns = new Map();

  /**
   * @param names those of the tables, quoted
   * @param open makes what `sqliteDatabase` does, with `tell(event)`
   */
  constructor(name, names, onEvent, open) {
    this.#name = name;
    this.#names = names;
    this.#notices = new Notices(name, onEvent);
    this.#database = open((event) => this.#notices.warn(event));
  }

  async getHistory(chatId, limit) {
    const method = `${this.#name}.getHistory`;
    const chat = checkChatId(method, chatId);
    if (!count.accepts(limit))
      throw new TypeError(`${method}: limit is ${show(limit)}; it must be ${count.allowed}`);
    const read = () => this.#newest(chat, limit);
    // Reading need not keep the next write waiting where a server does both.
    return this.#database.isServer ? this.#runBeside(read) : this.#open().run(read);
  }

  /** Resolves with the row's id once the message is stored. */
  async append(chatId, message) {
    const method = `${this.#name}.append`;
    const row = { chatId: checkChatId(method, chatId), ...toRow(method, message) };
    return this.#open().write(row);
  }

  /** One `context.compressed` row in the table of events. */
  async recordCompression(fields, chatId) {
    const method = `${this.#name}.recordCompression`;
    const payload = JSON.stringify(checkCompression(method, fields));
    const chat = chatId === undefined ? undefined : checkChatId(method, chatId);
    await this.#runBeside(() => this.#record(chat, payload));
  }

  /** Closes the database when what was asked so far is done; resolves then. */
  close() {
    this.#closed ??= this.#lane
      .drained()
      .then(() => this.#database.close())
      .catch(() => {});
    return this.#closed;
  }

  /** Runs a job after all earlier ones, and lets later ones begin meanwhile. */
  #runBeside(job) {
    const lane = this.#open();
    return lane.beside(lane.settled.then(job));
  }

  /** Ids of the rows, all stored or none. */
  async #store(rows) {
    const table = this.#names.history;
    const columns = await this.#columnsOf("history");
    const stored = rows.map(this.#database.exact);
    if (!columns.has("extra") && stored.some(({ extra }) => extra !== undefined)) {
      throw foreign(
        `${table} has no column for tool calls and images; ALTER TABLE ${table} ADD COLUMN extra text`,
      );
    }
    const names = ["chat_id", "role", "text", ...(columns.has("extra") ? ["extra"] : [])];
    const values = stored.map(({ chatId, role, text, extra }) => {
      return [this.#database.chatId(chatId), role, text, extra ?? null].slice(0, names.length);
    });
    const insertion = this.#insertion(table, columns, names, values, "CAST(id AS float8) AS id");
    const idsOf = (made) => made.map(({ id }) => id);
    const made = await this.#database.change(insertion, async (made, read) => {
      const [{ found }] = await read(`SELECT count(*)::int AS found FROM ${table} WHERE id = ANY($1)`, [
        idsOf(made),
      ]);
      return found === made.length;
    });
    return idsOf(made);
  }

  /** The newest messages, oldest first; rows among them that are none are passed over. */
  async #newest(chatId, limit) {
    const columns = await this.#columnsOf("history");
    const { text, isText } = this.#database;
    const extra = columns.has("extra") ? text("extra") : "NULL AS extra";
    const select = async (where) => {
      const rows = await this.#database.read(
        `SELECT ${text("role")}, ${text("text")}, ${extra} FROM ${this.#names.history}
         WHERE chat_id = $1 ${where} ORDER BY id DESC LIMIT $2`,
        [this.#database.chatId(chatId), limit],
      );
      return rows.map(fromRow).reverse();
    };
    const isMessage = (message) => message !== undefined;
    let messages = await select("");
    if (messages.every(isMessage)) return messages;
    const rows = messages.length - messages.filter(isMessage).length;
    const message = `${rows} rows of the chat ${JSON.stringify(chatId)} are no messages and were passed over.`;
    this.#notices.warn({ type: "rows_skipped", message, chatId, rows });
    messages = await select(`AND ${isText("role")} AND ${isText("text")}`);
    return messages.filter(isMessage);
  }

  async #record(chatId, payload) {
    const table = this.#names.events;
    const columns = await this.#columnsOf("events");
    const type = ["event_type", "type"].find((column) => columns.has(column));
    if (type === undefined || !columns.has("payload")) {
      throw foreign(`${table} has no columns event_type and payload`);
    }
    const hasChat = columns.has("chat_id") && chatId !== undefined;
    const names = [type, "payload", ...(hasChat ? ["chat_id"] : [])];
    const values = ["context.compressed", payload, ...(hasChat ? [this.#database.chatId(chatId)] : [])];
    const statement = this.#insertion(table, columns, names, [values], "1 AS stored");
    await this.#database.change(statement, () => true, this.#database.recordMs);
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

  /** The lane of work; throws once this was closed. */
  #open() {
    if (this.#closed === undefined) return this.#lane;
    throw new DatabaseError(
      "ERR_DATABASE_CLOSED",
      `the database was closed; make a new ${this.#name} to go on`,
    );
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

module.exports = { StoredHistory, created };
