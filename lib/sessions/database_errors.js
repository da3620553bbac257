// Errors of a host's database: each has a code and one sentence that says what to do.
"use strict";

const { show } = require("../options.js");

const SENTENCES = {
  AUTH: "the server refused the user or the password",
  BUSY: "others have locked it, or a query on this handle still runs; nothing of this change was stored, try again",
  CANNOT_OPEN: "it cannot be opened; check that it exists and who may open it",
  CLOSED: "it is closed; open it again",
  CORRUPT: "it is damaged, or no database; restore it from a backup",
  DISK: "its disk failed; nothing of this change was stored",
  FOREIGN: "its tables have another shape",
  FULL: "it is out of space; nothing of this change was stored",
  NO_TABLE: "a table is missing",
  PERMISSION: "the user may not do this; grant it the rights on the tables",
  READ_ONLY: "it takes no writes; open it for writing, or connect to the primary",
  TIMEOUT: "it took too long; nothing of this change was stored",
  UNAVAILABLE: "the server cannot be reached; nothing of this change was stored",
  UNCERTAIN: "the commit had no answer; whether the change was stored is not known",
  VALUE: "it cannot hold this value; nothing of this change was stored",
  VERSION: "its tables are of another version; update pi-strata",
};

class DatabaseError extends Error {
  /** `kind` is a key of the sentences, or "" for an unknown failure. */
  constructor(kind, detail, cause) {
    const sentence = `the database: ${SENTENCES[kind] ?? "it failed"}`;
    super(detail ? `${sentence} (${detail})` : sentence, { cause });
    this.name = "DatabaseError";
    this.code = kind === "" ? "ERR_DATABASE" : `ERR_DATABASE_${kind}`;
  }
}

/** Returns the error for a handle of an unknown kind; `option` names it, as in "ContextManager: option database". */
function handleError(option, value, allowed) {
  const message = `${option} is ${show(value)}; it must be ${allowed}`;
  return Object.assign(new TypeError(message), { code: "ERR_DATABASE_HANDLE" });
}

module.exports = { DatabaseError, handleError };
