// Reads what the list of messages lacks from pi's session file: results on other branches, refusals, costs, refreshes of the
// cache, and cuts that the user asked for.

import { countsOf } from "../lib/bill/prices.js";
import { cacheTimesOf } from "../lib/cli/recording/pi.mjs";
import { attempt, sumOf } from "../lib/helpers.js";
import { reserveIn } from "../lib/hook/options.js";
import { readRefusal } from "../lib/hook/refusals.js";

/** Entries whose `usage` is part of the bill, beside messages. */
const BILLED = ["usage", "compaction", "branch_summary"];

/** Caches `readRefusal` by message: pi asks for the limit at every event. */
const refusals = new WeakMap();

function refusalOf(message) {
  if (!refusals.has(message)) refusals.set(message, readRefusal(message.errorMessage));
  return refusals.get(message);
}

/** Share of a refused request that the next one has, if the refusal names no limit. */
const STEP = 0.8;

/** The window that a refusal of a request of `sent` tokens teaches, in the tokens of that estimate; 0 if they are unknown. */
function limitOf(refusal, sent = 0) {
  const { subject = "length", images, imageChars, prompt, limit } = refusal ?? { subject: "none" };
  if (subject !== "length" || (images ?? imageChars) !== undefined) return undefined;
  if (limit === undefined) return sent > 0 ? STEP * sent + reserveIn(sent) : undefined;
  return sent > 0 && prompt > limit ? Math.min(limit, (limit * sent) / prompt) : limit;
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
     * Window in tokens that the latest refusal of a model taught, unless the model accepted a larger prompt since. `refused` holds
     * the tokens of failed requests by the timestamp of the error; a new one had `sent` tokens, 0 if that is unknown. pi takes
     * refused requests out of the list before it compacts, so the hook does not see them.
     */
    limit(of, refused, sent) {
      const all = messages();
      const newest = all.at(-1);
      if (newest?.stopReason === "error" && !refused.has(newest.timestamp))
        refused.set(newest.timestamp, sent);
      const own = all.filter(({ provider, model }) => provider === of?.provider && model === of?.id);
      return own.reduce((limit, message) => {
        if (message.stopReason === "error")
          return limitOf(refusalOf(message), refused.get(message.timestamp)) ?? limit;
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
