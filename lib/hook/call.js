// One call of a hook: whether it is cancelled, and how long it holds the main thread.
"use strict";

const { attempt } = require("../helpers.js");

class Call {
  isCancelled = false;
  #isDecided = false;
  #signal;
  #start = performance.now();
  #awayMs = 0;
  #giveUp;
  #cancelled = new Promise((resolve) => {
    this.#giveUp = resolve;
  });
  #cancel = () => {
    if (this.#isDecided) return;
    this.isCancelled = true;
    this.#giveUp();
  };

  /** Cancels the call when the host's signal aborts, or at once if it has. */
  obey(signal) {
    this.isCancelled = signal?.aborted === true;
    if (this.isCancelled || typeof signal?.addEventListener !== "function") return;
    this.#signal = signal;
    signal.addEventListener("abort", this.#cancel, { once: true });
  }

  /** Throws `ERR_CANCELLED` if the call was cancelled. */
  check() {
    if (this.isCancelled) throw Object.assign(new Error("the call was cancelled"), { code: "ERR_CANCELLED" });
  }

  /** As `check`. From here on the call can no longer be cancelled: its events are reported. */
  decide() {
    this.check();
    this.#isDecided = true;
  }

  /**
   * Waits until `work` is over or the call is cancelled. The caller reads the outcome from `work`: this promise would keep it
   * alive, and every minor garbage collection would take milliseconds.
   */
  untilOverOrCancelled(work) {
    const settle = () => {};
    return Promise.race([work.then(settle, settle), this.#cancelled]);
  }

  /** Waits for `work` on another thread. Its time does not count as blocking. */
  async away(work) {
    this.check();
    const left = performance.now();
    try {
      return await work();
    } finally {
      this.#awayMs += performance.now() - left;
    }
  }

  times() {
    const totalMs = performance.now() - this.#start;
    return { blockedMs: totalMs - this.#awayMs, totalMs };
  }

  end() {
    this.isCancelled = true;
    // A signal that keeps its listener changes nothing: the call is over.
    attempt(() => this.#signal?.removeEventListener("abort", this.#cancel));
  }
}

module.exports = { Call };
