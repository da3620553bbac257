// `pi-strata explain`: the edits that the hook would make before one call of a recorded session, and why. Messages are numbered
// from 1, in the order of the recording.

import { explanationOf } from "../tools/explain.js";
import { apportioned, change, some, whole } from "./numbers.mjs";
import { price, wholeNumber } from "./options.mjs";
import { runOf, settingOf } from "./report/run.mjs";
import { load } from "./session.mjs";
import { figureList, textTable, UsageError } from "./terminal.mjs";

export const explain = {
  options: { call: wholeNumber, price },
  /** Explains the call of that number, from 1; the last one by default. */
  async run({ positionals, hook, call: asked, price }) {
    const { path: session, session: recording } = await load(positionals);
    const { calls } = recording;
    if (calls.length === 0)
      throw new UsageError("The session has no model call; there is nothing to explain.");
    const call = asked ?? calls.length;
    if (calls[call - 1] === undefined)
      throw new UsageError(
        `There is no call ${call}: the session has ${calls.length}; name one with --call.`,
      );
    const numbers = recording.numbersBefore(calls[call - 1]);
    const setting = settingOf(recording, hook, price);
    const { outcome } = await runOf(recording, { ...setting, calls: calls.slice(0, call) });
    const told = explanationOf(outcome);
    const weights = told.edits.map(({ tokensSaved }) => tokensSaved);
    const saved = apportioned(told.tokensBefore - told.tokensAfter, weights);
    const numberOf = (index) => numbers[index] + 1;
    const kept = told.kept.map(({ index, why }) => ({ message: numberOf(index), why }));
    const edits = told.edits.map(({ index, after, ...edit }, i) => {
      const { role, toolName } = recording.all[numbers[index]];
      const of = role === "toolResult" ? `${role} ${toolName}` : role;
      const behind = after !== undefined && { after: numberOf(after) };
      return { message: numberOf(index), of, ...edit, ...behind, tokensSaved: saved[i] };
    });
    const document = { session, call, ...told, kept, edits };
    return { document, text: textOf(document, numbers.length) };
  },
};

/** The figures, the schedule's arithmetic, and a line per edit. */
function textOf({ session, call, schedule, kept, edits, ...sizes }, messages) {
  const { tokensBefore, tokensAfter, thresholdTokens, scale } = sizes;
  const size = `${whole(tokensBefore)} → ${whole(tokensAfter)} (${change(tokensBefore, tokensAfter)})`;
  const figures = figureList([
    ["session", session],
    ["call", whole(call)],
    ["messages", whole(messages)],
    ["tokens", `${size}, as the provider counts, estimated`],
    ["threshold", `${whole(thresholdTokens)} tokens`],
    ["scale", `${scale.toFixed(3)} provider tokens per counted token`],
    ["schedule", `${schedule.mode}: ${schedule.why}`],
    ["removable now", `${whole(schedule.removableTokens)} tokens`],
    ["paid for carrying", `${whole(schedule.carriedCost)} input tokens`],
    ["rewriting costs", `${whole(schedule.rewriteCost)} input tokens`],
    ["cache", schedule.cacheCold ? "cold" : "warm"],
    ["pays back", paybackText(schedule)],
    kept.length > 0 && ["stays whole", kept.map(({ message, why }) => `#${message} (${why})`).join(", ")],
  ]);
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
