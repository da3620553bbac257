// The history of a host's chats in Postgres, in tables of the host's or in new ones.
"use strict";

const { PostgresConnection, checkConnection } = require("../sessions/store/postgres_connection.js");
const { makeTable } = require("../sessions/store/postgres_schema.js");
const { isPlain, storable } = require("../sessions/text.js");
const { StoredHistory, created } = require("./history.js");

const NAME = "[A-Za-z_][A-Za-z0-9_]{0,62}";
const TABLE = new RegExp(`^(?:${NAME}\\.)?${NAME}$`);
const tableName = {
  allowed: "the name of a table, with its schema or without: letters, digits and _",
  accepts: (value) => typeof value === "string" && TABLE.test(value),
};
const TYPES = {
  id: "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  chat: "text",
  json: "jsonb",
  time: "timestamptz NOT NULL DEFAULT now()",
};
const OPTIONS = { historyTable: ["history", tableName], eventsTable: ["events", tableName] };

class PostgresProvider extends StoredHistory {
  constructor(options) {
    const checked = checkConnection("PostgresProvider", options, OPTIONS);
    const names = { history: quoted(checked.historyTable), events: quoted(checked.eventsTable) };
    super("PostgresProvider", names, checked.onEvent, (tell) => postgresDatabase(checked, tell));
  }
}

/** The same for Postgres as `sqliteDatabase` for SQLite. */
function postgresDatabase(options, tell) {
  const connection = new PostgresConnection(options, tell);
  const rowsOf = (ask) => async (statement, values) => (await ask(statement, values)).rows;
  const read = rowsOf((statement, values) => connection.read(statement, values));
  return {
    isServer: true,
    text: (column) => `${column}::text AS ${column}`,
    isText: (column) => `${column} IS NOT NULL`,
    chatId: String,
    exact,
    read,
    /** The rows of a statement; `isStored(rows, read)` looks whether they are there where only they can tell. */
    change: ([statement, values], isStored) =>
      connection.transaction(
        (query) => rowsOf(query)(statement, values),
        (rows, query) => isStored(rows, rowsOf(query)),
      ),
    async columnsOf(table, part) {
      const index = part === "history" ? `CREATE INDEX ON ${table} (chat_id, id DESC);` : "";
      await makeTable(connection, table, `${created(part, table, TYPES)}${index}`);
      return read(
        "SELECT attname AS name FROM pg_attribute WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
        [table],
      );
    },
    close: () => connection.close(),
  };
}

function quoted(name) {
  return `"${name.replace(".", '"."')}"`;
}

/** The part that Postgres' text cannot hold, kept as JSON beside it. */
function exact(row) {
  if (isPlain(row.text)) return row;
  const { content = row.text, ...more } = row.extra === undefined ? {} : JSON.parse(row.extra);
  return { ...row, text: storable(row.text), extra: JSON.stringify({ content, ...more }) };
}

module.exports = { PostgresProvider };
