// pi's own compaction, branch summaries and forks. pi works on its uncut list. So it would compact although the request fits,
// and summarise what the model no longer sees.

import { createTransformContext } from "../lib/hook/hook.js";
import { checkValue, positive } from "../lib/options.js";
import { callsIn } from "../lib/shapes/text.js";

/** With these options nothing is old. Without reported usage the layers act on age alone, not on size. */
const NOTHING_IS_OLD = { keepRecentToolResults: 1e6, keepRecentThinking: 1e6 };
/** No cache holds a fork, so one cut is enough. */
const FORK_TERMS = { contextRatio: 1, reserveTokens: 0, economy: 1e9, cache: { read: 1, write: 1 } };
/** Longest time in ms from the user's prompt to pi's check before sending. */
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

/** Shrinks messages to at most `tokens`, for a fork that another model continues. */
export async function shrink(messages, tokens, options = {}) {
  if (!Array.isArray(messages) || !messages.every((message) => typeof message?.role === "string"))
    throw new TypeError("shrink: messages must be an array of messages, each with a role");
  checkValue("shrink: tokens", tokens, positive);
  let before = 0;
  let failure;
  const hasUsage = messages.some(({ usage }) => usage !== undefined);
  const fork = {
    marker: "auto",
    ...(!hasUsage && NOTHING_IS_OLD),
    ...options,
    ...FORK_TERMS,
    contextWindow: tokens,
    onEvent(event) {
      if (event.type === "transformed") before = event.tokensBefore;
      if (event.type === "unknownShape" || event.type === "failed") failure = event;
      options.onEvent?.(event);
    },
  };
  const sent = await createTransformContext(fork, "shrink")(messages);
  if (failure?.type === "unknownShape")
    throw new TypeError(`shrink: a message has ${failure.mark}, so the list is not pi's`);
  if (failure !== undefined)
    throw Object.assign(new Error(`shrink: ${failure.message}`), { code: failure.code });
  return before > tokens ? sent : messages;
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
 * The messages that it keeps stay the same. The calls of an omitted answer stay in `entriesToSummarize`, from which pi reads the
 * files they name.
 */
export function seeAsSent({ messagesToSummarize, turnPrefixMessages, entriesToSummarize }, seen) {
  for (const list of [messagesToSummarize, turnPrefixMessages]) replace(list, seen);
  replace(entriesToSummarize, (entry) => {
    if (entry?.type !== "message") return entry;
    const message = seen(entry.message) ?? callsOf(entry.message);
    return message === entry.message ? entry : message && { ...entry, message };
  });
}

/** An answer with its calls only; undefined for a message without any. */
function callsOf(message) {
  const calls = message.role === "assistant" ? callsIn(message) : [];
  return calls.length > 0 ? { ...message, content: calls } : undefined;
}

/** Replaces each item of a list by the result of `seen`. A list that would become empty stays. */
function replace(list, seen) {
  if (!Array.isArray(list)) return;
  const left = list.map(seen).filter((item) => item !== undefined);
  if (left.length > 0) list.splice(0, list.length, ...left);
}
