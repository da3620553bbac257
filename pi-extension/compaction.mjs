// pi's own compaction and branch summaries. pi works on its uncut list. So it would compact although the request fits, and
// summarise what the model no longer sees.

/** Longest time in ms from the user's prompt to pi's check before it is sent. */
const PROMPT_MS = 1_000;

/** Identifies a message by what an edit keeps: pi hands over copies. */
const keyOf = ({ role, timestamp, toolCallId }) => `${role} ${timestamp} ${toolCallId ?? ""}`;

/**
 * True if pi compacts because its uncut list is long. False if the user asked for it, or the provider refused a request. pi
 * before 0.87 gives no reason. Its own check runs before the agent is idle again, or just after the user's prompt.
 */
export function isNeedless({ reason, branchEntries }, { isIdle, promptedAt }) {
  if (reason !== undefined) return reason === "threshold";
  const last = branchEntries?.findLast(({ type }) => type === "message")?.message;
  if (last?.stopReason === "error") return false;
  return isIdle === false || Date.now() - promptedAt < PROMPT_MS;
}

/** Returns a function from a message of pi's to its sent form; undefined if it was left out. */
export function sentOf({ messages, sent }) {
  const forms = new Map();
  // Messages with one key cannot be told apart, so they stay as they are.
  const alike = new Set();
  for (const key of messages.map(keyOf)) {
    if (forms.has(key)) alike.add(key);
    forms.set(key, undefined);
  }
  for (const message of sent) forms.set(keyOf(message), message);
  return (message) => {
    const key = keyOf(message);
    return forms.has(key) && !alike.has(key) ? forms.get(key) : message;
  };
}

/**
 * Replaces the messages to summarise in pi's preparation by their sent forms. pi then continues with its own prompt and model.
 * The messages that it keeps stay the same.
 */
export function seeAsSent({ messagesToSummarize, turnPrefixMessages, entriesToSummarize }, seen) {
  for (const list of [messagesToSummarize, turnPrefixMessages]) replace(list, seen);
  replace(entriesToSummarize, (entry) => {
    if (entry?.type !== "message") return entry;
    const message = seen(entry.message);
    return message === entry.message ? entry : message && { ...entry, message };
  });
}

/** Replaces the items of a list by what `seen` returns. A list that would become empty stays. */
function replace(list, seen) {
  if (!Array.isArray(list)) return;
  const left = list.map(seen).filter((item) => item !== undefined);
  if (left.length > 0) list.splice(0, list.length, ...left);
}
