// Writes on their way to a store of sessions. Where it takes several transactions at once, those of one session stay in
// one lane, so that they are stored in the order they came.
"use strict";

const { Lane } = require("./lane.js");

class WriteQueue {
  #store;
  #lanes;
  /** Clears under way: they hold even if the process ends now. */
  #clears = 0;

  constructor(store, opening) {
    this.#store = store;
    const newLane = () =>
      new Lane(
        (operations) => this.#apply(operations),
        () => opening.ready(),
      );
    this.#lanes = Array.from({ length: store.parallel ?? 1 }, newLane);
  }

  /** Resolves with the outcome once it is stored. */
  write(operation) {
    const written = this.#lanes[laneOf(operation.key, this.#lanes.length)].write(operation);
    const canFinish = this.#store.applyLast !== undefined && !this.#store.forgets;
    if (operation.kind === "clear" && canFinish) this.#finishAtExit(written);
    return written;
  }

  /** Should the process end before `clearing` is done, all that waits is written then. */
  #finishAtExit(clearing) {
    this.#clears += 1;
    if (this.#clears === 1) process.once("exit", this.#finish);
    const isDone = () => {
      this.#clears -= 1;
      if (this.#clears === 0) process.removeListener("exit", this.#finish);
    };
    clearing.then(isDone, isDone);
  }

  #finish = () => {
    try {
      this.#store.applyLast(this.#lanes[0].waiting);
    } catch {
      // Nobody is left to be told.
    }
  };

  /** Resolves when all that was written so far is stored, or was refused. */
  async settled() {
    await Promise.all(this.#lanes.map((lane) => lane.settled));
  }

  /** The same, and what was cleared is erased. */
  async drained() {
    await Promise.all(this.#lanes.map((lane) => lane.drained()));
  }

  /** A clear is acknowledged before nothing is left of what it took: `erased` resolves then, and no write waits for it. */
  async #apply(operations) {
    const outcomes = await this.#store.apply(operations);
    return outcomes.map((outcome, index) => {
      if (operations[index].kind !== "clear" || !outcome.applied) return outcome;
      const erasing = this.#store.erase?.();
      return { ...outcome, erased: erasing && this.#lanes[0].beside(erasing) };
    });
  }
}

/** The number of the lane for a key, by its end: a key may be megabytes long. */
function laneOf(key, lanes) {
  if (lanes === 1) return 0;
  let hash = 0;
  for (const char of key.slice(-64)) hash = (hash * 31 + char.codePointAt(0)) % 0xffff;
  return hash % lanes;
}

module.exports = { WriteQueue };
