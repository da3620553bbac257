// Types of `pi-strata/store-contract`: the cases that every store of sessions must pass.
import type { Store } from "./store.js";

export type { Store } from "./store.js";

/**
 * The cases for a store of one's own, for any test runner; each makes its stores, and closes them however it ends. A case
 * that fails rejects with an `AssertionError`.
 * @param options.open gives a store, not opened yet, on a place of that name: empty the first time it is asked for, with
 *   what was stored there the next
 * @param options.keeps false where nothing outlives the store object; default true
 * @param options.isShared false where only one store may be open on a place; default `keeps`
 * @example for (const { name, run } of storeContract({ open: (place) => new MyStore(place) })) test(name, run);
 */
export function storeContract(options: {
  open(place: string): Store | Promise<Store>;
  keeps?: boolean;
  isShared?: boolean;
}): { name: string; run(): Promise<void> }[];
