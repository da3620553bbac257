// Opens a store, and opens it again where that failed: a server without its schema, a folder not yet mounted, a full disk
// are mended by others while the host runs. Between two tries a growing pause, in which the last reason is the answer.
"use strict";

/** ms after the first failure until the next try, doubled with each, and the longest. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 30_000;

class Opening {
  #open;
  #report;
  /** The newest try; undefined when it is time for another. */
  #trying;
  #failures = 0;

  /** `open` opens the store; `report(error, { attempt, retryInMs })` hears why that failed. */
  constructor(open, report) {
    this.#open = open;
    this.#report = report;
  }

  /** Resolves when the store is open; rejects with the reason why it is not. */
  ready() {
    this.#trying ??= this.#try();
    return this.#trying;
  }

  /** Resolves when nothing is being tried, whatever came of it. */
  async settled() {
    await this.#trying?.catch(() => {});
  }

  async #try() {
    try {
      await this.#open();
    } catch (error) {
      const retryInMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** this.#failures);
      this.#failures += 1;
      setTimeout(() => {
        this.#trying = undefined;
      }, retryInMs).unref();
      this.#report(error, { attempt: this.#failures, retryInMs });
      throw error;
    }
  }
}

module.exports = { Opening };
