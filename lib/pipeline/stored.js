// A history in a database: jobs one after the other, and messages that arrive while one is being stored are stored
// together in the next transaction. What a job does is the business of the database's own class.
"use strict";

const { DatabaseError } = require("../native/database-error.js");
const { Reporter } = require("../hook/events.js");
const { checkChatId, checkCompression, checkLimit, fromRow, toRow } = require("./rows.js");

/** The class of `SqliteProvider` and `PostgresProvider`; `name` is theirs. */
class StoredHistory {
  #name;
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

  /**
   * @param open makes, with `tell(event)`, what has `append(rows)`, `newest(chatId, limit)`, `record(kind, chatId,
   *   payload)` and `close()`; with `isServer`, reading need not keep the next write waiting
   */
  constructor(name, onEvent, open) {
    this.#name = name;
    this.#reporter = new Reporter(onEvent);
    this.#database = open((event, code) => this.#tell(event, code));
  }

  async getHistory(chatId, limit) {
    const method = `${this.#name}.getHistory`;
    const chat = checkChatId(method, chatId);
    checkLimit(method, limit);
    const job = () => this.#database.newest(chat, limit);
    const { rows, skipped } = await this.#run(job, this.#database.isServer);
    const messages = rows.map(fromRow);
    const readable = messages.filter((message) => message !== undefined);
    this.#reportSkipped(chat, skipped + messages.length - readable.length);
    return readable;
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
    await this.#run(() => this.#database.record("context.compressed", chat, payload), true);
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
      const ids = await this.#database.append(batch.map(({ row }) => row));
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

  #reportSkipped(chatId, rows) {
    if (rows === 0) return;
    const message = `${rows} rows of the chat ${JSON.stringify(chatId)} are no messages and were passed over.`;
    if (!this.#reporter.isListening && !this.#saysUnreadable) return;
    this.#saysUnreadable = false;
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

/** Failures of one message rather than of the database. */
const UNFIT = new Set(["ERR_DATABASE_FOREIGN", "ERR_DATABASE_VALUE"]);

module.exports = { StoredHistory };
