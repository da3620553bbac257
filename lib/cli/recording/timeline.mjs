// All messages of a recording in the order they came, and its stretches: the host rewrote the past between two of them. Also the
// tree that the lines of a file form by naming their parents.

export class Timeline {
  messages = [];
  /** Numbers of the messages that the model answered with. */
  answers = [];
  /** At least one. `opening` has the numbers that it begins with; `from` to `to` came in it. */
  stretches = [{ cause: "start", opening: [], from: 0, to: 0 }];

  /** Appends a message to the current stretch; returns its number. */
  push(message) {
    const number = this.pushAside(message);
    if (message.role === "assistant") this.answers.push(number);
    this.stretches.at(-1).to = number + 1;
    return number;
  }

  /** Adds a message for the opening of the stretch that `cut` begins; returns its number. */
  pushAside(message) {
    return this.messages.push(message) - 1;
  }

  /** Begins a stretch. An empty one before it is dropped. */
  cut(cause, opening) {
    const from = this.messages.length;
    const last = this.stretches.at(-1);
    if (last.from === last.to) this.stretches.pop();
    this.stretches.push({ cause, opening, from, to: from });
  }

  /** Numbers of the messages that the next call would have before it. */
  get transcript() {
    const { opening, from, to } = this.stretches.at(-1);
    return [...opening, ...Array.from({ length: to - from }, (_, i) => from + i)];
  }
}

/** The parent that a line names: an id, null for none, undefined if it does not say. */
export function parentOf(line, key) {
  const parent = line[key];
  return typeof parent === "string" || parent === null ? parent : undefined;
}

/** The place of a parent among the lines, -1 for none. The line before stands in for a parent on a broken line. */
export function placeOf(parent, index, places) {
  return parent === null ? -1 : (places.get(parent) ?? index - 1);
}

/** The places from the root to `last`; `before` returns the place before another. A loop ends where it closes. */
export function pathTo(last, before) {
  const path = new Set();
  for (let at = last; at >= 0 && !path.has(at); at = before(at)) path.add(at);
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
