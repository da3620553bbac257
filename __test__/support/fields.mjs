// The fields of items, for comparisons of lists.

/** The named field of each item, or, of several names, a list of them: `fieldsOf(events, "type", "code")`. */
export const fieldsOf = (items, ...names) =>
  Array.from(items, (item) => (names.length === 1 ? item[names[0]] : names.map((name) => item[name])));
