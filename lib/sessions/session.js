// A session: its state and its rows `{ position, id, message }`. The system prompt has position 0. A message that a compression
// replaced leaves a note at its negated position.
"use strict";

/** Position of the system prompt. */
const PROMPT = 0;

class Session {
  #live = new Map();
  #notes = new Map();
  /** Largest position in use. */
  #last = PROMPT;
  /** Rows that were put and `{ id }` of removed ones, since the session was read. */
  changes = [];

  constructor({ state, createdAt, updatedAt }, rows = []) {
    this.state = state;
    this.createdAt = createdAt;
    this.updatedAt = updatedAt;
    for (const { position, id, message } of rows) this.put(position, id, message);
    this.changes = [];
  }

  /** Rows of the messages, oldest first. */
  get rows() {
    return inOrder(this.#live);
  }

  get messages() {
    return this.rows.map(({ message }) => message);
  }

  /** Rows of the notes, oldest first. */
  get notes() {
    return inOrder(this.#notes);
  }

  /** Adds a message at the end. Returns the number of messages; 0 if its id is known, which changes nothing. */
  add(message) {
    const { id } = message;
    if (this.#live.has(id) || this.#notes.has(id)) return 0;
    this.put(positionOf(message, this.#live.size, this.#last), id, message);
    return this.#live.size;
  }

  /** Writes a row; it replaces the row with the same id. */
  put(position, id, message) {
    const row = { position, id, message };
    this.remove(id);
    (position < 0 ? this.#notes : this.#live).set(id, row);
    this.#last = Math.max(this.#last, Math.abs(position));
    this.changes.push(row);
  }

  remove(id) {
    if (this.#live.delete(id) || this.#notes.delete(id)) this.changes.push({ id });
  }

  setPrompt(message) {
    const known = this.rows.find(({ position }) => position === PROMPT);
    if (known !== undefined) this.remove(known.id);
    this.put(PROMPT, message.id, message);
  }
}

const inOrder = (rows) => [...rows.values()].sort((a, b) => Math.abs(a.position) - Math.abs(b.position));

/** Returns the position of a new message: a system message that opens a session is its prompt. */
const positionOf = ({ role }, messages, last) => (role === "system" && messages === 0 ? PROMPT : last + 1);

module.exports = { Session, positionOf };
