// Hands a list of another shape back as it came, and says so once.
"use strict";

const { Reporter } = require("../hook/events.js");
const { show } = require("../options.js");

class UnknownShape {
  #expected;
  #reporter;
  #isTold = false;

  /** `expected` names the shape that `owner` reads. */
  constructor(owner, expected, onEvent) {
    this.#expected = expected;
    this.#reporter = new Reporter(onEvent, owner);
  }

  /** `messages`, of which `odd` is the first that cannot be read. */
  told(messages, odd) {
    if (this.#isTold) return messages;
    this.#isTold = true;
    const mark = `the role ${show(odd?.role)}`;
    const message = `a message has ${mark}, so the list is no ${this.#expected}; it is sent as it came`;
    this.#reporter.warn({ type: "unknownShape", mark, message });
    return messages;
  }
}

module.exports = { UnknownShape };
