// Hands a list of another shape back as it came, and says so once.
"use strict";

const { Reporter } = require("../hook/events.js");

class UnknownShape {
  #message;
  #reporter;
  #isTold = false;

  constructor(owner, expected, onEvent) {
    this.#message = `${owner}: the messages are no ${expected}; they were sent as they are`;
    this.#reporter = new Reporter(onEvent);
  }

  told(messages) {
    if (!this.#isTold) {
      this.#isTold = true;
      if (this.#reporter.isListening) this.#reporter.emit({ type: "unknownShape", message: this.#message });
      else process.emitWarning(this.#message, { type: "PiStrataWarning", code: "unknownShape" });
    }
    return messages;
  }
}

module.exports = { UnknownShape };
