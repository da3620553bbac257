// Sessions in lists, and as lines of JSON, out and in again: one line for a session, then one for each of its messages, those it let go
// too. Whole sessions are imported, or not at all.
"use strict";

const { frozen, written } = require("./conversation.js");
const { metadataOf } = require("./session.js");
const { storable } = require("./text.js");

const FORMAT = "pi-strata-session";
const VERSION = 1;
/** Messages read from the store at once: more would hold the main thread for some ms while they are written. */
const PAGE = 100;

/** Sessions read from the store at once. */
const SESSIONS = 100;

/** The lines of one session, or of all. */
async function* exportSessions(store, namespace, key) {
  if (key !== undefined) {
    yield* exportSession(store, namespace, key);
    return;
  }
  let cursor;
  do {
    const page = await store.list({ namespace, order: "created", limit: SESSIONS, cursor });
    for (const session of page.sessions) yield* exportSession(store, namespace, session.key);
    cursor = page.cursor;
  } while (cursor !== undefined);
}

/** Imports session by session through the queue of a store. */
async function importSessions(queue, namespace, chunks) {
  const done = { sessions: 0, messages: 0, skipped: [] };
  for await (const operation of importOperations(chunks, namespace)) {
    const { applied } = await queue.write(operation);
    if (applied) {
      done.sessions += 1;
      done.messages += operation.messages.length;
    } else {
      done.skipped.push(JSON.parse(operation.key));
    }
  }
  return done;
}

/** A page of a store's list as a host sees it. */
function listed({ sessions, cursor }) {
  const shown = sessions.map(({ key, messages, ...session }) => {
    return { sessionId: JSON.parse(key), messages, metadata: metadataOf(session) };
  });
  return { sessions: shown, ...(cursor !== undefined && { cursor }) };
}

function hitsOf(found) {
  return found.map(({ key, body, isLive }) => ({
    sessionId: JSON.parse(key),
    message: frozen(JSON.parse(body)),
    isCurrent: isLive,
  }));
}

async function* exportSession(store, namespace, key) {
  const stored = await store.load(namespace, key);
  if (stored === undefined) return;
  yield line({ format: FORMAT, version: VERSION, sessionId: JSON.parse(key), ...stateOf(stored) });
  for (let after = 0; ; ) {
    const page = await store.read(namespace, key, { after, limit: PAGE });
    for (const { seq, place, isLive, isSummary, body } of page) {
      yield line({ message: JSON.parse(body), seq, place, isLive, isSummary });
    }
    if (page.length < PAGE) return;
    after = page.at(-1).seq;
  }
}

/** A session but for its messages. */
function stateOf({ prompt, fields = {}, digest = "", compressions = 0, tokensSaved = 0 }) {
  return { prompt, fields, digest, compressions, tokensSaved };
}

function line(value) {
  return `${written(value)}\n`;
}

/** Operations that import what `chunks` of text say, session by session; throws a TypeError that names the line. */
async function* importOperations(chunks, namespace) {
  let operation;
  let number = 0;
  for await (const text of linesOf(chunks)) {
    number += 1;
    if (text.trim() === "") continue;
    const value = parsed(text, number);
    if (value.format !== undefined) {
      if (operation !== undefined) yield operation;
      operation = begun(value, namespace, number);
    } else {
      if (operation === undefined) throw refused(number, "a message comes before any session");
      operation.messages.push(messageOf(value, number));
    }
  }
  if (operation !== undefined) yield operation;
}

async function* linesOf(chunks) {
  let rest = "";
  const decoder = new TextDecoder();
  for await (const chunk of typeof chunks === "string" ? [chunks] : chunks) {
    if (typeof chunk !== "string" && !ArrayBuffer.isView(chunk))
      throw new TypeError(`import: a chunk of lines must be text or bytes, not ${typeof chunk}`);
    rest += typeof chunk === "string" ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split("\n");
    rest = lines.pop();
    yield* lines;
  }
  yield rest + decoder.decode();
}

function parsed(text, number) {
  try {
    const value = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch {
    // Said below, without the text.
  }
  throw refused(number, "it is no JSON object");
}

function begun(value, namespace, number) {
  const { format, version, sessionId } = value;
  const state = stateOf(value);
  const isSound =
    format === FORMAT &&
    [sessionId, state.prompt ?? "", state.digest].every((text) => typeof text === "string") &&
    Object.values(state.fields).every((text) => typeof text === "string") &&
    [state.compressions, state.tokensSaved].every(Number.isSafeInteger);
  if (!isSound) throw refused(number, "it is no session of this format");
  if (version !== VERSION) throw refused(number, `it has version ${String(version)}; this reads ${VERSION}`);
  return { kind: "import", namespace, key: JSON.stringify(sessionId), state, messages: [] };
}

function messageOf({ message, seq, place, isLive, isSummary }, number) {
  const isSound =
    typeof message?.id === "string" &&
    typeof message.role === "string" &&
    typeof message.content === "string" &&
    [message.blocks ?? [], message.toolCalls ?? []].every(Array.isArray) &&
    ["undefined", "string"].includes(typeof message.toolCallId) &&
    ["undefined", "boolean"].includes(typeof message.isError) &&
    [seq, place].every((at) => Number.isSafeInteger(at) && at > 0) &&
    [isLive, isSummary].every((flag) => typeof flag === "boolean");
  if (!isSound) throw refused(number, "it is no message of a session");
  const text = isSummary ? "" : storable(message.content);
  return { id: message.id, body: written(message), text, seq, place, isLive, isSummary };
}

function refused(number, why) {
  return Object.assign(new TypeError(`import: line ${number} cannot be read: ${why}`), { line: number });
}

module.exports = { exportSessions, hitsOf, importSessions, listed };
