// The history of a host's chats in an embedded SQLite file. Everything runs on a worker, one job after the other;
// messages that arrive while one is being stored are stored together in the next transaction.
"use strict";

const { DatabaseError, withCode } = require("../database-error.js");
const { Reporter } = require("../events.js");
const { native } = require("../native.js");
const { checkOptions, count, handler, show } = require("../options.js");

const ROLES = ["system", "user", "assistant"];
const OPTIONS = { onEvent: [undefined, handler] };
const COMPRESSION_FIELDS = ["original_count", "compressed_count", "max_messages", "max_chars_per_message"];

class SqliteProvider {
  #path;
  #reporter;
  #store;
  #isClosed = false;
  /** The appends that the newest job will store, as long as more may join them. */
  #batch;
  /** Settles when the newest job has; never rejects. */
  #last = Promise.resolve();

  constructor(path, options) {
    if (typeof path !== "string" || path === "") {
      throw new TypeError('SqliteProvider: path must be the name of a file, or ":memory:"');
    }
    this.#path = path;
    this.#reporter = new Reporter(checkOptions("SqliteProvider", options, OPTIONS).onEvent);
  }

  async getHistory(chatId, limit) {
    checkChatId("getHistory", chatId);
    if (!count.accepts(limit)) {
      throw new TypeError(`SqliteProvider.getHistory: limit is ${show(limit)}; it must be ${count.allowed}`);
    }
    return this.#run((store) => store.newest(chatId, limit));
  }

  /** Resolves with the row's id once the message is stored. */
  async append(chatId, message) {
    checkChatId("append", chatId);
    const { role, content } = message ?? {};
    if (!ROLES.includes(role) || typeof content !== "string") {
      throw new TypeError(
        `SqliteProvider.append: message must be { role: ${ROLES.join(" | ")}, content: string }; its role is ${show(role)}`,
      );
    }
    this.#checkOpen();
    if (this.#batch === undefined) {
      const batch = [];
      this.#run((store) => this.#storeBatch(store, batch)).catch((error) => this.#abandon(batch, error));
      this.#batch = batch;
    }
    return new Promise((resolve, reject) =>
      this.#batch.push({ entry: { chatId, role, content }, resolve, reject }),
    );
  }

  /** One `context.compressed` row in the table `events`. */
  async recordCompression(fields) {
    const row = {};
    for (const name of COMPRESSION_FIELDS) {
      const value = fields?.[name];
      if (!count.accepts(value)) {
        throw new TypeError(
          `SqliteProvider.recordCompression: ${name} is ${show(value)}; it must be ${count.allowed}`,
        );
      }
      row[name] = value;
    }
    await this.#run((store) => store.record("context.compressed", JSON.stringify(row)));
  }

  /** Closes the file when what was asked so far is done; resolves then. */
  close() {
    if (this.#isClosed) return this.#last;
    this.#run((store) => store.close()).catch(() => {});
    this.#isClosed = true;
    return this.#last;
  }

  async #storeBatch(store, batch) {
    if (this.#batch === batch) this.#batch = undefined;
    const ids = await store.append(batch.map(({ entry }) => entry));
    for (const [i, { resolve }] of batch.entries()) resolve(ids[i]);
  }

  /** Nothing more may join a batch that failed, even if it never got as far as the store. */
  #abandon(batch, error) {
    if (this.#batch === batch) this.#batch = undefined;
    for (const { reject } of batch) reject(error);
  }

  /** Runs a job after all earlier ones. */
  async #run(job) {
    this.#checkOpen();
    // What is appended from now on comes after this job.
    this.#batch = undefined;
    const outcome = this.#last.then(() => withCode(this.#attempt(job)));
    this.#last = outcome.then(
      () => undefined,
      () => undefined,
    );
    return outcome;
  }

  async #attempt(job) {
    this.#store ??= new (native().HistoryStore)(this.#path);
    try {
      return await job(this.#store);
    } finally {
      const setAside = this.#store.takeSetAside();
      if (setAside) this.#tell(setAside);
    }
  }

  /** A damaged file is nothing to be silent about, even where nobody listens. */
  #tell(setAside) {
    const message = `The damaged database ${this.#path} was moved to ${setAside}; a new one is in its place.`;
    if (this.#reporter.isListening) {
      this.#reporter.emit({ type: "database_set_aside", message, path: this.#path, setAside });
    } else {
      process.emitWarning(message, { code: "DATABASE_SET_ASIDE" });
    }
  }

  #checkOpen() {
    if (this.#isClosed) {
      throw new DatabaseError(
        "ERR_DATABASE_CLOSED",
        "the database was closed; make a new SqliteProvider to go on",
      );
    }
  }
}

function checkChatId(method, chatId) {
  if (!Number.isSafeInteger(chatId)) {
    throw new TypeError(`SqliteProvider.${method}: chatId is ${show(chatId)}; it must be a whole number`);
  }
}

module.exports = { SqliteProvider };
