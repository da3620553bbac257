// A recorded session as the command line plays it: every recorded call with the messages that the model had before it. Messages
// are numbered from 0 in the order they came. A new stretch begins where the host rewrote the past.

import rules from "../../options.js";

/** Answers that nobody billed, in the words of `unplayed`. */
const UNUSED = "that used no tokens";

export class Recording {
  /** Every recorded call in order, `{ number, at, stretch }`: its number from 1, the number of its answer, its stretch. */
  calls = [];
  /** `opening` holds the numbers of the messages that a stretch begins with; the messages `from` to `to` came in it. */
  stretches = [{ cause: "start", opening: [], from: 0, to: 0 }];
  /** `{ line, message }` of each line that could not be read. */
  problems = [];
  /** Every message, in the order of the numbers. */
  all = [];
  #hasReports;

  /**
   * Plays `steps` in order. Each has one of these: a `message`; an edit of the message of step `target`, where
   * `replace(message)` returns the new one or undefined; a `compaction` to the messages `head` and the earlier steps that
   * `keeps(step)`. `abandoned` and `subAgents` are numbers of recorded calls that are not played; `times` are the hook's options
   * `warmedAt` and `coldAt`.
   */
  constructor(format, steps, { abandoned = 0, subAgents = 0, times = { warmedAt: [], coldAt: [] } } = {}) {
    this.format = format;
    this.unplayed = { "on abandoned branches": abandoned, "made by sub-agents": subAgents, [UNUSED]: 0 };
    this.times = times;
    this.#hasReports = steps.some(({ message }) => hasUsed(message?.usage));
    const known = [];
    let context = [];
    for (const step of steps) {
      const { message, target, replace, compaction } = step;
      const edited = target ? known.find(({ id }) => id === target) : undefined;
      if (message !== undefined) {
        const said = { ...step, number: this.#say(message) };
        known.push(said);
        context.push(said);
      } else if (edited !== undefined) {
        const replacement = replace(edited.message);
        edited.number = replacement && this.#add(replacement);
        this.#cut("edit", context);
      } else if (compaction !== undefined) {
        const head = compaction.head.map((each) => ({ number: this.#add(each) }));
        context = head.concat(known.filter(compaction.keeps));
        this.#cut("compaction", context);
      }
    }
  }

  #add(message) {
    return this.all.push(message) - 1;
  }

  /**
   * Adds a message to the current stretch. An answer with a message before it is a call, unless it reports no token where
   * others do: the provider refused it, or the host wrote it.
   */
  #say(message) {
    const { stretches, calls } = this;
    const at = this.#add(message);
    const last = stretches.at(-1);
    last.to = at + 1;
    if (message.role !== "assistant" || last.opening.length + at === last.from) return at;
    const { usage } = message;
    if (this.#hasReports && isRecord(usage) && !hasUsed(usage)) this.unplayed[UNUSED] += 1;
    else calls.push({ number: calls.length + 1, at, stretch: stretches.length - 1 });
    return at;
  }

  /** Begins a stretch. An empty one before it is dropped. */
  #cut(cause, context) {
    const from = this.all.length;
    const last = this.stretches.at(-1);
    if (last.from === last.to) this.stretches.pop();
    const opening = context.flatMap(({ number }) => number ?? []);
    this.stretches.push({ cause, opening, from, to: from });
  }

  /** The messages that the next call would have. */
  get messages() {
    return this.messagesBefore({ stretch: this.stretches.length - 1, at: this.all.length });
  }

  /** The messages before a call. */
  messagesBefore(call) {
    return this.numbersBefore(call).map((number) => this.all[number]);
  }

  /** Numbers of the messages before a call. */
  numbersBefore({ at, stretch }) {
    const { opening, from } = this.stretches[stretch];
    return [...opening, ...Array.from({ length: at - from }, (_, i) => from + i)];
  }
}

/** True if a usage reports any token. */
const hasUsed = (usage) => ["input", "output", "cacheRead", "cacheWrite"].some((kind) => usage?.[kind] > 0);

/**
 * The entries from the roots to the id `leaf`, by their parents. A root has the parent null; an entry may have a list of parents. If
 * the leaf or a parent is missing, or a parent would close a loop, the preceding entry replaces it.
 */
export function pathTo(leaf, entries) {
  const places = new Map(entries.map(({ id }, at) => [id ?? at, at]));
  const path = new Set();
  const placeOf = (id, at) => {
    if (id === null) return -1;
    const place = places.get(id) ?? at - 1;
    return place >= at && path.has(entries[place]) ? at - 1 : place;
  };
  const open = [placeOf(leaf, entries.length)];
  for (const at of open) {
    if (at < 0 || path.has(entries[at])) continue;
    path.add(entries[at]);
    for (const parent of [entries[at].parent].flat()) open.push(placeOf(parent, at));
  }
  return Array.from(path).reverse();
}

/** Milliseconds since 1970 of an RFC 3339 text or a number; undefined if it is neither. */
export function timeOf(timestamp) {
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : timestamp;
  return Number.isFinite(time) && time >= 0 ? time : undefined;
}

/** An object without the fields that are null or undefined. */
export function present(object) {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value != null));
}

/** True for an object that is no list. */
export const isRecord = rules.record.accepts;
