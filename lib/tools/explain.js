// A dry run of the hook: what it would do now, and why. Edits nothing.
"use strict";

const contract = require("../contract.js");
const { LAYERS, afterOf, editsByMessage, keptOf, scheduleOf } = require("../hook/events.js");
const { Hook } = require("../hook/hook.js");

async function explain(messages, options) {
  if (!Array.isArray(messages)) throw new TypeError("explain: messages must be an array");
  const { plan, conversation } = await new Hook("explain", options).run(messages);
  const { forms, kept } = conversation.explanation();
  const { verdict, ...arithmetic } = plan.arithmetic ?? NO_ARITHMETIC;
  return {
    tokensBefore: plan.tokensBefore,
    tokensAfter: plan.tokensAfter,
    thresholdTokens: plan.threshold,
    scale: plan.scale,
    schedule: { ...scheduleOf(plan), ...arithmetic },
    kept: kept.map(({ index, name }) => ({ index, why: `keep: ${name}` })),
    edits: editsByMessage(plan, conversation.tokens()).map((edit) => ({
      index: edit.index,
      // A repair drops what no layer asked for; it is listed with the window's drops.
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

/** Stands for the schedule's arithmetic, which `everyCall` has none of. */
const NO_ARITHMETIC = {
  ...Object.fromEntries(contract.arithmetic.map((name) => [name, 0])),
  cacheCold: false,
};

module.exports = { explain };
