// Reads what the list of messages lacks from pi's session file: results on other branches, costs, refreshes of the cache, and
// cuts that the user asked for.

import { cacheTimesOf } from "../lib/cli/recording/pi.mjs";

/** What pi's session manager holds. */
export function recordOf(manager) {
  return {
    /** Every message of the session, those of other branches and from before a compaction too. */
    messages: () =>
      manager.getEntries().flatMap(({ type, message }) => (type === "message" ? [message] : [])),
    /** The list of the next request without system messages; empty if pi does not hand it over. */
    context() {
      const built = manager.buildSessionProjection?.() ?? manager.buildSessionContext?.();
      return built?.messages?.filter(({ role }) => role !== "system") ?? [];
    },
    /** Dollars that pi has counted for this session, as its footer sums them up. */
    dollars() {
      const costs = manager
        .getEntries()
        .map(({ message, usage = message?.usage }) => usage?.cost?.total)
        .filter(Number.isFinite);
      return costs.reduce((sum, cost) => sum + cost, 0);
    },
    /** `{ warmedAt, coldAt }` in ms, as `cacheTimesOf`. */
    cacheTimes: () => cacheTimesOf(manager.getBranch()),
  };
}
