// Tells a host of failures of its own code or of its database.
"use strict";

const { Reporter } = require("../hook/events.js");

class Notices extends Reporter {
  constructor(owner, listener) {
    super(listener, owner);
  }

  /** An event of a failure, with its code and its cause. */
  failedAt(type, error, details) {
    const { code = "ERR_INTERNAL", message } = error ?? {};
    this.warn({ type, ...details, code: String(code), message: String(message ?? error), cause: error });
  }
}

module.exports = { Notices };
