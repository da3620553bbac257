// What became of each message over the calls of a replay: the edits of every call's plan, gathered into stretches of
// calls. Never any text.

import { reasonOf } from "../../events.js";

/** Follows a replay: `watch` is handed to it, `changes` is what it saw. */
export class ChangeLog {
  /** `{ index, action, reason, from, to, tokensSaved }`: calls `from` to `to`, both included. */
  changes = [];
  #open = new Map();

  watch = (call, edits) => {
    for (const edit of edits) this.#note(call, edit);
  };

  #note(call, edit) {
    const { index, action, tokensSaved } = edit;
    const open = this.#open.get(index);
    if (open?.action === action && open.to === call - 1) {
      open.to = call;
      return;
    }
    const change = { index, action, reason: reasonOf(edit), from: call, to: call, tokensSaved };
    this.#open.set(index, change);
    this.changes.push(change);
  }
}
