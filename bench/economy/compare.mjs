// The cost table: every policy over every session, and over all of them together.

import { basename } from "node:path";
import { PRICES } from "../../__test__/support/live/provider.mjs";
import { estimatesBy, recordingOf } from "../../__test__/support/recordings.mjs";
import { percent, whole } from "../../lib/cli/numbers.mjs";
import { hookPolicy, SETTINGS } from "../../lib/cli/report/report.mjs";
import { loadSession } from "../../lib/cli/session.mjs";
import { textTable } from "../../lib/cli/terminal.mjs";
import { EXAMPLE } from "../shared.mjs";
import { piCompaction, recordedCompactions } from "./compaction.mjs";
import { addScores, emptyScore, measure, ratesOf } from "./measure.mjs";
import { clearOver100k, coldOnly, maskBatches, wholeRounds } from "./yardsticks.mjs";

const OURS = Object.entries(SETTINGS).map(([name, options]) => [name, hookPolicy(options)]);

/** Ours, and the yardsticks. */
export const POLICIES = {
  "no compression": () => async (messages) => messages,
  ...Object.fromEntries(OURS),
  "whole rounds 0.75 → 0.5": wholeRounds,
  "clear over 100k, keep 20": clearOver100k,
  "cold only": coldOnly,
  "mask all but 20, batches of 40": maskBatches,
  "pi's own compaction": piCompaction,
};

/** Beside them where a recording is played as if its host had never compacted it. */
const RECORDED = { "the host's compactions, as recorded": recordedCompactions };

/**
 * One row per session and policy, then, where there are several sessions, one per policy over all of them. `sessions`
 * are `{ name, messages, compactions }`, the messages a recording or a list. A
 * provider counts as the recorded one did, or `scale` tokens for one of cl100k_base.
 */
export async function compare(sessions, { contextWindow, prices, scale, policies: given }) {
  const rows = [];
  const isUncompacted = sessions.some(({ compactions }) => compactions !== undefined);
  const policies = given ?? { ...POLICIES, ...(isUncompacted ? RECORDED : {}) };
  const totals = new Map(Object.keys(policies).map((policy) => [policy, emptyScore()]));
  for (const { name, messages, compactions = [] } of sessions) {
    const recording = recordingOf(messages);
    const estimates = await estimatesBy(recording, { contextWindow, scale });
    for (const [policy, make] of Object.entries(policies)) {
      const play = make({ contextWindow, prices, compactions });
      const score = await measure(recording, play, { contextWindow, prices, estimates });
      totals.set(policy, addScores(totals.get(policy), score));
      rows.push(rowOf(name, policy, score));
    }
  }
  if (sessions.length > 1) for (const [policy, score] of totals) rows.push(rowOf("all", policy, score));
  return rows;
}

/** Prints the table of these policies over the sessions in `files`, or over the example. */
export async function printComparison(files, { contextWindow, policies }) {
  const sessions = [];
  for (const file of files.length > 0 ? files : [EXAMPLE])
    sessions.push({ name: basename(file), messages: await loadSession(file) });
  console.log(compareTable(await compare(sessions, { contextWindow, prices: PRICES, policies })));
}

function rowOf(session, policy, score) {
  const { calls, tokens, peak, overflows } = score;
  const { dollarsWithRereads: all, ...rates } = ratesOf(score);
  const dollars = { prefix: cents(score.dollars.prefix), breakpoint: cents(score.dollars.breakpoint) };
  const sizes = { calls, tokens, peak, overflows };
  return { session, policy, ...sizes, dollars, dollarsWithRereads: cents(all), ...rates };
}

/** Dollars to ten thousandths of a cent: what is behind is noise of adding up. */
function cents(dollars) {
  return Math.round(dollars * 1e6) / 1e6;
}

/** The columns of a table: head and cell. */
const COLUMNS = [
  ["policy", ({ policy }) => policy],
  ["calls", ({ calls }) => whole(calls)],
  ["$ prefix", ({ dollars }) => dollars.prefix.toFixed(2)],
  ["$ breakpoint", ({ dollars }) => dollars.breakpoint.toFixed(2)],
  ["$ re-reads", ({ dollarsWithRereads }) => dollarsWithRereads.toFixed(2)],
  ["hits", ({ hitRate }) => percent(hitRate)],
  ["peak", ({ peak }) => whole(peak)],
  ["over", ({ overflows }) => whole(overflows)],
  ["recall", ({ recall }) => percent(recall)],
  ["tool recall", ({ toolRecall }) => percent(toolRecall)],
  ["copied", ({ copied }) => percent(copied)],
  ["user text", ({ userText }) => percent(userText)],
  ["calls", ({ acts }) => percent(acts)],
  ["blind edits", ({ blindEdits, edits }) => `${percent(blindEdits)} of ${whole(edits)}`],
];

/** The meaning of the columns, under the tables. */
const LEGEND = `tokens       as the provider counts, estimated from the recorded usage
$ prefix     input dollars where the cache keeps any unchanged beginning; $ breakpoint: where it keeps whole requests only
$ re-reads   the dearer of both, and what it costs to read again what an edit needed and no longer saw
hits         share of the input that came from the cache (prefix)
peak, over   the largest call, and how many calls were larger than the window
recall       how much of what the model went on to use was still in front of it; tool recall: of what only tool results had
             brought; copied: of the spans of 24 code units that it copied
user text    how much of what the user said was still there; calls: of the earlier tool calls
blind edits  edits that quote a line the model no longer saw`;

/** The rows as one table per session. */
export function compareTable(rows) {
  const sessions = [...new Set(rows.map(({ session }) => session))];
  const heads = COLUMNS.map(([head]) => head);
  const tableOf = (name) => {
    const own = rows.filter(({ session }) => session === name);
    const cells = own.map((row) => COLUMNS.map(([, cell]) => cell(row)));
    return `${name}\n${textTable(heads, cells)}`;
  };
  return `${sessions.map(tableOf).join("\n\n")}\n\n${LEGEND}`;
}
