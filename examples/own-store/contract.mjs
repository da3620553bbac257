// The contract of every store of sessions, as cases any test runner can run: against a host's own store, here against a file of JSON
// lines, and in the tests against SQLite and Postgres. Looks at a store through its interface (lib/sessions/store/store.d.ts) alone.
import assert from "node:assert/strict";
import { changes } from "./contract-changes.mjs";
import { reading } from "./contract-reading.mjs";
import * as sharing from "./contract-sharing.mjs";

let places = 0;

/**
 * The cases for a store.
 *
 * `open(place)` gives a store, not opened yet, on a place of that name: empty the first time, with what was stored there
 * the next. `keeps: false` says that nothing outlives the store object, `isShared: false` that only one may be open.
 */
export function storeContract({ open, keeps = true, isShared = keeps }) {
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
