// A model without a network for the example: it repeats the question at some length, so that a small window fills soon.
import { createScriptedModel, scriptedModel } from "../scripted/model.mjs";

/** A window small enough that a few questions show what happens when it is full. */
export const model = { ...scriptedModel, reasoning: false, contextWindow: 4_000 };

/** A `streamFn` that answers without end. */
export function answers() {
  return createScriptedModel(endless()).streamFn;
}

function* endless() {
  for (let turn = 1; ; turn += 1) {
    yield { text: `Answer ${turn}. ${"A sentence that fills the window a little more. ".repeat(60)}` };
  }
}
