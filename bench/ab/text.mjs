// The plan and the results of a run as text for a terminal.

import { percent, whole } from "../../lib/cli/numbers.mjs";
import { textTable } from "../../lib/cli/terminal.mjs";
import { ASSUMED_DIFFERING, planOf } from "./summary.mjs";

const ARM_HEADS = ["arm", "solved", "steps", "prompt", "cached", "output", "dollars", "misses", "refused"];

/** The run that is about to begin, and what it can show. */
export function planText(settings) {
  const { arms, sessions, languages, margin, effect } = settings;
  const { tasks, forEffect, forMargin, differing } = planOf(settings);
  return [
    `${tasks} tasks in ${languages.join(", ")}, ${sessions} ${sessions === 1 ? "session" : "sessions"}, under each of ${arms.join(", ")}.`,
    `Margin, stated before: ${points(margin)}. If the arms are equal, about ${whole(forMargin)} tasks bring the interval within it (${percent(ASSUMED_DIFFERING)} of the pairs differing).`,
    `About ${whole(forEffect)} tasks show a loss of ${points(effect)} with a power of 80 % (${percent(differing)} of the pairs differing).`,
  ].join("\n");
}

/** The results as tables; prompt and output in tokens, cached as the share of the prompt that was read from the cache. */
export function resultsText({ arms, comparisons, settings }) {
  const rows = arms.map(({ arm, solved, tasks, steps, tokens, dollars, misses, refused }) => {
    const prompt = tokens.input + tokens.cacheRead + tokens.cacheWrite;
    return [
      arm,
      `${solved} of ${tasks}`,
      whole(steps),
      thousands(prompt),
      percent(prompt > 0 ? tokens.cacheRead / prompt : 0),
      thousands(tokens.output),
      dollars.toFixed(2),
      whole(misses),
      whole(refused),
    ];
  });
  return [
    textTable(ARM_HEADS, rows),
    ...comparisons.map((comparison) => comparisonText(comparison, settings)),
  ].join("\n\n");
}

function thousands(tokens) {
  return `${whole(tokens / 1000)}k`;
}

function comparisonText(comparison, { margin, effect }) {
  const { arm, baseline, pairs, gained, lost, difference, low, high, p, needed } = comparison;
  const { differing, isAssumed, forEffect, forMargin } = needed;
  const seen = isAssumed ? "assumed" : "as seen";
  return [
    `${arm} against ${baseline}: ${signed(difference)} (95 % interval ${signed(low)} to ${signed(high)}) over ${pairs} tasks; only ${arm} solved ${gained}, only ${baseline} ${lost}.`,
    `  McNemar, exact: p ${equal(p)}. ${verdictText(comparison, margin)}`,
    `  With ${percent(differing)} of the pairs differing (${seen}), a loss of ${points(effect)} takes ${whole(forEffect)} tasks, the margin ${whole(forMargin)}.`,
    `  Dollars over the same tasks: ${comparison.dollars.toFixed(2)} against ${comparison.baselineDollars.toFixed(2)}.`,
  ].join("\n");
}

/** The verdict in words. */
function verdictText({ verdict }, margin) {
  if (verdict === "better") return "Better.";
  if (verdict === "not worse") return `Not worse by ${points(margin)} or more.`;
  if (verdict === "worse by more") return `Worse by more than ${points(margin)}.`;
  if (verdict === "worse") return `Worse; whether by more than ${points(margin)} is open.`;
  return `Open: the interval reaches beyond the margin of ${points(margin)}.`;
}

/** A share of tasks as percentage points. */
function points(share) {
  return `${trimmed(100 * share)} points`;
}

/** A difference of shares, with its sign. */
function signed(share) {
  const text = trimmed(100 * Math.abs(share));
  if (text === "0.0" || text === "0") return "0";
  return `${share < 0 ? "−" : "+"}${text}`;
}

/** A p-value. */
function equal(p) {
  return p < 0.0001 ? "< 0.0001" : `= ${p.toFixed(4)}`;
}

function trimmed(number) {
  return Number.isInteger(number) ? String(number) : number.toFixed(1);
}
