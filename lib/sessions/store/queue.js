// Writes on their way to a store: in the order they came, what waits is committed together, and each is acknowledged
// when its transaction is. Where a store takes several transactions at once, those of one session stay in one lane.
"use strict";

/** Writes committed in one transaction: enough to spread its cost, few enough to answer soon. */
const BATCH = 1000;
/** Failures that may be one operation's own: the others of its batch are tried by themselves. */
const MAY_BE_ONES_OWN = new Set([
  "ERR_DATABASE",
  "ERR_DATABASE_FULL",
  "ERR_DATABASE_VALUE",
  "ERR_INVALID_INPUT",
]);

class WriteQueue {
  #store;
  #opening;
  #lanes;
  /** Clears that are committed, and whose messages are being erased. */
  #erasing = new Set();
  /** Writes under way that hold even if the process ends now. */
  #last = 0;

  constructor(store, opening) {
    this.#store = store;
    this.#opening = opening;
    this.#lanes = Array.from({ length: store.parallel ?? 1 }, () => ({
      waiting: [],
      isRunning: false,
      newest: undefined,
    }));
  }

  /** Resolves with the outcome once it is stored. */
  write(operation) {
    const lane = this.#lanes[laneOf(operation.key, this.#lanes.length)];
    lane.newest = new Promise((resolve, reject) => lane.waiting.push({ operation, resolve, reject }));
    if (!lane.isRunning) this.#run(lane);
    return lane.newest;
  }

  /** `write`; should the process end before, it is written then, after all that waits, where the store can do that. */
  writeAtLast(operation) {
    const written = this.write(operation);
    if (this.#store.applyLast === undefined || this.#store.forgets) return written;
    this.#last += 1;
    if (this.#last === 1) process.once("exit", this.#finish);
    const isWritten = () => {
      this.#last -= 1;
      if (this.#last === 0) process.removeListener("exit", this.#finish);
    };
    written.then(isWritten, isWritten);
    return written;
  }

  #finish = () => {
    const [lane] = this.#lanes;
    try {
      this.#store.applyLast(lane.waiting.map((write) => write.operation));
    } catch {
      // Nobody is left to be told.
    }
  };

  /** Resolves when all that was written so far is stored, or was refused. */
  async settled() {
    await Promise.allSettled(this.#lanes.map((lane) => lane.newest));
  }

  /** The same, and what was cleared is erased. */
  async drained() {
    await this.settled();
    await Promise.allSettled(this.#erasing);
  }

  async #run(lane) {
    lane.isRunning = true;
    await this.#opening.ready().catch(() => {});
    while (lane.waiting.length > 0) {
      await this.#commit(lane.waiting.splice(0, BATCH));
    }
    lane.isRunning = false;
  }

  async #commit(batch) {
    try {
      await this.#opening.ready();
      const outcomes = await this.#store.apply(batch.map(({ operation }) => operation));
      for (const [index, { operation, resolve }] of batch.entries()) {
        const outcome = outcomes[index];
        const isCleared = operation.kind === "clear" && outcome.applied;
        resolve(isCleared ? { ...outcome, erased: this.#erase() } : outcome);
      }
    } catch (error) {
      if (batch.length > 1 && MAY_BE_ONES_OWN.has(error?.code)) {
        for (const write of batch) await this.#commit([write]);
      } else {
        for (const { reject } of batch) reject(error);
      }
    }
  }

  /** Resolves once nothing is left of what was cleared; no write waits for it, nor does what is acknowledged. */
  #erase() {
    if (this.#store.erase === undefined) return undefined;
    const erasing = this.#store.erase().finally(() => this.#erasing.delete(erasing));
    this.#erasing.add(erasing);
    return erasing;
  }
}

function laneOf(key, lanes) {
  if (lanes === 1) return 0;
  let hash = 0;
  for (let at = Math.max(0, key.length - 64); at < key.length; at += 1) {
    hash = (Math.imul(hash, 31) + key.charCodeAt(at)) >>> 0;
  }
  return hash % lanes;
}

module.exports = { WriteQueue };
