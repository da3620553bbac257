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
  const goOn = (value) => steps.next(value);
  const fail = (error) => steps.throw(error);
  let step = steps.next();
  while (!step.done) step = await Promise.resolve(step.value).then(goOn, fail);
  return step.value;
}

module.exports = { finishLater, finishNow };
