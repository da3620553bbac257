// The report's tables: the policies side by side, and the biggest tool results.

import { dollars, percent, table, whole } from "./dom.mjs";
import { fateOf } from "./map.mjs";

/** Rows of the table of tool results. */
const BIGGEST = 25;

export function policyTable({ costs }, words) {
  const heads = [
    words.policy,
    words.tokensSentShort,
    words.dollarsPrefix,
    words.dollarsBreakpoint,
    words.hitRate,
    words.largestCall,
    words.overflows,
  ];
  const rows = costs.policies.map(({ name, dollars: total, hitRate, tokens, peak, overflows }) => [
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

export function toolTable(data, words) {
  const { tool, tokens } = data.messages;
  const results = tool.flatMap((name, index) => (name === "" ? [] : [index]));
  const all = results.reduce((sum, index) => sum + tokens[index], 0);
  const last = new Map(data.changes.map((change) => [change[0], change]));
  const rows = results
    .toSorted((a, b) => tokens[b] - tokens[a])
    .slice(0, BIGGEST)
    .map((index) => [
      tool[index],
      `#${whole(index + 1)}`,
      whole(tokens[index]),
      percent(tokens[index] / Math.max(1, all)),
      last.has(index) ? fateOf(last.get(index), words) : words.kept,
    ]);
  return table([words.tool, words.message, words.tokens, words.share, words.fate], rows, "prose");
}
