// Reads from pi's session file what the list of messages lacks: results of other branches, what pi paid, when it kept the
// cache warm, and when the user asked for a cut. Reads only.

/** Names our own entries in the session file. */
export const ENTRY_TYPE = "pi-strata";

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

  /** The list of the next request, without system messages, which pi keeps to itself; undefined where pi does not hand it over. */
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

  /**
   * `{ warmed, cold }` in ms: when pi sent the latest request again to keep its cache entry alive, and when the user asked
   * for a cut. What was warmed for another model than the one that answered last kept nothing alive.
   */
  cacheTimes() {
    const warmed = [];
    const cold = [];
    let latest;
    for (const { type, message, kind, provider, model, timestamp, customType, data } of this.#list(
      "getBranch",
    )) {
      const time = Date.parse(timestamp);
      if (type === "message" && message?.role === "assistant") latest = message;
      else if (type === "usage" && kind === "cache_warm" && Number.isFinite(time)) {
        const isSame = latest?.provider === provider && [latest.model, latest.responseModel].includes(model);
        if (isSame) warmed.push(time);
      } else if (type === "custom" && customType === ENTRY_TYPE && Number.isFinite(data?.cutAt)) {
        cold.push(data.cutAt);
      }
    }
    return { warmed, cold };
  }

  /** A pi that is shutting down throws. */
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
