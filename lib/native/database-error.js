// Errors of the embedded database as a host sees them: one class, the native side's code and sentence.
"use strict";

/** Codes of the native side that are not the database's own but come of what it was asked. */
const OF_REQUESTS = ["ERR_BAD_CURSOR", "ERR_INVALID_INPUT"];

class DatabaseError extends Error {
  constructor(code, message, cause) {
    super(message, { cause });
    this.name = "DatabaseError";
    this.code = code;
  }
}

/** `work`, whose failure carries its stable `code`. */
async function withCode(work) {
  try {
    return await work;
  } catch (error) {
    throw coded(error);
  }
}

/** The same of work that is done at once. */
function withCodeNow(work) {
  try {
    return work();
  } catch (error) {
    throw coded(error);
  }
}

/** A failure as a `DatabaseError`, if its code says that it is one. */
function coded(error) {
  if (error instanceof DatabaseError || !isDatabaseCode(error?.code)) return error;
  return new DatabaseError(error.code, error.message, error);
}

function isDatabaseCode(code) {
  return typeof code === "string" && (code.startsWith("ERR_DATABASE") || OF_REQUESTS.includes(code));
}

module.exports = { DatabaseError, withCode, withCodeNow };
