// The file behind durable sessions: writes wait in one queue and are committed together on a worker thread, in the
// order they came; a write is acknowledged when its transaction is. Reads are short and immediate.
"use strict";

const { coded } = require("../database-error.js");
const { native } = require("../native.js");

/** Writes committed in one transaction: enough to spread its cost, few enough to answer soon. */
const BATCH = 1000;

class SessionFile {
  #store;
  #queue = [];
  #running;
  #version;
  /** Grows whenever another process has written: what was read before may be out of date. */
  generation = 0;

  constructor(path) {
    const { SessionStore } = native();
    this.#store = here(() => new SessionStore(path));
    this.#version = this.#foreignWrites();
  }

  /** Where a damaged file was put when this one was opened. */
  get setAside() {
    return this.#store.setAside ?? undefined;
  }

  /** Resolves with the id of the message the operation made, or -1, once that is on disk. */
  write(operation) {
    return new Promise((resolve, reject) => {
      this.#queue.push({ operation, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  async #run() {
    // A write that fails at once must not end the run before `write` knows of it: no other would begin.
    await undefined;
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH);
      try {
        const ids = await this.#store.apply(batch.map(({ operation }) => operation));
        for (const [index, { resolve }] of batch.entries()) resolve(ids[index]);
      } catch (error) {
        const reason = coded(error);
        for (const { reject } of batch) reject(reason);
      }
    }
    this.#running = undefined;
  }

  load(key) {
    return here(() => this.#store.load(key)) ?? undefined;
  }

  keys() {
    return here(() => this.#store.keys());
  }

  search(query, key, limit) {
    return here(() => this.#store.search(query, key, limit));
  }

  /** Looks whether another process has written. */
  refresh() {
    const version = this.#foreignWrites();
    if (version === undefined || version === this.#version) return;
    this.#version = version;
    this.generation += 1;
  }

  #foreignWrites() {
    return here(() => this.#store.foreignWrites()) ?? undefined;
  }

  /** Closes the file when all that was written is on disk. */
  async close() {
    await this.#running;
    here(() => this.#store.close());
  }
}

function here(work) {
  try {
    return work();
  } catch (error) {
    throw coded(error);
  }
}

module.exports = { SessionFile };
