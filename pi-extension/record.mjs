// Reads pi's session file for what the list of messages lacks: results on other branches, costs, and the times at which pi kept
// the cache warm and the user asked for a cut.

import { cacheTimesOf } from "../lib/cli/recording/pi.mjs";

export class Record {
  #manager;

  constructor(ctx) {
    this.#manager = ctx?.sessionManager;
  }

  /** Every message of the session, those of other branches and from before a compaction too. */
  messages() {
    return this.#list("getEntries")
      .filter(({ type, message }) => type === "message" && message)
      .map(({ message }) => message);
  }

  /** The list of the next request without system messages; undefined if pi does not hand it over. */
  context() {
    try {
      const manager = this.#manager;
      const { messages } = manager?.buildSessionProjection?.() ?? manager?.buildSessionContext?.() ?? {};
      return messages?.filter(({ role }) => role !== "system");
    } catch {
      return undefined;
    }
  }

  /** Dollars that pi has counted for this session, as its footer sums them up. */
  dollars() {
    const counted = this.#list("getEntries").map(({ type, message, usage }) => {
      if (type === "message") return costOf(message?.usage);
      return ["usage", "compaction", "branch_summary"].includes(type) ? costOf(usage) : 0;
    });
    return counted.reduce((sum, cost) => sum + cost, 0);
  }

  /** `{ warmedAt, coldAt }` in ms, as `cacheTimesOf`. */
  cacheTimes() {
    return cacheTimesOf(this.#list("getBranch"));
  }

  /** Entries of the session file; none if pi is shutting down, as it throws then. */
  #list(name) {
    try {
      const entries = this.#manager?.[name]?.();
      return Array.isArray(entries) ? entries.filter(Boolean) : [];
    } catch {
      return [];
    }
  }
}

function costOf(usage) {
  const total = usage?.cost?.total;
  return Number.isFinite(total) ? total : 0;
}
