// The page's tables: the newest calls, the largest edits, and the policies side by side.

import { dollars, percent, table, whole } from "./dom.mjs";

/** Rows of the table of calls. */
const NEWEST = 20;
/** Edits that are shown at once, and on demand. */
const FIRST = 5;
const MOST = 25;

export function callTable({ calls }, words) {
  const newest = calls.map((call, i) => [i + 1, call]).slice(-NEWEST);
  const rows = newest
    .toReversed()
    .map(([number, call]) => [
      whole(number),
      `${whole(call.messagesBefore)} → ${whole(call.messagesAfter)}`,
      whole(call.tokensAfter),
      call.reported === null ? words.none : whole(call.reported),
      cacheCell(call, words),
      call.paid === undefined ? words.none : `$${call.paid.toFixed(4)}`,
      inWords(call.reason, words),
    ]);
  return table(words.callHeads, rows, "prose policies");
}

function cacheCell({ reported, cacheRead, miss }, words) {
  if (reported === null || !(reported > 0)) return words.none;
  const share = percent(cacheRead / reported);
  return miss === undefined ? share : `${share}, ${words.missed({ cause: words.missCauses[miss] })}`;
}

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
  const rows = policies.map(({ name, dollars: total, readTokens, tokens, peak, overflows }) => [
    words.policies[name],
    whole(tokens),
    dollars(total.prefix),
    dollars(total.breakpoint),
    percent(tokens > 0 ? readTokens.prefix / tokens : 1),
    whole(peak),
    whole(overflows),
  ]);
  return table(heads, rows, "policies");
}

/** The messages that lost most to an edit: a table of the first ones, and those with the others. */
export function editTables({ messages: { role, tool, tokens }, changes, calls }, words) {
  const largest = new Map();
  for (const change of changes) {
    if (change.saved > (largest.get(change.message)?.saved ?? 0)) largest.set(change.message, change);
  }
  const { scale } = calls.at(-1);
  const rows = Array.from(largest.values())
    .sort((a, b) => b.saved - a.saved)
    .slice(0, MOST)
    .map((change) => {
      const { message } = change;
      const what = tool[message] === "" ? (words.kinds[role[message]] ?? role[message]) : tool[message];
      return [`#${whole(message + 1)} ${what}`, whole(scale * tokens[message]), fateOf(change, scale, words)];
    });
  const tableOf = (shown) => table([words.message, words.tokens, words.fate], shown, "prose");
  return [tableOf(rows.slice(0, FIRST)), rows.length > FIRST ? [tableOf(rows.slice(FIRST))] : []];
}

/** A change in words: its action, since when, and why. `scale` converts its saving to the provider's tokens. */
export function fateOf({ action, from, saved, reason, kept = [] }, scale, words) {
  const why = inWords(reason, words);
  const fate = words.since({ action: words.actionWords[action], call: from, saved: scale * saved, why });
  const lines = kept.map(({ lines, why }) => words.linesStay({ lines, why: inWords(why, words) }));
  return [fate, ...lines].join(words.semicolon);
}

/** A reason in the reader's language. */
export function inWords(reason, words) {
  return words.reasons[reason] ?? reason;
}
