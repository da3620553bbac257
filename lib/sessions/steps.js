// Runs a generator. Each step resumes with `answer(step)`, by default with the step itself.
"use strict";

const itself = (step) => step;

/** Runs a generator to the end at once. */
function finishNow(steps, answer = itself) {
  let step = steps.next();
  while (!step.done) step = steps.next(answer(step.value));
  return step.value;
}

/** Runs a generator to the end and awaits each answer. */
async function finishLater(steps, answer = itself) {
  let step = steps.next();
  while (!step.done) step = steps.next(await answer(step.value));
  return step.value;
}

module.exports = { finishLater, finishNow };
