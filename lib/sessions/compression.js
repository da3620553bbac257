// Adds messages to a session, replaces them by a summary, deletes them. Generators whose steps are a store's answers.
"use strict";

const { noteOf, summaryText, withNotes, wordsOf } = require("./digest.js");
const { lettable, withGroups } = require("./groups.js");
const { checkMessage, newId } = require("./message.js");

/** Position of the system prompt. */
const PROMPT = 0;
/** Messages that a compression keeps besides the newest: the prompt and the summary. */
const ROOM = 2;

const messagesOf = (rows) => rows.map(({ message }) => message);

/** Returns a session with its messages, or undefined. */
function* sessionIn(store, key) {
  const session = yield store.find(key);
  return session && { ...session, messages: messagesOf(yield store.rows(key)) };
}

function* setPrompt(store, key, prompt) {
  yield store.put(key, PROMPT, prompt.id, prompt);
}

/** Adds a message. Compresses a session over its limit by rules at once; with a summariser it returns `isOver` instead. */
function* append(store, key, newState, message, options) {
  const { state } = yield store.open(key, newState);
  const { messages, next, isKnown } = yield store.size(key, message.id);
  if (isKnown) return {};
  const isPrompt = message.role === "system" && messages === 0;
  yield store.put(key, isPrompt ? PROMPT : next, message.id, message);
  if (messages < options.maxMessages) return {};
  if (options.summarize !== undefined) return { isOver: true };
  const plan = yield* compressionOf(store, key, options);
  if (plan.letGo.length === 0) return {};
  return { compressed: yield* replace(store, key, state, plan, undefined, options.language) };
}

/** Returns the rows that a compression replaces, with the revision of the session for which that is true. */
function* compressionOf(store, key, { maxMessages, maxCompressedMessages }) {
  const session = yield store.find(key);
  if (session === undefined) return { before: 0, letGo: [] };
  const rows = yield store.rows(key);
  const keep = Math.max(0, Math.min(maxCompressedMessages, maxMessages - ROOM));
  const letGo = lettable(messagesOf(rows), keep).map((index) => rows[index]);
  return { before: rows.length, letGo, revision: session.state.revision };
}

/** Replaces rows by a summary: the summariser's `answer`, or one by rules. Each row leaves a note. */
function* replace(store, key, state, { letGo }, answer, language) {
  const { messages: before } = yield store.size(key, "");
  const notes = [];
  for (const { id, position, message } of letGo) {
    yield store.remove(key, id);
    if (id === state.summary) continue;
    const note = noteOf(message);
    notes.push(note);
    yield store.put(key, -position, id, note);
  }
  const words = wordsOf(answer);
  const digest = withNotes(state.digest, notes, words);
  const summary = yield* putSummary(store, key, letGo.at(-1).position, summaryText(digest, words, language));
  const compressions = (state.compressions ?? 0) + 1;
  yield store.save(key, { ...state, compressions, digest, summary, revision: newId() });
  return { before, after: before - letGo.length + 1, by: words === "" ? "rules" : "ai" };
}

/** Writes a summary to a position and returns its id. */
function* putSummary(store, key, position, text) {
  const message = checkMessage({ role: "assistant", content: text });
  yield store.put(key, position, message.id, message);
  return message.id;
}

/**
 * Deletes messages with their groups, and returns their ids. A summary that covers one of them is made again from the remaining
 * notes. Deleting the summary deletes the notes that it covers.
 */
function* forget(store, key, wanted, language) {
  const session = yield store.open(key);
  if (session === undefined) return [];
  const { summary, digest, ...state } = session.state;
  const gone = yield store.rows(key, true);
  const rows = [...gone, ...(yield store.rows(key))];
  const indices = [...rows.keys()].filter((index) => wanted.has(rows[index].id));
  const deleted = new Set(withGroups(messagesOf(rows), indices).map((index) => rows[index].id));
  const left = deleted.has(summary) ? [] : gone.filter(({ id }) => !deleted.has(id));
  const isCovered = deleted.has(summary) || left.length < gone.length;
  const lost = deleted.has(summary) ? gone.map(({ id }) => id) : [];
  for (const id of new Set([...deleted, ...lost])) yield store.remove(key, id);
  const kept = isCovered
    ? yield* summarizeAgain(store, key, rows, summary, left, language)
    : { summary, digest };
  yield store.save(key, { ...state, ...kept, revision: newId() });
  return [...deleted];
}

/** Replaces a summary by one of the notes that are left. Returns the fields of the session's state. */
function* summarizeAgain(store, key, rows, summary, left, language) {
  if (summary !== undefined) yield store.remove(key, summary);
  if (left.length === 0) return {};
  const digest = withNotes(undefined, messagesOf(left), "");
  const at = rows.find(({ id }) => id === summary)?.position ?? Math.abs(left.at(-1).position);
  return { digest, summary: yield* putSummary(store, key, at, summaryText(digest, "", language)) };
}

module.exports = { append, compressionOf, forget, replace, sessionIn, setPrompt };
