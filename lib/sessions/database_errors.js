// Errors of a host's database: each has a code and one sentence that says what to do.
"use strict";

const { show } = require("../options.js");
/**
 * By kind: the sentence, and patterns by which `kindBy` finds the kind of a failure:
 * - `sqlite`: SQLite's primary result code (sqlite.org/rescode.html), its number or its name;
 * - `postgres`: a SQLSTATE code (Postgres, appendix A) or Node's code;
 * - `sqliteMessage`, `postgresMessage`: the message of an error that has no code of its own.
 */
const KINDS = require("./database_errors.json");

/** Returns the kind whose pattern in `field` matches a text; undefined if there is none. */
function kindBy(field, text) {
  const matches = (kind) =>
    KINDS[kind][field] !== undefined && new RegExp(KINDS[kind][field], "i").test(text);
  return Object.keys(KINDS).find(matches);
}

class DatabaseError extends Error {
  /** An unknown failure has no `kind`. */
  constructor(kind, detail, cause) {
    const sentence = `the database: ${KINDS[kind]?.sentence ?? "it failed"}`;
    super(detail ? `${sentence} (${detail})` : sentence, { cause });
    this.name = "DatabaseError";
    this.code = kind === undefined ? "ERR_DATABASE" : `ERR_DATABASE_${kind}`;
  }
}

/** Returns the error for a handle of an unknown kind; `option` names it, as in "ContextManager: option database". */
function handleError(option, value, allowed) {
  const message = `${option} is ${show(value)}; it must be ${allowed}`;
  return Object.assign(new TypeError(message), { code: "ERR_DATABASE_HANDLE" });
}

module.exports = { DatabaseError, handleError, kindBy };
