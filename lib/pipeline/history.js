// The history of a host's chats in two tables of a database, the host's own or new ones. Jobs run one after the other, and
// messages that arrive while one is being stored are stored together in the next transaction. A database runs the
// statements, and has the words that SQLite and Postgres do not share.
"use strict";

const { DatabaseError } = require("../native/database-error.js");
const { Reporter } = require("../hook/events.js");
const { checkChatId, checkCompression, checkLimit, fromRow, toRow } = require("./rows.js");

/** Five parameters each at the most; Postgres takes 65 535, SQLite 32 766. */
const ROWS_PER_STATEMENT = 1_000;
/** The columns that a table must have. Without one of events, messages can be read all the same. */
const COLUMNS = { history: ["id", "chat_id", "role", "text"], events: [] };
/** Failures of one message rather than of the database. */
const UNFIT = new Set(["ERR_DATABASE_FOREIGN", "ERR_DATABASE_VALUE"]);

/** The class of `SqliteProvider` and `PostgresProvider`; `name` is theirs. */
class StoredHistory {
  #name;
  #names;
  #database;
  #reporter;
  #isClosed = false;
  /** The appends that the newest job will store, as long as more may join them. */
  #batch;
  /** Settles when the newest job has; never rejects. */
  #last = Promise.resolve();
  /** Jobs that nobody after them waits for, but closing. */
  #beside = new Set();
  #saysUnreadable = true;
  /** Names of the columns of each table, once they are known. */
  #columns = new Map();

  /**
   * @param names those of the tables, quoted
   * @param open makes what `SqliteDatabase` is, with `tell(event, code)`
   */
  constructor(name, names, onEvent, open) {
    this.#name = name;
    this.#names = names;
    this.#reporter = new Reporter(onEvent);
    this.#database = open((event, code) => this.#tell(event, code));
  }

  async getHistory(chatId, limit) {
    const method = `${this.#name}.getHistory`;
    const chat = checkChatId(method, chatId);
    checkLimit(method, limit);
    // Reading need not keep the next write waiting where a server does both.
    return this.#run(() => this.#newest(chat, limit), this.#database.isServer);
  }

  /** Resolves with the row's id once the message is stored. */
  async append(chatId, message) {
    const method = `${this.#name}.append`;
    const row = { chatId: checkChatId(method, chatId), ...toRow(method, message) };
    this.#checkOpen();
    if (this.#batch === undefined) {
      const batch = [];
      this.#run(() => this.#storeBatch(batch)).catch((error) => this.#abandon(batch, error));
      this.#batch = batch;
    }
    return new Promise((resolve, reject) => this.#batch.push({ row, resolve, reject }));
  }

  /** One `context.compressed` row in the table of events. */
  async recordCompression(fields, chatId) {
    const method = `${this.#name}.recordCompression`;
    const payload = JSON.stringify(checkCompression(method, fields));
    const chat = chatId === undefined ? undefined : checkChatId(method, chatId);
    await this.#run(() => this.#record("context.compressed", chat, payload), true);
  }

  /** Closes the database when what was asked so far is done; resolves then. */
  close() {
    if (this.#isClosed) return this.#last;
    this.#run(async () => {
      await Promise.all(this.#beside);
      await this.#database.close();
    }).catch(() => {});
    this.#isClosed = true;
    return this.#last;
  }

  async #storeBatch(batch) {
    if (this.#batch === batch) this.#batch = undefined;
    try {
      const ids = await this.#store(batch.map(({ row }) => row));
      for (const [i, { resolve }] of batch.entries()) resolve(ids[i]);
    } catch (error) {
      // A message that the table cannot take must not take the others with it.
      if (batch.length === 1 || !UNFIT.has(error?.code)) throw error;
      for (const one of batch) await this.#storeBatch([one]).catch((reason) => one.reject(reason));
    }
  }

  /** Nothing more may join a batch that failed, even if it never got as far as the store. */
  #abandon(batch, error) {
    if (this.#batch === batch) this.#batch = undefined;
    for (const { reject } of batch) reject(error);
  }

  /** Runs a job after all earlier ones; one `isBeside` others lets later ones begin. */
  async #run(job, isBeside = false) {
    this.#checkOpen();
    // Messages appended from now on come after this job.
    this.#batch = undefined;
    const outcome = this.#last.then(job);
    const done = () => {
      this.#beside.delete(settled);
    };
    const settled = outcome.then(done, done);
    if (isBeside) this.#beside.add(settled);
    else this.#last = settled;
    return outcome;
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
    this.#reportSkipped(chatId, messages.length - messages.filter(isMessage).length);
    messages = await select(`AND ${isText("role")} AND ${isText("text")}`);
    return messages.filter(isMessage);
  }

  async #record(kind, chatId, payload) {
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

  #reportSkipped(chatId, rows) {
    if (!this.#reporter.isListening && !this.#saysUnreadable) return;
    this.#saysUnreadable = false;
    const message = `${rows} rows of the chat ${JSON.stringify(chatId)} are no messages and were passed over.`;
    this.#tell({ type: "rows_skipped", message, chatId, rows }, "ROWS_SKIPPED");
  }

  /** Tells what went wrong, by a process warning where nobody listens. */
  #tell(event, code) {
    if (this.#reporter.isListening) this.#reporter.emit(event);
    else if (code !== undefined) process.emitWarning(event.message, { code });
  }

  #checkOpen() {
    if (this.#isClosed) {
      throw new DatabaseError(
        "ERR_DATABASE_CLOSED",
        `the database was closed; make a new ${this.#name} to go on`,
      );
    }
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

module.exports = { COLUMNS, StoredHistory, created };
