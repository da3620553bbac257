// The SQLite store, in memory or in a file, behind the interface every store has. All of it is native: this file turns
// calls into requests and answers back into objects.
"use strict";

const { coded, withCode } = require("../database-error.js");
const { native } = require("../native.js");

const IN_MEMORY = ":memory:";

class SqliteStore {
  engine = "sqlite";
  parallel = 1;
  sync = new SyncSqlite(this);
  #location;
  #native;

  constructor(location = IN_MEMORY) {
    this.#location = location;
    const { SessionStore } = native();
    this.#native = here(() => new SessionStore(location));
    this.forgets = location === IN_MEMORY;
  }

  async open(report) {
    const { movedTo, salvaged } = await this.#ask("open");
    if (movedTo != null) report({ type: "storeSetAside", store: this.#location, movedTo, salvaged });
  }

  async apply(operations) {
    // In memory nothing waits for a disk: a worker would only cost the way there.
    if (this.forgets) return this.sync.apply(operations);
    return this.#ask({ apply: operations.map(written) });
  }

  async load(namespace, key) {
    return (await this.#ask({ load: [namespace, key] })) ?? undefined;
  }

  async stamp(namespace, key) {
    return (await this.#ask({ stamp: [namespace, key] })) ?? undefined;
  }

  async read(namespace, key, page) {
    return this.#ask({ read: [namespace, key, page] });
  }

  async list(query) {
    return this.#ask({ list: query });
  }

  async search(query) {
    return this.#ask({ search: query });
  }

  async prune(namespace, before) {
    return this.#ask({ prune: [namespace, Math.floor(before)] });
  }

  /** Deletes what `sync.apply` cleared. */
  async purge() {
    if (!this.forgets) await this.#ask("purge");
  }

  async close() {
    await this.#ask("close");
  }

  /** Asks a short question here. */
  now(request) {
    return JSON.parse(here(() => this.#native.askNow(JSON.stringify(request))));
  }

  foreignWrites() {
    return here(() => this.#native.foreignWrites());
  }

  async #ask(request) {
    return JSON.parse(await withCode(this.#native.ask(JSON.stringify(request))));
  }
}

/** The same, answered at once. */
class SyncSqlite {
  #store;

  constructor(store) {
    this.#store = store;
  }

  apply(operations) {
    return this.#store.now({ apply: operations.map(written) });
  }

  load(namespace, key) {
    return this.#store.now({ load: [namespace, key] }) ?? undefined;
  }

  stamp(namespace, key) {
    return this.#store.now({ stamp: [namespace, key] }) ?? undefined;
  }

  list(query) {
    return this.#store.now({ list: query });
  }

  search(query) {
    return this.#store.now({ search: query });
  }

  foreignWrites() {
    return this.#store.foreignWrites();
  }
}

/** An operation as src/sessions/store/rows.rs reads it. Words are found in the bodies there. */
function written({ namespace, key, kind, ...change }) {
  return [namespace, key, { [kind]: change }];
}

function here(work) {
  try {
    return work();
  } catch (error) {
    throw coded(error);
  }
}

module.exports = { SqliteStore };
