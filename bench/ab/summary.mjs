// Sums up the records of a run: each arm's success and bill, and how far arms differ on the same tasks.

import { ARMS } from "./arms.mjs";
import { mcNemar, pairedInterval, tasksForEffect, tasksForMargin } from "./statistics.mjs";

/** Share of pairs taken to come out differently where nothing was seen yet. */
export const ASSUMED_DIFFERING = 0.1;

/** The arms others are compared with, where they take part. */
const BASELINES = ["none", "compaction"];
/** Arms that are compared with pi's own compaction. */
const OURS = new Set(["balanced", "thrifty"]);

/** The results of the run with these settings, as results.json has them. */
export function summarize(settings, records) {
  const arms = settings.arms.map((arm) => armOf(arm, records));
  const comparisons = BASELINES.filter((baseline) => settings.arms.includes(baseline)).flatMap((baseline) =>
    settings.arms
      .filter((arm) => arm !== baseline && (baseline === "none" || OURS.has(arm)))
      .map((arm) => comparisonOf(arm, baseline, records, settings))
      .filter(({ pairs }) => pairs > 0),
  );
  return { settings, tasks: plannedTasks(settings), arms, comparisons, records };
}

/** Tasks of each arm once the run is whole: eight in each language. */
function plannedTasks({ sessions, languages }) {
  return 8 * languages.length * sessions;
}

/** Numbers of a bill that add up. */
const SUMMED = ["calls", "dollars", "misses", "missedTokens", "summaries", "refused", "failed", "unknown"];

/** The sums of an arm's records. */
export function armOf(arm, records) {
  const own = records.filter((record) => record.arm === arm);
  const total = (of) => own.reduce((sum, record) => sum + of(record), 0);
  const kinds = ["input", "output", "cacheRead", "cacheWrite"];
  return {
    arm,
    says: ARMS[arm].says,
    tasks: own.length,
    solved: total(({ isSolved }) => Number(isSolved === true)),
    steps: total(({ steps }) => steps),
    ...Object.fromEntries(SUMMED.map((name) => [name, total(({ bill }) => bill[name])])),
    tokens: Object.fromEntries(kinds.map((kind) => [kind, total(({ bill }) => bill.tokens[kind])])),
    stopped: total(({ stop }) => Number(stop !== undefined)),
    interrupted: total(({ isInterrupted }) => Number(isInterrupted === true)),
  };
}

/** The arm against the baseline, over the tasks both have settled. */
function comparisonOf(arm, baseline, records, { margin, effect }) {
  const keyOf = ({ session, task }) => `${session} ${task}`;
  const others = new Map(records.filter((record) => record.arm === baseline).map((r) => [keyOf(r), r]));
  const pairs = records
    .filter((record) => record.arm === arm && others.has(keyOf(record)))
    .map((record) => ({ own: record, other: others.get(keyOf(record)) }));
  const count = (own, other) =>
    pairs.filter((pair) => pair.own.isSolved === own && pair.other.isSolved === other).length;
  const [gained, lost] = [count(true, false), count(false, true)];
  const { low, high } = pairedInterval({ gained, lost, pairs: pairs.length });
  const differing =
    pairs.length > 0 && gained + lost > 0 ? (gained + lost) / pairs.length : ASSUMED_DIFFERING;
  const dollars = (side) => pairs.reduce((sum, pair) => sum + pair[side].bill.dollars, 0);
  return {
    arm,
    baseline,
    pairs: pairs.length,
    gained,
    lost,
    difference: (gained - lost) / Math.max(1, pairs.length),
    low,
    high,
    p: mcNemar(gained, lost),
    verdict: verdictOf({ low, high }, margin),
    dollars: dollars("own"),
    baselineDollars: dollars("other"),
    needed: {
      differing,
      isAssumed: gained + lost === 0,
      forEffect: tasksForEffect(effect, differing),
      forMargin: tasksForMargin(margin, differing),
    },
  };
}

/** Against the margin that was stated before. */
function verdictOf({ low, high }, margin) {
  if (low > 0) return "better";
  if (low > -margin) return "not worse";
  if (high < -margin) return "worse by more";
  return high < 0 ? "worse" : "open";
}

/** Tasks of the run, and tasks that would show its margin and its effect. */
export function planOf({ margin, effect, ...settings }) {
  const differing = Math.max(ASSUMED_DIFFERING, effect);
  return {
    tasks: plannedTasks(settings),
    differing,
    forEffect: tasksForEffect(effect, differing),
    forMargin: tasksForMargin(margin, ASSUMED_DIFFERING),
  };
}
