// Replaces messages of a session by a summary, and deletes messages.
"use strict";

const { noteOf, summaryText, withNotes, wordsOf } = require("./digest.js");
const { lettable, withGroups } = require("./groups.js");
const { checkMessage, newId } = require("./message.js");

/** Messages that a compression keeps besides the newest: the prompt and the summary. */
const ROOM = 2;

const messagesOf = (rows) => rows.map(({ message }) => message);

/** Returns the rows that a compression replaces. */
function lettableRows({ rows }, { maxMessages, maxCompressedMessages }) {
  const keep = Math.max(0, Math.min(maxCompressedMessages, maxMessages - ROOM));
  return lettable(messagesOf(rows), keep).map((index) => rows[index]);
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
  const indices = [...rows.keys()].filter((index) => wanted.has(rows[index].id));
  const deleted = withGroups(messagesOf(rows), indices).map((index) => rows[index].id);
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
