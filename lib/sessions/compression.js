// The changes that replace messages of a session by a summary, and that delete messages.
"use strict";

const { isDeepStrictEqual } = process.getBuiltinModule?.("node:util") ?? require("node:util");
const { noteOf, summaryText, withNotes, wordsOf } = require("./digest.js");
const { checkMessage } = require("./message.js");
const { callsIn, groupStarts, isResult, withCalls } = require("../shapes/text.js");

/** Messages that a compression keeps besides the newest: the prompt and the summary. */
const ROOM = 2;
/** Smallest number of messages worth a summary. One could be the last summary itself. */
const MIN_REPLACED = 2;

const messagesOf = (rows) => rows.map(({ message }) => message);
const idsOf = (rows) => rows.map(({ id }) => id);

/**
 * Returns the rows that a compression replaces, oldest first. It keeps the first system message, the newest messages with their
 * calls, and a call whose results can still come.
 */
function replaceableRows({ rows }, { maxMessages, maxCompressedMessages }) {
  const keep = Math.max(0, Math.min(maxCompressedMessages, maxMessages - ROOM));
  const messages = messagesOf(rows);
  const starts = groupStarts(messages);
  const open = openCall(messages, starts, keep);
  const start = Math.min(withCalls(starts, Math.max(0, messages.length - keep)), open);
  const prompt = messages.findIndex(({ role }) => role === "system");
  const replaceable = rows.slice(0, start).filter((_, index) => index !== prompt);
  return replaceable.length < MIN_REPLACED ? [] : replaceable;
}

/** Returns the index of the newest assistant message if it waits for results: no user message and few others came since. */
function openCall(messages, starts, patience) {
  const call = messages.findLastIndex(({ role }) => role === "assistant");
  if (call < 0) return messages.length;
  const later = messages.slice(call + 1);
  const answers = later.filter(
    (message, index) => isResult(message) && starts[call + 1 + index] === call,
  ).length;
  const hasEnded =
    later.some(({ role }) => role === "user") || later.length - answers > Math.max(patience, MIN_REPLACED);
  return answers < callsIn(messages[call]).length && !hasEnded ? call : messages.length;
}

/**
 * Returns the change that replaces rows by a summary: the summariser's `answer`, or one by rules. Each row leaves a note. Returns
 * undefined if there are no rows, or if they changed while the summariser wrote: messages can be deleted, and a transaction of the
 * host's can roll back.
 */
function compress(session, options, rows = replaceableRows(session, options), answer = "") {
  const { state, messages } = session;
  const ids = new Set(idsOf(rows));
  const left = session.rows.filter(({ id }) => ids.has(id));
  if (rows.length === 0 || !isDeepStrictEqual(left, rows)) return undefined;
  const replaced = rows.filter(({ id }) => id !== state.summary);
  const notes = replaced.map(({ position, id, message }) => ({
    position: -position,
    id,
    message: noteOf(message),
  }));
  const words = wordsOf(answer);
  const digest = withNotes(state.digest, messagesOf(notes), words);
  const summary = summaryRow(rows.at(-1).position, summaryText(digest, words, options.language));
  const compressions = (state.compressions ?? 0) + 1;
  const after = messages.length - rows.length + 1;
  return {
    state: { ...state, compressions, digest, summary: summary.id },
    remove: idsOf(rows),
    put: [...notes, summary],
    result: { before: messages.length, after, by: words === "" ? "rules" : "ai" },
  };
}

function summaryRow(position, text) {
  const message = checkMessage({ role: "assistant", content: text });
  return { position, id: message.id, message };
}

/**
 * Returns the change that deletes messages with their groups; its result is their ids. A summary that covers one of them is
 * rebuilt from the remaining notes. Deleting the summary deletes the notes that it covers.
 */
function forget({ state, rows: live, notes }, wanted, language) {
  const rows = [...notes, ...live];
  const starts = groupStarts(messagesOf(rows));
  const groups = new Set(starts.filter((_, index) => wanted.has(rows[index].id)));
  const result = idsOf(rows.filter((_, index) => groups.has(starts[index])));
  const gone = new Set(result);
  const { summary, digest: _, ...rest } = state;
  const isGone = gone.has(summary);
  const left = isGone ? [] : notes.filter(({ id }) => !gone.has(id));
  if (!isGone && left.length === notes.length) return { remove: result, result };
  const old = live.filter(({ id }) => id === summary);
  const remove = [...result, ...idsOf(isGone ? notes : old)];
  if (left.length === 0) return { state: rest, remove, result };
  const digest = withNotes(undefined, messagesOf(left), "");
  const [{ position }] = [...old, { position: Math.abs(left.at(-1).position) }];
  const made = summaryRow(position, summaryText(digest, "", language));
  return { state: { ...rest, summary: made.id, digest }, remove, put: [made], result };
}

module.exports = { compress, forget, replaceableRows };
