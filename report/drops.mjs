// Finds requests that became smaller than the one before, and why.

import { el, whole } from "./dom.mjs";

/** Most drops that the chart marks; the largest ones. */
const MOST_DROPS = 5;
/** Smallest share of the window that counts as a drop. */
const LEAST_SHARE = 0.02;

/** `{ call, tokens, why }` of the largest drops, in order of the calls. */
export function dropsIn({ calls, stretches, changes, contextWindow }, words) {
  const found = [];
  for (let i = 1; i < calls.after.length; i += 1) {
    const tokens = calls.after[i - 1] - calls.after[i];
    if (tokens >= LEAST_SHARE * contextWindow) found.push({ call: i + 1, tokens });
  }
  const largest = found.sort((a, b) => b.tokens - a.tokens).slice(0, MOST_DROPS);
  return largest
    .sort((a, b) => a.call - b.call)
    .map((drop) => ({ ...drop, why: whyAt({ calls, stretches, changes }, drop.call, words) }));
}

/** The cause of a drop: the host, the schedule's reason, or the reason of the call's largest edit. */
function whyAt({ calls, stretches, changes }, call, words) {
  const i = call - 1;
  if (calls.stretch[i] !== calls.stretch[i - 1]) return words.causes[stretches[calls.stretch[i]].cause];
  const reason = calls.reason[i];
  if (reason.startsWith("moved")) return words.reasons[reason] ?? reason;
  const [, , , , , why] = changes
    .filter(([, , from]) => from === call)
    .reduce((most, change) => (change[4] > most[4] ? change : most), [0, "", 0, 0, 0, words.smaller]);
  return words.reasons[why] ?? why;
}

/** The drops as a numbered list. */
export function dropList(drops, words) {
  if (drops.length === 0) return [];
  const items = drops.map(({ call, tokens, why }) =>
    el("li", {}, words.dropAt(whole(call), whole(tokens), why)),
  );
  return [el("ol", { class: "drops" }, ...items)];
}
