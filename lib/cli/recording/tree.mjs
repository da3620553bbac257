// The tree that the lines of a file form by naming their parents, and what all readers need.

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
