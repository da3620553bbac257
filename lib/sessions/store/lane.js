// Operations on their way to a store, one transaction after the other: what waits meanwhile is stored together by the
// next, and each operation is answered when its transaction is done.
"use strict";

/** Operations of one transaction: enough to spread its cost, few enough to answer soon. */
const BATCH = 1000;
/** Failures that may be one operation's own: the others of its batch are tried by themselves. */
const MAY_BE_ONES_OWN = new Set([
  "ERR_DATABASE",
  "ERR_DATABASE_FOREIGN",
  "ERR_DATABASE_FULL",
  "ERR_DATABASE_VALUE",
  "ERR_INVALID_INPUT",
]);

const nothing = () => {};

class Lane {
  #apply;
  #ready;
  /** Batches that were not begun yet. */
  #waiting = [];
  /** The newest of them, as long as more may join it. */
  #open;
  /** Work under way that only closing waits for. */
  #beside = new Set();
  /** Resolves when all that was asked for so far is done, or has failed. */
  settled = Promise.resolve();

  /**
   * `apply(operations)` stores them, or none, and resolves with an outcome of each; `ready()` resolves when there is
   * something to store in.
   */
  constructor(apply, ready = async () => {}) {
    this.#apply = apply;
    this.#ready = ready;
  }

  /** The operations that no transaction was begun for. */
  get waiting() {
    return this.#waiting.flat().map(({ operation }) => operation);
  }

  /** Resolves with the outcome once it is stored. */
  write(operation) {
    if (this.#open === undefined || this.#open.length === BATCH) {
      const batch = [];
      this.run(() => this.#begin(batch));
      this.#waiting.push(batch);
      this.#open = batch;
    }
    return new Promise((resolve, reject) => this.#open.push({ operation, resolve, reject }));
  }

  /** Runs a job after all that was asked for before; what is asked for from now on waits for it. */
  run(job) {
    this.#open = undefined;
    const outcome = this.settled.then(job);
    this.settled = outcome.then(nothing, nothing);
    return outcome;
  }

  /** The same promise, which nothing waits for but `drained`. */
  beside(work) {
    this.#beside.add(work);
    const forget = () => this.#beside.delete(work);
    work.then(forget, forget);
    return work;
  }

  /** Resolves when nothing is under way any more. */
  async drained() {
    await this.settled;
    await Promise.allSettled(this.#beside);
  }

  async #begin(batch) {
    await this.#ready().catch(nothing);
    this.#waiting.shift();
    if (this.#open === batch) this.#open = undefined;
    await this.#commit(batch);
  }

  async #commit(batch) {
    try {
      await this.#ready();
      const outcomes = await this.#apply(batch.map(({ operation }) => operation));
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index]);
    } catch (error) {
      if (batch.length > 1 && MAY_BE_ONES_OWN.has(error?.code)) {
        for (const write of batch) await this.#commit([write]);
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }
}

module.exports = { Lane };
