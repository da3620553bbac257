// Reports failures of the host's own code and database to the host.
"use strict";

const { Reporter } = require("../hook/events.js");

class Notices extends Reporter {
  constructor(owner, listener) {
    super(listener, owner);
  }

  /** Reports a failure with its code, its message and its cause. */
  failedAt(type, error, details) {
    const { code = "ERR_INTERNAL", message = error } = error ?? {};
    this.warn({ type, code: String(code), message: String(message), cause: error, ...details });
  }
}

module.exports = { Notices };
