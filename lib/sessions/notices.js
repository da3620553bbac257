// Tells a host what happened. What it must not miss is told through a process warning where nobody listens: once for each
// kind, because a broken key breaks every call alike.
"use strict";

const { Reporter } = require("../hook/events.js");

class Notices {
  #reporter;
  #owner;
  #warned = new Set();

  /** `owner` is who speaks in a warning. */
  constructor(owner, listener) {
    this.#owner = owner;
    this.#reporter = new Reporter(listener);
  }

  emit(event) {
    this.#reporter.emit(event);
  }

  /** An event with a `type` and a `message` that somebody has to hear. */
  warn(event) {
    if (this.#reporter.isListening) {
      this.#reporter.emit(event);
    } else if (!this.#warned.has(event.type)) {
      this.#warned.add(event.type);
      process.emitWarning(
        `${this.#owner}: ${event.message} (further events of this kind go to onEvent alone)`,
        {
          type: "PiStrataWarning",
          code: event.code ?? event.type,
        },
      );
    }
  }

  /** A failure of the host's own code or of the store, with its cause. */
  failed(type, error, details) {
    const { code = "ERR_INTERNAL", message } = error ?? {};
    this.warn({ type, ...details, code: String(code), message: String(message ?? error), cause: error });
  }
}

module.exports = { Notices };
