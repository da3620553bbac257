// The history of a host's chats in an embedded SQLite file. Everything runs on a worker.
"use strict";

const { withCode } = require("../native/database-error.js");
const { native } = require("../native/native.js");
const { checkOptions, handler } = require("../options.js");
const { StoredHistory, created } = require("./history.js");
const { tableName } = require("./rows.js");

/** ms for which the row of an event waits for another process: nobody's task is to wait for bookkeeping. */
const RECORD_MS = 250;
/** A chat's name has no type, so that a number and a text are two chats. */
const TYPES = { id: "INTEGER PRIMARY KEY AUTOINCREMENT", chat: "", json: "text", time: "text NOT NULL" };
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
    const names = { history: `"${historyTable}"`, events: `"${eventsTable}"` };
    const tables = {
      create: `${created("history", names.history, TYPES)}
        ${created("events", names.events, TYPES)}
        CREATE INDEX IF NOT EXISTS "${historyTable}_by_chat" ON ${names.history} (chat_id, id);`,
      // Without a column of events, messages can be read all the same.
      columns: [
        [historyTable, ["id", "chat_id", "role", "text"]],
        [eventsTable, []],
      ],
    };
    super("SqliteProvider", names, onEvent, (tell) => sqliteDatabase(path, tables, tell));
  }
}

/** The database of a `StoredHistory`: its words, and a worker that runs statements. */
function sqliteDatabase(path, tables, tell) {
  let file;
  const opened = () => {
    file ??= new (native().DatabaseFile)(path, JSON.stringify(tables));
    return file;
  };
  const run = async (statement, writes, busyMs) => {
    const done = await withCode(opened().run(JSON.stringify([statement]), writes, busyMs));
    const { rows, setAside } = JSON.parse(done);
    if (setAside !== null) {
      const message = `The damaged database ${path} was moved to ${setAside}; a new one is in its place.`;
      tell({ type: "database_set_aside", message, path, setAside });
    }
    return rows[0];
  };
  const read = (statement, values) => run([statement, values], false);
  return {
    isServer: false,
    recordMs: RECORD_MS,
    /** UTC, to the millisecond, sortable as text. */
    now: "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')",
    text: (column) => column,
    isText: (column) => `typeof(${column}) = 'text'`,
    chatId: (chatId) => chatId,
    exact: (row) => ({ ...row, text: row.text.toWellFormed() }),
    read,
    change: (statement, _isStored, busyMs) => run(statement, true, busyMs),
    columnsOf: (table) => read("SELECT name FROM pragma_table_info($1)", [table.slice(1, -1)]),
    close: () => withCode(opened().close()),
  };
}

module.exports = { SqliteProvider };
