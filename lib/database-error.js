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
    throw coded(error);
  }
}

/** A failure with its stable `code`, if it is one of ours. */
function coded(error) {
  const [, code, sentence] = /^(ERR_[A-Z_]+): (.*)$/s.exec(error?.message) ?? [];
  return code === undefined ? error : new DatabaseError(code, sentence, error);
}

module.exports = { DatabaseError, coded, withCode };
