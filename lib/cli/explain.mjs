// `pi-strata explain`: what the hook would do before one call of a recorded session, and why, as text.

import { explain } from "../explain.js";
import { callsOf } from "./replay.mjs";
import { UsageError } from "./session.mjs";
import { percent, textTable, whole } from "./table.mjs";

/** `{ call, messages, explanation }` of a session's `call`-th call (from 1; the last one if undefined). */
export async function explainCall(session, call, options) {
  const calls = callsOf(session.messages);
  const number = call ?? calls.length;
  const at = calls[number - 1];
  if (at === undefined)
    throw new UsageError(
      `There is no call ${number}: the session has ${calls.length}; name one with --call.`,
    );
  const messages = session.messages.slice(0, at);
  return { call: number, messages, explanation: await explain(messages, options) };
}

/** The figures, the schedule's arithmetic, and a line per edit. */
export function explanationText({ call, messages, explanation }) {
  const { tokensBefore, tokensAfter, thresholdTokens, scale, schedule, edits } = explanation;
  const share = tokensBefore > 0 ? (tokensBefore - tokensAfter) / tokensBefore : 0;
  const head = [
    ["call", whole(call)],
    ["messages", whole(messages.length)],
    ["tokens", `${whole(tokensBefore)} → ${whole(tokensAfter)} (−${percent(share)})`],
    ["threshold", `${whole(thresholdTokens)} tokens`],
    ["scale", `${scale.toFixed(3)} provider tokens per cl100k token`],
    ["schedule", `${schedule.mode}: ${schedule.why}`],
    ["removable now", `${whole(schedule.removableTokens)} tokens`],
    ["paid for carrying", `${whole(schedule.carriedCost)} of ${whole(schedule.rewriteCost)} input tokens`],
    ["cache", schedule.cacheCold ? "cold" : "warm"],
  ];
  const width = Math.max(...head.map(([name]) => name.length));
  const figures = head.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join("\n");
  if (edits.length === 0) return `${figures}\n\nNothing is edited.`;
  const rows = edits.map(({ index, layer, action, reason, tokensSaved }) => [
    `#${index} ${nameOf(messages[index])}`,
    String(layer),
    action,
    whole(tokensSaved),
    reason,
  ]);
  return `${figures}\n\n${textTable(["message", "layer", "action", "saves", "reason"], rows)}`;
}

function nameOf({ role, toolName }) {
  return role === "toolResult" ? `${role} ${toolName}` : role;
}
