// The SQLite store, in memory or in a file. All of it is native and on a worker.
"use strict";

const { withCode, withCodeNow } = require("../../native/database-error.js");
const { native } = require("../../native/native.js");
const { SqlStore, written } = require("./sql.js");

const IN_MEMORY = ":memory:";

class SqliteStore extends SqlStore {
  engine = "sqlite";
  #location;
  #native;

  constructor(location = IN_MEMORY) {
    super();
    this.#location = location;
    const { SessionStore } = native();
    this.#native = withCodeNow(() => new SessionStore(location));
    this.forgets = location === IN_MEMORY;
  }

  async open(report) {
    const { movedTo, salvaged } = await this.ask("open");
    if (movedTo != null) report({ type: "storeSetAside", store: this.#location, movedTo, salvaged });
  }

  async apply(operations) {
    return JSON.parse(await withCode(this.#native.apply(written(operations))));
  }

  async prune(namespace, before) {
    return this.ask({ prune: [namespace, Math.floor(before)] });
  }

  async erase() {
    await this.ask("erase");
  }

  async close() {
    await this.ask("close");
  }

  applyLast(operations) {
    withCodeNow(() => this.#native.applyLast(written(operations)));
  }

  async ask(request) {
    return JSON.parse(await withCode(this.#native.ask(JSON.stringify(request))));
  }
}

module.exports = { SqliteStore };
