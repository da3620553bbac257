// The changes that replace messages of a session by a summary, and that delete messages.
"use strict";

const { noteOf, summaryText, withNotes, wordsOf } = require("./digest.js");
const { checkMessage } = require("./message.js");
const { groupStarts, withCalls } = require("../shapes/text.js");

/** Messages that a compression keeps besides the newest: the prompt and the summary. */
const ROOM = 2;
/** Smallest number of messages worth a summary. One could be the last summary itself. */
const MIN_LET_GO = 2;

const messagesOf = (rows) => rows.map(({ message }) => message);
const idsOf = (rows) => rows.map(({ id }) => id);

/** Returns the rows that a compression replaces, oldest first: all but the first system message and the newest with their calls. */
function lettableRows({ rows, messages }, { maxMessages, maxCompressedMessages }) {
  // The newest message stays where the limit allows: it can be a call whose results still come.
  const keep = Math.max(0, Math.min(Math.max(1, maxCompressedMessages), maxMessages - ROOM));
  const start = withCalls(groupStarts(messages), Math.max(0, messages.length - keep));
  const prompt = messages.findIndex(({ role }) => role === "system");
  const lettable = rows.slice(0, start).filter((_, index) => index !== prompt);
  return lettable.length < MIN_LET_GO ? [] : lettable;
}

/**
 * Returns the change that replaces rows by a summary: the summariser's `answer`, or one by rules. Each row leaves a note. Returns
 * undefined without rows, or if one of them is no longer there: what was deleted must not come back in the summary.
 */
function compress(session, options, rows = lettableRows(session, options), answer = "") {
  const { state, rows: all } = session;
  const ids = new Map(all.map(({ position, id }) => [position, id]));
  const areThere = rows.every(({ position, id }) => ids.get(position) === id);
  if (rows.length === 0 || !areThere) return undefined;
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
  return {
    state: { ...state, compressions, digest, summary: summary.id },
    remove: rows,
    put: [...notes, summary],
    result: {
      before: all.length,
      after: all.length - rows.length + 1,
      by: words === "" ? "rules" : "ai",
    },
  };
}

function summaryRow(position, text) {
  const message = checkMessage({ role: "assistant", content: text });
  return { position, id: message.id, message };
}

/**
 * Returns the change that deletes messages with their groups; its result are their ids. A summary that covers one of them is made
 * again from the remaining notes. Deleting the summary deletes the notes that it covers.
 */
function forget({ state, rows: live, notes }, wanted, language) {
  const rows = [...notes, ...live];
  const starts = groupStarts(messagesOf(rows));
  const groups = new Set(starts.filter((_, index) => wanted.has(rows[index].id)));
  const gone = new Set(rows.filter((_, index) => groups.has(starts[index])));
  const result = idsOf([...gone]);
  const summary = live.find(({ id }) => id === state.summary);
  const isGone = gone.has(summary);
  const left = isGone ? [] : notes.filter((note) => !gone.has(note));
  if (!isGone && left.length === notes.length) return { remove: gone, result };
  const remove = [...gone, ...(isGone ? notes : []), ...(summary ? [summary] : [])];
  if (left.length === 0)
    return { state: { ...state, summary: undefined, digest: undefined }, remove, result };
  const digest = withNotes(undefined, messagesOf(left), "");
  const made = summaryRow(summary?.position ?? -left.at(-1).position, summaryText(digest, "", language));
  return { state: { ...state, summary: made.id, digest }, remove, put: [made], result };
}

module.exports = { compress, forget, lettableRows };
