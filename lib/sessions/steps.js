// Runs a generator whose steps are values, or promises of values.
"use strict";

/** Runs a generator of values to the end. */
function finishNow(steps) {
  let step = steps.next();
  while (!step.done) step = steps.next(step.value);
  return step.value;
}

/** Runs a generator to the end and awaits each step. */
async function finishLater(steps) {
  let step = steps.next();
  while (!step.done) {
    let value;
    try {
      value = await step.value;
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(value);
  }
  return step.value;
}

module.exports = { finishLater, finishNow };
