// The fate of each message over the calls of a replay: the edits of every call's plan, gathered into stretches of
// calls. Never any text.

/** Follows a replay: `watch` is handed to it, `changes` is what it saw. */
export class ChangeLog {
  /** `{ message, action, reason, from, to, tokensSaved, kept }`: calls `from` to `to`, both included. */
  changes = [];
  #open = new Map();

  watch = (call, edits) => {
    for (const edit of edits) this.#note(call, edit);
  };

  #note(call, { message, action, tokensSaved, reason, kept }) {
    const open = this.#open.get(message);
    if (open?.action === action && open.to === call - 1) {
      open.to = call;
      return;
    }
    const change = { message, action, reason, from: call, to: call, tokensSaved, kept };
    this.#open.set(message, change);
    this.changes.push(change);
  }
}
