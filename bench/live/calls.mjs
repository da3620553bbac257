// A recorded session live: its messages are said again, and every request goes to a simulated provider that reports what
// it was really sent. Measures, prints nothing.

import { Judge } from "../../__test__/support/live/judge.mjs";
import { Loop, play } from "../../__test__/support/live/loop.mjs";
import { Provider } from "../../__test__/support/live/provider.mjs";
import { unplayedRows } from "../../lib/cli/print.mjs";
import { whole as wholeNumber } from "../../lib/cli/table.mjs";

/** One report per call of a recording. `options` are those of the hook, `provider` those of `Provider`. */
export async function* replayLive(recording, options, provider) {
  const loop = new Loop(new Provider(provider), options);
  const judge = new Judge(loop);
  for await (const record of play(recording, loop, { onChange: () => judge.hostChanged() })) {
    if (record.failure !== undefined) throw new Error(`call ${record.call} failed: ${record.failure}`);
    yield reportOf(record, judge.look(record));
  }
}

function reportOf(record, { error, isTaught, changed, lost }) {
  return {
    call: record.call,
    messagesBefore: record.given.length,
    messagesAfter: record.sent.length,
    tokensSent: record.prompt,
    tokensEstimated: Math.round(record.estimate),
    error,
    isTaught,
    tokensCached: record.readTokens,
    dollars: record.usage?.cost?.total ?? 0,
    schedule: record.schedule,
    reason: record.reason,
    refused: record.isRefused,
    overflow: record.saysOverflow,
    messagesChanged: changed,
    messagesLost: lost,
  };
}

/** What a whole session amounts to. Errors are shares of what was sent, from the third call on. */
export function summarizeLive(reports) {
  const sum = (value) => reports.reduce((total, report) => total + value(report), 0);
  const errors = reports.filter(({ isTaught }) => isTaught).map(({ error }) => Math.abs(error));
  errors.sort((a, b) => a - b);
  const at = (share) => errors[Math.min(errors.length - 1, Math.floor(share * errors.length))] ?? 0;
  const tokensSent = sum((report) => report.tokensSent);
  return {
    calls: reports.length,
    tokensSent,
    peakTokens: reports.reduce((most, report) => Math.max(most, report.tokensSent), 0),
    cachedShare: tokensSent > 0 ? sum((report) => report.tokensCached) / tokensSent : 0,
    dollars: sum((report) => report.dollars),
    error: { median: at(0.5), p95: at(0.95), max: at(1) },
    refused: sum((report) => Number(report.refused)),
    unreported: sum((report) => Number(report.refused && !report.overflow)),
    moves: sum((report) => Number(report.reason.startsWith("moved"))),
    messagesChanged: sum((report) => report.messagesChanged),
    messagesLost: sum((report) => report.messagesLost),
  };
}

const WIDTHS = [6, 17, 10, 10, 9, 8];

const columns = (cells) => cells.map((cell, at) => cell.padStart(WIDTHS[at] ?? 0)).join(" ");
const share = (value) => `${(100 * value).toFixed(2)} %`;

export const LIVE_HEADER = columns(["call", "messages", "sent", "estimate", "error", "cached"]);

/** One line per call; what should not be is said at its end. */
export function liveLine(report) {
  const { call, messagesBefore, messagesAfter, tokensSent, tokensEstimated, error, tokensCached } = report;
  const figures = [
    wholeNumber(call),
    `${wholeNumber(messagesBefore)} → ${wholeNumber(messagesAfter)}`,
    wholeNumber(tokensSent),
    wholeNumber(tokensEstimated),
    share(error),
    `${Math.round((100 * tokensCached) / tokensSent)} %`,
  ];
  return [columns(figures), ...remarks(report)].join("  ");
}

function remarks({ reason, refused, overflow, messagesChanged, messagesLost }) {
  return [
    reason.startsWith("moved") ? reason : undefined,
    refused ? `refused${overflow ? "" : ", not foreseen"}` : undefined,
    messagesChanged > 0 ? `${messagesChanged} messages changed while waiting` : undefined,
    messagesLost > 0 ? `${messagesLost} messages given up with room left` : undefined,
  ].filter((remark) => remark !== undefined);
}

/** The closing table. */
export function liveTable(session, summary) {
  const { error } = summary;
  const lines = [
    ["session", `${session.format}, ${wholeNumber(session.length)} messages`],
    ["model calls", wholeNumber(summary.calls)],
    ...unplayedRows(session),
    ["tokens sent, all calls", wholeNumber(summary.tokensSent)],
    ["largest call, tokens", wholeNumber(summary.peakTokens)],
    ["read from the cache", share(summary.cachedShare)],
    ["cost", `$ ${summary.dollars.toFixed(2)}`],
    ["estimate off by", `median ${share(error.median)}, p95 ${share(error.p95)}, max ${share(error.max)}`],
    ["schedule moved", `${wholeNumber(summary.moves)} times`],
    [
      "refused, over the window",
      `${wholeNumber(summary.refused)}, ${wholeNumber(summary.unreported)} not foreseen`,
    ],
    ["changed while waiting", `${wholeNumber(summary.messagesChanged)} messages`],
    ["given up with room left", `${wholeNumber(summary.messagesLost)} messages`],
  ];
  const width = Math.max(...lines.map(([title]) => title.length));
  return lines.map(([title, value]) => `${title.padEnd(width)}  ${value}`).join("\n");
}
