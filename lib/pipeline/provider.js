// The history of a host's chats in an embedded SQLite file. Everything runs on a worker.
"use strict";

const { withCode } = require("../native/database-error.js");
const { native } = require("../native/native.js");
const { checkOptions, handler } = require("../hook/options.js");
const { tableName } = require("./rows.js");
const { StoredHistory } = require("./stored.js");

const OPTIONS = {
  historyTable: ["history", tableName],
  eventsTable: ["events", tableName],
  onEvent: [undefined, handler],
};

class SqliteProvider extends StoredHistory {
  constructor(path, options) {
    if (typeof path !== "string" || path === "") {
      throw new TypeError('SqliteProvider: path must be the name of a file, or ":memory:"');
    }
    const { historyTable, eventsTable, onEvent } = checkOptions("SqliteProvider", options, OPTIONS);
    super("SqliteProvider", onEvent, (tell) => new SqliteHistory(path, historyTable, eventsTable, tell));
  }
}

class SqliteHistory {
  #path;
  #tables;
  #tell;
  #store;

  constructor(path, historyTable, eventsTable, tell) {
    this.#path = path;
    this.#tables = [historyTable, eventsTable];
    this.#tell = tell;
  }

  append(rows) {
    return this.#run((store) => store.append(rows));
  }

  newest(chatId, limit) {
    return this.#run((store) => store.newest(chatId, limit));
  }

  record(kind, chatId, payload) {
    return this.#run((store) => store.record(kind, chatId, payload));
  }

  close() {
    return this.#run((store) => store.close());
  }

  async #run(job) {
    this.#store ??= new (native().HistoryStore)(this.#path, ...this.#tables);
    try {
      return await withCode(job(this.#store));
    } finally {
      const setAside = this.#store.takeSetAside();
      if (setAside) this.#reportSetAside(setAside);
    }
  }

  #reportSetAside(setAside) {
    const message = `The damaged database ${this.#path} was moved to ${setAside}; a new one is in its place.`;
    const event = { type: "database_set_aside", message, path: this.#path, setAside };
    this.#tell(event, "DATABASE_SET_ASIDE");
  }
}

module.exports = { SqliteProvider };
