// `pi-strata explain`: the edits that the hook would make before one call of a recorded session, and why, as text. Messages are
// numbered from 1, in the order of the recording.

import { explain } from "../tools/explain.js";
import { change, shared, some } from "./numbers.mjs";
import { UsageError } from "./session.mjs";
import { figureList, printable, textTable, whole } from "./table.mjs";

/** `{ call, messages, explanation }` of a recording's `call`-th call (from 1; the last one if undefined). */
export async function explainCall(recording, call, options) {
  const { calls } = recording;
  const number = call ?? calls.length;
  const found = calls[number - 1];
  if (found === undefined)
    throw new UsageError(
      `There is no call ${number}: the session has ${calls.length}; name one with --call.`,
    );
  const numbers = recording.numbersBefore(found);
  const messages = recording.messagesBefore(found);
  const { edits, ...explanation } = await explain(messages, { ...recording.times, ...options });
  const saved = shared(
    explanation.tokensBefore - explanation.tokensAfter,
    edits.map(({ tokensSaved }) => tokensSaved),
  );
  return {
    call: number,
    messages: messages.length,
    explanation: {
      ...explanation,
      edits: edits.map(({ index, ...edit }, i) => ({
        message: numbers[index] + 1,
        of: nameOf(messages[index]),
        ...edit,
        tokensSaved: saved[i],
      })),
    },
  };
}

/** The figures, the schedule's arithmetic, and a line per edit. */
export function explanationText(path, { call, messages, explanation }) {
  const { tokensBefore, tokensAfter, thresholdTokens, scale, schedule, edits } = explanation;
  const head = [
    ["session", printable(path)],
    ["call", whole(call)],
    ["messages", whole(messages)],
    [
      "tokens",
      `${whole(tokensBefore)} → ${whole(tokensAfter)} (${change(tokensBefore, tokensAfter)}), as the provider counts, estimated`,
    ],
    ["threshold", `${whole(thresholdTokens)} tokens`],
    ["scale", `${scale.toFixed(3)} provider tokens per cl100k token`],
    ["schedule", `${schedule.mode}: ${schedule.why}`],
    ["removable now", `${whole(schedule.removableTokens)} tokens`],
    ["paid for carrying", `${whole(schedule.carriedCost)} of ${whole(schedule.rewriteCost)} input tokens`],
    ["cache", schedule.cacheCold ? "cold" : "warm"],
    ["pays back", paybackText(schedule)],
  ];
  const figures = figureList(head);
  if (edits.length === 0) return `${figures}\n\nNothing is edited.`;
  const rows = edits.flatMap(({ message, of, layer, action, reason, tokensSaved, kept = [] }) => [
    [`#${message} ${of}`, String(layer), action, whole(tokensSaved), reason],
    ...kept.map(({ lines, why }) => ["", "", "", "", `  ${some(lines, "line")} kept: ${why}`]),
  ]);
  return `${figures}\n\n${textTable(["message", "layer", "action", "saves", "reason"], rows, { hasProse: true })}`;
}

function paybackText({ paybackCalls, removableTokens }) {
  if (paybackCalls === 0 || removableTokens === 0) return "nothing could be removed now";
  return Number.isFinite(paybackCalls) ? `after ${some(Math.ceil(paybackCalls), "call")}` : "never";
}

function nameOf({ role, toolName }) {
  return role === "toolResult" ? `${role} ${toolName}` : role;
}
