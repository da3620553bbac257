// Errors of the embedded database as JavaScript sees them: the native side sends "CODE: sentence".
"use strict";

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
    const [, code, sentence] = /^(ERR_DATABASE\w*): (.*)$/s.exec(error?.message) ?? [];
    throw code === undefined ? error : new DatabaseError(code, sentence, error);
  }
}

module.exports = { DatabaseError, withCode };
