// The replay's lines and tables, as text.

import { LAYERS } from "./replay.mjs";

const LAYER_TITLES = {
  toolResults: "old tool results",
  thinking: "old thinking",
  window: "sliding window",
  shrink: "over the window",
};

const whole = (number) => Math.round(number).toLocaleString("en-US");
const ms = (number) => `${number.toFixed(2)} ms`;
const share = (part, all) => (all > 0 ? `${((100 * part) / all).toFixed(1)} %` : "0.0 %");

export const CALL_HEADER = row([
  "call",
  "messages",
  "tokens",
  "saved",
  "results",
  "thinking",
  "window",
  "ms",
]);

/** One line per call. */
export function callLine(report) {
  const { call, messagesBefore, messagesAfter, tokensBefore, tokensAfter, saved, totalMs } = report;
  return row([
    whole(call),
    `${whole(messagesBefore)} → ${whole(messagesAfter)}`,
    `${whole(tokensBefore)} → ${whole(tokensAfter)}`,
    share(tokensBefore - tokensAfter, tokensBefore),
    whole(saved.toolResults),
    whole(saved.thinking),
    whole(saved.window + saved.shrink),
    totalMs.toFixed(2),
  ]);
}

function row(cells) {
  const widths = [6, 17, 21, 8, 10, 10, 10, 9];
  return cells.map((cell, i) => cell.padStart(widths[i])).join(" ");
}

/** The closing table. */
export function closingTable(session, summary) {
  const { tokensSent, peakTokens, messages, saved, totalMs, blockedMs } = summary;
  const change = ({ before, after }) => `${whole(before)} → ${whole(after)}`;
  const lines = [
    ["session", `${session.format}, ${whole(session.messages.length)} messages`],
    ["model calls", whole(summary.calls)],
    ["messages in the last call", change(messages)],
    [
      "tokens sent, all calls",
      `${change(tokensSent)} (−${share(tokensSent.before - tokensSent.after, tokensSent.before)})`,
    ],
    ["largest call, tokens", change(peakTokens)],
    ...LAYERS.map((layer) => [`saved by ${LAYER_TITLES[layer]}`, `${whole(saved[layer])} tokens`]),
    ["calls over the window", whole(summary.overflows)],
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
