// Finds requests that became smaller than the one before, and why.

import { el } from "./dom.mjs";
import { inWords } from "./tables.mjs";

/** Most drops that the chart marks; the largest ones. */
const MOST_DROPS = 5;
/** Smallest share of the window that counts as a drop. */
const LEAST_SHARE = 0.02;

/** `{ call, tokens, why }` of the largest drops, in order of the calls. */
export function dropsIn(record, words) {
  const { calls } = record;
  const found = calls
    .slice(1)
    .map((call, i) => ({ call: i + 2, tokens: calls[i].tokensAfter - call.tokensAfter }))
    .filter(({ call, tokens }) => tokens >= LEAST_SHARE * calls[call - 1].contextWindow);
  const largest = found.sort((a, b) => b.tokens - a.tokens).slice(0, MOST_DROPS);
  return largest
    .sort((a, b) => a.call - b.call)
    .map((drop) => ({ ...drop, why: whyAt(record, drop.call, words) }));
}

/** The cause of a drop: the host, the schedule's reason, or the reason of the call's largest edit. */
function whyAt({ calls, stretches, changes }, call, words) {
  const { stretch, reason } = calls[call - 1];
  if (stretch !== calls[call - 2].stretch) return words.causes[stretches[stretch].cause];
  if (reason.startsWith("moved")) return inWords(reason, words);
  const largest = changes
    .filter(({ from }) => from === call)
    .reduce((most, change) => (change.saved > most.saved ? change : most), {
      saved: 0,
      reason: words.smaller,
    });
  return inWords(largest.reason, words);
}

/** The drops as a numbered list. */
export function dropList(drops, words) {
  if (drops.length === 0) return [];
  const items = drops.map(({ call, tokens, why }) => el("li", {}, words.dropAt({ call, tokens, why })));
  return [el("ol", { class: "drops" }, ...items)];
}
