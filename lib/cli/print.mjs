// The replay's lines and tables, as text.

import contract from "../contract.js";
import { change, some, whole } from "./numbers.mjs";
import { costText, pricesText } from "./report/prices.mjs";
import { figureList, printable, screenColumns } from "./table.mjs";

const ms = (number) => `${number.toFixed(2)} ms`;
const spread = ({ median, p95, max }) => `median ${ms(median)}, p95 ${ms(p95)}, max ${ms(max)}`;

/** Heads of the columns and their widths. The layers' columns are shown if the terminal has room for all. */
const COLUMNS = [
  ["call", 6],
  ["messages", 15],
  ["tokens", 21],
  ["saved", 8],
  ["results", 10],
  ["thinking", 10],
  ["dropped", 10],
  ["ms", 9],
];
const LAYER_COLUMNS = ["results", "thinking", "dropped"];

/** The heads of the lines below. */
export const callHeader = () => row(COLUMNS.map(([head]) => head));

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
  const all = COLUMNS.reduce((sum, [, width]) => sum + 1 + width, -1);
  const isShown = (head) => all <= screenColumns() || !LAYER_COLUMNS.includes(head);
  return COLUMNS.flatMap(([head, width], i) => (isShown(head) ? [cells[i].padStart(width)] : [])).join(" ");
}

/** Rows that say which recorded calls are not played, and how often the recorded conversation was compacted. */
function unplayedRows({ unplayed, stretches }) {
  const rows = Object.entries(unplayed).filter(([, calls]) => calls > 0);
  return [
    ...rows.map(([which, calls]) => ["not played", `${some(calls, "call")} ${which}`]),
    ["recorded compactions", whole(stretches.filter(({ cause }) => cause === "compaction").length)],
  ];
}

/** What a replay assumes: the session, the prices, the cache, and where list and usage disagree. */
export function openingTable(path, session, { prices, cache, contextWindow, oddCalls }) {
  const lines = [
    ["session", printable(path)],
    [
      "format",
      `${session.format}, ${some(session.length, "message")}, ${some(session.calls.length, "model call")}`,
    ],
    ["prices", pricesText(prices)],
    ["cache", `${CACHES[cache]}; an entry lives ${whole(prices.ttlSeconds)} s`],
    ["window", `${whole(contextWindow)} tokens`],
  ];
  if (oddCalls.length > 0) lines.push(["usage", oddText(oddCalls)]);
  return figureList(lines);
}

const CACHES = {
  prefix: "whatever beginning two requests share is read (prefix cache)",
  breakpoint: "whole earlier requests are read (breakpoint cache)",
};

/** Says that some calls report less than their messages hold. */
function oddText(oddCalls) {
  const { call, reported, counted } = oddCalls.at(-1);
  return (
    `${some(oddCalls.length, "report")} below the size of the messages (call ${whole(call)}: ${whole(reported)} tokens, the ` +
    `messages make ${whole(counted)}): the host, or this hook, left something out; the file's usage is taken`
  );
}

/** The closing table. The layers' savings add up to the difference in tokens sent. */
export function closingTable(session, summary) {
  const { tokensSent, peakTokens, messages, saved, callsOverWindow, totalMs, blockedMs } = summary;
  const pair = ({ before, after }) => `${whole(before)} → ${whole(after)}`;
  const acted = contract.LAYERS.filter((layer) => layer !== "repair" || saved.repair !== 0);
  const lines = [
    ["model calls", whole(summary.calls)],
    ...unplayedRows(session),
    ["messages in the last call", pair(messages)],
    [
      "tokens sent, all calls",
      `${pair(tokensSent)} (${change(tokensSent.before, tokensSent.after)}), as the provider counts, estimated`,
    ],
    ...acted.map((layer) => [`  saved by ${contract.layers[layer]}`, whole(saved[layer])]),
    ["  saved in all", whole(tokensSent.before - tokensSent.after)],
    ["cost of the input, all calls", moneyText(summary)],
    ["largest call", pair(peakTokens)],
    ["calls over the window", pair(callsOverWindow)],
    ["time per call", spread(totalMs)],
    ["main thread held", spread(blockedMs)],
  ];
  if (session.problems.length > 0) lines.push(["lines skipped", whole(session.problems.length)]);
  return figureList(lines);
}

/** The cost with and without the hook. A request over the window has no price. */
function moneyText({ cost, callsOverWindow }) {
  const { cache, prices, before, after } = cost;
  const over = callsOverWindow.before;
  if (over > 0)
    return `${costText(after, prices)}, ${cache} cache; impossible without the hook: ${some(over, "call")} over the window`;
  const [from, to] = [before, after].map((sum) => costText(sum, prices));
  return `${from} → ${to} (${change(before, after)}), ${cache} cache`;
}
