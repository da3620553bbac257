// A dry run of the hook: what it would do now, and why. Edits nothing.
"use strict";

const { LAYERS, afterOf, editsByMessage, keptOf } = require("../hook/events.js");
const { sumOf } = require("../helpers.js");
const { Hook } = require("../hook/hook.js");

async function explain(messages, options) {
  if (!Array.isArray(messages)) throw new TypeError("explain: messages must be an array");
  return explanationOf(await new Hook("explain", options).run(messages));
}

/** The explanation of a call of a hook. */
function explanationOf({ plan, conversation }) {
  const { forms, kept } = conversation.explanation();
  const edits = editsByMessage(plan, conversation.tokens());
  const drops = edits.filter(({ action }) => action === "drop");
  const left = plan.tokensBefore - plan.tokensAfter - sumOf(edits.map(({ tokensSaved }) => tokensSaved));
  // A dropped message also saves the tokens that the provider counts around it.
  for (const drop of drops) drop.tokensSaved += Math.max(0, Math.round(left / drops.length));
  return {
    tokensBefore: plan.tokensBefore,
    tokensAfter: plan.tokensAfter,
    thresholdTokens: plan.threshold,
    scale: plan.scale,
    schedule: { mode: plan.schedule, why: plan.reason, ...plan.arithmetic },
    kept: kept.map(({ index, name }) => ({ index, why: `keep: ${name}` })),
    edits: edits.map((edit) => ({
      index: edit.index,
      // Drops of a repair belong to no layer; they are listed with the window's.
      layer: edit.layer === LAYERS.repair ? LAYERS.window : edit.layer,
      action: edit.action,
      ...(edit.action === "keepLines" && {
        ranges: edit.ranges.map(([from, to]) => [from, to]),
        kept: keptOf(edit),
      }),
      ...(edit.images > 0 && { images: edit.images }),
      ...(forms[edit.index] && { form: forms[edit.index] }),
      ...afterOf(edit),
      reason: edit.reason,
      tokensSaved: edit.tokensSaved,
    })),
  };
}

module.exports = { explain, explanationOf };
