// Finds the store a host asked for: in memory, a file, a server, or one of its own.
"use strict";

const { PostgresStore } = require("./postgres.js");
const { SqliteStore } = require("./sqlite.js");

const SERVER = /^postgres(?:ql)?:\/\//i;
/** The methods that a store of the host's own has to have, at least (lib/sessions/store/store.d.ts). */
const METHODS = ["open", "apply", "load", "stamp", "read", "list", "search", "prune", "close"];

const storeOption = {
  allowed:
    "the path of a file, a connection string that begins with postgres://, or an object with the methods of a Store",
  accepts: (value) =>
    (typeof value === "string" && value !== "" && value !== ":memory:") ||
    METHODS.every((method) => typeof value?.[method] === "function"),
};

/** The store for the option `store`. */
function storeOf(store) {
  if (store === undefined) return new SqliteStore();
  if (typeof store !== "string") return store;
  return SERVER.test(store) ? new PostgresStore(store) : new SqliteStore(store);
}

module.exports = { storeOf, storeOption };
