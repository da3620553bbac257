// The SQLite store, in memory or in a file, behind the interface every store has. All of it is native: this file turns
// calls into requests and answers back into objects.
"use strict";

const { coded, withCode } = require("../../native/database-error.js");
const { native } = require("../../native/native.js");

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
    return JSON.parse(await withCode(this.#native.apply(JSON.stringify(operations.map(written)))));
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

  async close() {
    await this.#ask("close");
  }

  /** Asks a short question here. */
  now(request) {
    return JSON.parse(here(() => this.#native.askNow(JSON.stringify(request))));
  }

  /** Appends one message of a new id, in memory. */
  appendNew({ namespace, key, messages: [{ id, body }] }) {
    const { seq, ...stamp } = here(() => this.#native.appendNew(namespace, key, id, body));
    return { applied: true, stamp, seqs: [seq] };
  }

  /** Commits `operations` before the process ends, after all that is on its way. */
  applyLast(operations) {
    here(() => this.#native.applyLast(JSON.stringify(operations.map(written))));
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
    const [first] = operations;
    const isOne = operations.length === 1 && first.kind === "append" && first.messages.length === 1;
    if (isOne && this.#store.forgets && first.messages[0].isNew) return [this.#store.appendNew(first)];
    return this.#store.now({ apply: operations.map(written) });
  }

  /** For a process that ends: waits as long as it takes. */
  applyLast(operations) {
    this.#store.applyLast(operations);
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
