// What every store of sessions must do, as cases any test runner can run: against a host's own store, and here against
// SQLite in memory, SQLite in a file and Postgres. Looks at a store through its interface (store.d.ts) alone.
"use strict";

const assert = require("node:assert/strict");
const changes = require("./contract_changes.js");
const reading = require("./contract_reading.js");
const sharing = require("./contract_sharing.js");

let places = 0;

/**
 * The cases for a store.
 *
 * `open(place)` gives a store, not opened yet, on a place of that name: empty the first time, with what was stored there
 * the next. `keeps: false` says that nothing outlives the store object, `isShared: false` that only one may be open.
 */
function storeContract({ open, keeps = true, isShared = keeps }) {
  const cases = [
    ...changes,
    ...reading,
    ...(keeps ? sharing.keeping : []),
    ...(isShared ? sharing.shared : []),
  ];
  return cases.map(({ name, run }) => ({ name, run: () => withStores(open, run) }));
}

/** Runs a case with stores on a new place, and closes them however it ends. */
async function withStores(make, run) {
  places += 1;
  const place = `contract_${process.pid}_${places}`;
  const opened = [];
  const openAnother = async () => {
    const store = await make(place);
    opened.push(store);
    await store.open(() => {});
    return store;
  };
  try {
    await run(await openAnother(), openAnother, assert);
  } finally {
    await Promise.all(opened.map((store) => store.close()));
  }
}

module.exports = { storeContract };
