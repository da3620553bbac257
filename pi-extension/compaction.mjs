// pi's own compaction, branch summaries, forks and session file. pi works on its uncut list, so it would compact although the
// request fits, and summarise what the model no longer sees.

import { existsSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import strata from "../index.js";

/** pi under its two names. */
const HOSTS = [
  () => import("@earendil-works/pi-coding-agent"),
  () => import("@mariozechner/pi-coding-agent"),
];

/** With these options nothing is old. Without reported usage the layers act on age alone, not on size. */
const NOTHING_IS_OLD = { keepRecentToolResults: 1e6, keepRecentThinking: 1e6 };
/** Prices without a cache. */
const NO_CACHE = { read: 1, write: 1 };
/** Longest time in ms from the user's prompt to pi's check before it is sent. */
const PROMPT_MS = 1_000;

/**
 * True if pi compacts because its uncut list is long; false if the user asked for it or the provider refused a request. pi before
 * 0.87 gives no reason, but its own check runs before the agent is idle again, or just after the user's prompt.
 */
export function isNeedless({ reason, branchEntries }, { isIdle, promptedAt }) {
  if (reason !== undefined) return reason === "threshold";
  const last = branchEntries?.findLast(({ type }) => type === "message")?.message;
  if (last?.stopReason === "error") return false;
  return isIdle === false || Date.now() - promptedAt < PROMPT_MS;
}

/** Shrinks messages to at most `tokens`, for a fork that another model continues. */
export async function shrink(messages, tokens, options = {}) {
  let before = 0;
  const onEvent = (event) => {
    if (event.type === "transformed") before = event.tokensBefore;
    options.onEvent?.(event);
  };
  // No cache holds the fork, so one cut is enough.
  const terms = { contextWindow: tokens, contextRatio: 1, reserveTokens: 0, economy: 1e9, cache: NO_CACHE };
  const sent = await strata.createTransformContext({
    marker: "auto",
    ...(messages.some(({ usage }) => usage !== undefined) ? {} : NOTHING_IS_OLD),
    ...options,
    ...terms,
    onEvent,
  })(messages);
  return before > tokens ? sent : messages;
}

/** Returns a function from a message of pi's to `{ message }`, its sent form; undefined if it was left out. */
export function sentOf({ messages, sent }) {
  const found = new Map();
  let next = 0;
  for (const message of messages) {
    const key = keyOf(message);
    const isSent = next < sent.length && (sent[next] === message || keyOf(sent[next]) === key);
    // Messages with one key cannot be told apart, so they stay as they are.
    if (found.has(key)) found.set(key, { is: "alike" });
    else found.set(key, { is: isSent ? "sent" : "left out", message: isSent ? sent[next] : undefined });
    if (isSent) next += 1;
  }
  return (message) => {
    const known = found.get(keyOf(message));
    return known === undefined || known.is === "alike" ? { message } : known;
  };
}

/** Identifies a message by what an edit keeps: pi hands over copies. */
function keyOf({ role, timestamp, toolCallId } = {}) {
  return `${role} ${timestamp} ${toolCallId ?? ""}`;
}

/**
 * Replaces, in pi's preparation, the messages to summarise by their sent forms. pi then goes on with its own prompt and model,
 * and keeps the messages that it chose.
 */
export function seeAsSent({ messagesToSummarize, turnPrefixMessages, entriesToSummarize }, sent) {
  for (const list of [messagesToSummarize, turnPrefixMessages]) {
    replace(list, (message) => sent(message).message);
  }
  replace(entriesToSummarize, (entry) => {
    if (entry?.type !== "message") return entry;
    const { message } = sent(entry.message);
    return message === entry.message ? entry : message && { ...entry, message };
  });
}

/** Replaces the items of a list by what `seen` returns. A list that would become empty stays. */
function replace(list, seen) {
  if (!Array.isArray(list)) return;
  const left = list.map(seen).filter((item) => item !== undefined);
  if (left.length > 0) list.splice(0, list.length, ...left);
}

/** Runs pi's own compaction with another model, named `provider/id`. Throws if it cannot. */
export async function compactBy(name, { preparation, customInstructions, signal }, { modelRegistry }) {
  const [provider, ...id] = name.split("/");
  const model = modelRegistry?.find(provider, id.join("/"));
  if (model === undefined) throw new Error(`pi knows no model ${name}`);
  const auth = await modelRegistry.getApiKeyAndHeaders(model);
  if (auth?.ok === false) throw new Error(`no key for ${name}`);
  const { compact } = await importHost();
  return compact(
    preparation,
    model,
    auth?.apiKey,
    auth?.headers,
    customInstructions,
    signal,
    undefined,
    undefined,
    auth?.env,
  );
}

/** Imports pi's own package: the one beside this package if a program embeds pi, else the one that was started. */
async function importHost() {
  for (const load of [...HOSTS, importStarted]) {
    try {
      return await load();
    } catch {
      // Try the next place.
    }
  }
  throw new Error("pi's own package cannot be imported from here");
}

/** The package that the running script belongs to, by the entry point that its manifest names. */
function importStarted() {
  let folder = dirname(realpathSync(process.argv[1]));
  while (!existsSync(join(folder, "package.json")) && folder !== dirname(folder)) folder = dirname(folder);
  const { main } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  return import(pathToFileURL(join(folder, main)).href);
}

/** Drafts of pi's `context_edit` entries for what was edited since they were last written. */
export function contextEdits(contextEntries, sent) {
  const drafts = [];
  for (const { sourceEntry, messages } of contextEntries ?? []) {
    if (sourceEntry?.type !== "message" || messages?.length !== 1) continue;
    const [message] = messages;
    const { message: seen } = sent(message);
    if (seen === undefined)
      drafts.push({ type: "context_edit", targetId: sourceEntry.id, replacement: null });
    else if (JSON.stringify(seen.content) !== JSON.stringify(message.content))
      drafts.push({ type: "context_edit", targetId: sourceEntry.id, replacement: { content: seen.content } });
  }
  return drafts;
}
