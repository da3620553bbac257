// What happened to each message over the calls: the edits of every call's plan, gathered into stretches of calls. Never any
// text.
"use strict";

const { keptOf } = require("../hook/events.js");

/** The edits of a plan by message, each with its message's number. A move changes no message. */
function editsIn({ edits }, numbers) {
  const changing = edits.filter(({ action }) => action !== "moveAfter");
  return changing.map((edit) => ({
    ...edit,
    message: numbers[edit.index],
    kept: keptOf(edit),
  }));
}

class ChangeLog {
  /** The edits, each with the calls at which it was made: `from` to `to`, both included. */
  changes = [];
  #newest = new Map();

  /** Adds the edits of a call. */
  watch(call, edits) {
    for (const edit of edits) {
      const change = this.#newest.get(edit.message);
      if (change?.to === call - 1 && isSame(change, edit)) {
        change.to = call;
      } else {
        const begun = { ...edit, from: call, to: call };
        this.#newest.set(edit.message, begun);
        this.changes.push(begun);
      }
    }
  }

  /** Forgets the oldest calls; the others are counted from 1 again. */
  forget(calls) {
    this.changes = this.changes.filter(({ to }) => to > calls);
    for (const change of this.changes) {
      change.from = Math.max(1, change.from - calls);
      change.to -= calls;
    }
  }
}

function isSame(change, edit) {
  return change.action === edit.action && String(change.ranges) === String(edit.ranges);
}

/** A change as the pages read it; `scale` converts its saving to the provider's tokens. */
function rowOf({ message, action, from, to, tokensSaved, reason, kept = [] }, scale = 1) {
  return [
    message,
    action,
    from,
    to,
    Math.round(scale * tokensSaved),
    reason,
    kept.map((of) => [of.lines, of.why]),
  ];
}

module.exports = { ChangeLog, editsIn, rowOf };
