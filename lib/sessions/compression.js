// Replaces messages of a session by a summary, and deletes messages.
"use strict";

const { noteOf, summaryText, withNotes, wordsOf } = require("./digest.js");
const { checkMessage, newId } = require("./message.js");
const { callsIn, groupStarts, isResult, withCalls } = require("../shapes/text.js");

/** Messages that a compression keeps besides the newest: the prompt and the summary. */
const ROOM = 2;
/** Smallest number of messages worth a summary. One could be the last summary itself. */
const MIN_LET_GO = 2;

const messagesOf = (rows) => rows.map(({ message }) => message);

/**
 * Returns the rows that a compression replaces, oldest first. It keeps the first system message, the newest messages with their
 * calls, and a call whose results can still come.
 */
function lettableRows({ rows }, { maxMessages, maxCompressedMessages }) {
  const keep = Math.max(0, Math.min(maxCompressedMessages, maxMessages - ROOM));
  const messages = messagesOf(rows);
  const starts = groupStarts(messages);
  const open = openCall(messages, starts, keep);
  const start = Math.min(withCalls(starts, Math.max(0, messages.length - keep)), open);
  const prompt = messages.findIndex(({ role }) => role === "system");
  const lettable = rows.slice(0, start).filter((_, index) => index !== prompt);
  return lettable.length < MIN_LET_GO ? [] : lettable;
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
    later.some(({ role }) => role === "user") || later.length - answers > Math.max(patience, MIN_LET_GO);
  return answers < callsIn(messages[call]).length && !hasEnded ? call : messages.length;
}

/**
 * Replaces rows by a summary: the summariser's `answer`, or one by rules. Each row leaves a note. Returns undefined if there are no
 * rows.
 */
function compress(session, options, rows = lettableRows(session, options), answer = "") {
  if (rows.length === 0) return undefined;
  const { state, messages } = session;
  const notes = [];
  for (const { id, position, message } of rows) {
    if (id === state.summary) {
      session.remove(id);
      continue;
    }
    const note = noteOf(message);
    notes.push(note);
    session.put(-position, id, note);
  }
  const words = wordsOf(answer);
  const digest = withNotes(state.digest, notes, words);
  const summary = putSummary(session, rows.at(-1).position, summaryText(digest, words, options.language));
  const compressions = (state.compressions ?? 0) + 1;
  session.state = { ...state, compressions, digest, summary, revision: newId() };
  return { before: messages.length, after: session.messages.length, by: words === "" ? "rules" : "ai" };
}

/** Writes a summary to a position and returns its id. */
function putSummary(session, position, text) {
  const message = checkMessage({ role: "assistant", content: text });
  session.put(position, message.id, message);
  return message.id;
}

/**
 * Deletes messages with their groups, and returns their ids. A summary that covers one of them is made again from the remaining
 * notes. Deleting the summary deletes the notes that it covers.
 */
function forget(session, wanted, language) {
  const { summary, digest, ...state } = session.state;
  const { notes } = session;
  const rows = [...notes, ...session.rows];
  const starts = groupStarts(messagesOf(rows));
  const groups = new Set(starts.filter((_, index) => wanted.has(rows[index].id)));
  const deleted = rows.filter((_, index) => groups.has(starts[index])).map(({ id }) => id);
  for (const id of deleted) session.remove(id);
  const isGone = deleted.includes(summary);
  if (isGone) for (const { id } of notes) session.remove(id);
  const left = session.notes;
  session.state = { ...state, revision: newId() };
  if (!isGone && left.length === notes.length) Object.assign(session.state, { summary, digest });
  else if (left.length > 0) {
    const made = withNotes(undefined, messagesOf(left), "");
    const at = rows.find(({ id }) => id === summary)?.position ?? Math.abs(left.at(-1).position);
    session.remove(summary);
    const id = putSummary(session, at, summaryText(made, "", language));
    Object.assign(session.state, { summary: id, digest: made });
  } else session.remove(summary);
  return deleted;
}

module.exports = { compress, forget, lettableRows };
