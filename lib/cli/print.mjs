// The replay's lines and tables, as text.

import contract from "../contract.js";
import { change, whole } from "./numbers.mjs";

const ms = (number) => `${number.toFixed(2)} ms`;

export const CALL_HEADER = row([
  "call",
  "messages",
  "tokens",
  "saved",
  "results",
  "thinking",
  "dropped",
  "ms",
]);

/** One line per call. */
export function callLine(report) {
  const { call, messagesBefore, messagesAfter, tokensBefore, tokensAfter, saved, totalMs } = report;
  const { toolResults, thinking, ...others } = saved;
  return row([
    whole(call),
    `${whole(messagesBefore)} → ${whole(messagesAfter)}`,
    `${whole(tokensBefore)} → ${whole(tokensAfter)}`,
    change(tokensBefore, tokensAfter),
    whole(toolResults),
    whole(thinking),
    whole(Object.values(others).reduce((total, tokens) => total + tokens, 0)),
    totalMs.toFixed(2),
  ]);
}

function row(cells) {
  const widths = [6, 17, 21, 8, 10, 10, 10, 9];
  return cells.map((cell, i) => cell.padStart(widths[i])).join(" ");
}

/** Rows that say which recorded calls are not played, and how often the recorded conversation was compacted. */
export function unplayedRows({ unplayed, stretches }) {
  const rows = Object.entries(unplayed).filter(([, calls]) => calls > 0);
  return [
    ...rows.map(([which, calls]) => ["not played", `${whole(calls)} calls ${which}`]),
    ["recorded compactions", whole(stretches.filter(({ cause }) => cause === "compaction").length)],
  ];
}

/** The closing table. Rows of one kind add up: what was saved is what is sent less. */
export function closingTable(session, summary) {
  const { tokensSent, peakTokens, messages, saved, callsOverWindow, totalMs, blockedMs } = summary;
  const pair = ({ before, after }) => `${whole(before)} → ${whole(after)}`;
  const acted = contract.LAYERS.filter((layer) => layer !== "repair" || saved.repair !== 0);
  const lines = [
    ["session", `${session.format}, ${whole(session.length)} messages`],
    ["model calls", whole(summary.calls)],
    ...unplayedRows(session),
    ["messages in the last call", pair(messages)],
    [
      "tokens sent, all calls",
      `${pair(tokensSent)} (${change(tokensSent.before, tokensSent.after)}), as the provider counts, estimated`,
    ],
    ...acted.map((layer) => [`  saved by ${contract.layers[layer]}`, whole(saved[layer])]),
    ["  saved in all", whole(tokensSent.before - tokensSent.after)],
    ["largest call", pair(peakTokens)],
    ["calls over the window", pair(callsOverWindow)],
    ["time per call", `median ${ms(totalMs.median)}, p95 ${ms(totalMs.p95)}, max ${ms(totalMs.max)}`],
    [
      "main thread held",
      `median ${ms(blockedMs.median)}, p95 ${ms(blockedMs.p95)}, max ${ms(blockedMs.max)}`,
    ],
  ];
  if (session.problems.length > 0) lines.push(["lines skipped", whole(session.problems.length)]);
  const width = Math.max(...lines.map(([title]) => title.length));
  return lines.map(([title, value]) => `${title.padEnd(width)}  ${value}`).join("\n");
}
