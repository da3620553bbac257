// The report's tables: the policies side by side, and the largest edits.

import { dollars, percent, table, whole } from "./dom.mjs";
import { fateOf } from "./map.mjs";

/** Edits that are shown at once, and on demand. */
const FIRST = 5;
const MOST = 25;

export function policyTable({ policies }, words) {
  const heads = [
    words.policy,
    words.tokensSentShort,
    words.dollarsPrefix,
    words.dollarsBreakpoint,
    words.hitRate,
    words.largestCall,
    words.overflows,
  ];
  const rows = policies.map(({ name, dollars: total, hitRate, tokens, peak, overflows }) => [
    nameOf(name, words),
    whole(tokens),
    dollars(total.prefix),
    dollars(total.breakpoint),
    percent(hitRate),
    whole(peak),
    whole(overflows),
  ]);
  return table(heads, rows, "policies");
}

/** A policy's name in the reader's language. */
export function nameOf(policy, words) {
  return words.policies[policy] ?? policy;
}

/** The messages that lost most to an edit: a table of the first ones, and one of the others. */
export function editTables(data, words) {
  const { role, tool, tokens } = data.messages;
  const largest = new Map();
  for (const change of data.changes) {
    const [index, , , , saved] = change;
    if (saved > (largest.get(index)?.[4] ?? 0)) largest.set(index, change);
  }
  const rows = Array.from(largest.values())
    .sort((a, b) => b[4] - a[4])
    .slice(0, MOST)
    .map((change) => {
      const [index] = change;
      const what = tool[index] === "" ? (words.kinds[role[index]] ?? role[index]) : tool[index];
      return [`#${whole(index + 1)} ${what}`, whole(tokens[index]), fateOf(change, words)];
    });
  const tableOf = (shown) => table([words.message, words.tokens, words.fate], shown, "prose");
  return [tableOf(rows.slice(0, FIRST)), rows.length > FIRST ? tableOf(rows.slice(FIRST)) : undefined];
}
