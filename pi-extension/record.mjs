// Reads what the list of messages lacks from pi's session file: results on other branches, refusals, costs, refreshes of the
// cache, and cuts that the user asked for.

import { countsOf } from "../lib/bill/prices.js";
import { cacheTimesOf } from "../lib/cli/recording/pi.mjs";
import { attempt, sumOf } from "../lib/helpers.js";
import { readRefusal } from "../lib/hook/refusals.js";

/** Entries whose `usage` is part of the bill, beside messages. */
const BILLED = ["usage", "compaction", "branch_summary"];

/** Caches `readRefusal` by message: pi asks for the limit at every event. */
const refusals = new WeakMap();

function refusalOf(message) {
  if (!refusals.has(message)) refusals.set(message, readRefusal(message.errorMessage));
  return refusals.get(message);
}

/** What pi's session manager holds; nothing while pi shuts down, as it throws then. */
export function recordOf(manager) {
  const ask = (name) => attempt(() => manager?.[name]?.());
  const list = (name) => [ask(name) ?? []].flat().filter(Boolean);
  /** Every message of the session, those of other branches and from before a compaction too. */
  const messages = () =>
    list("getEntries").flatMap(({ type, message }) => (type === "message" && message ? [message] : []));
  return {
    messages,
    /** True for pi from 0.87 on, which also hands over system messages. */
    hasProjection: typeof manager?.buildSessionProjection === "function",
    /** The list of the next request; empty if pi does not hand it over. */
    context() {
      const built = ask("buildSessionProjection") ?? ask("buildSessionContext");
      return built?.messages ?? [];
    },
    /**
     * Window in tokens that a model's server named in its latest refusal, unless it accepted a larger prompt since. pi takes
     * refused requests out of the list before it compacts, so the hook does not see them.
     */
    namedLimit(of) {
      const own = messages().filter(({ provider, model }) => provider === of?.provider && model === of?.id);
      return own.reduce((limit, message) => {
        if (message.stopReason === "error") return refusalOf(message)?.limit ?? limit;
        return countsOf(message.usage)?.prompt > limit ? undefined : limit;
      }, undefined);
    },
    /** Dollars that pi has counted for this session, as its footer sums them up. */
    dollars() {
      const others = list("getEntries").filter(({ type }) => BILLED.includes(type));
      const costs = [...messages(), ...others].map(({ usage }) => usage?.cost?.total).filter(Number.isFinite);
      return sumOf(costs);
    },
    /** `{ warmedAt, coldAt }` in ms, as `cacheTimesOf`. */
    cacheTimes: () => cacheTimesOf(list("getBranch")),
  };
}
