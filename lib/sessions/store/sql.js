// A store over SQL, whichever database it is: the statements are the core's (src/sessions/store), this file turns calls into
// questions and rows back into what a Store answers.
"use strict";

const { native } = require("../../native/native.js");

class SqlStore {
  /** `ask(question)` of a subclass resolves with the rows of the answer. */
  async load(namespace, key) {
    const [session, ...messages] = await this.ask({ load: [namespace, key] });
    if (session === undefined) return undefined;
    const { prompt, ...state } = session;
    return { ...state, ...(prompt !== null && { prompt }), messages };
  }

  async stamp(namespace, key) {
    const [session] = await this.ask({ stamp: [namespace, key] });
    return session?.stamp;
  }

  async read(namespace, key, page) {
    return this.ask({ read: [namespace, key, page] });
  }

  async list(query) {
    const rows = await this.ask({ list: query });
    const sessions = rows.map(({ number: _, ...session }) => session);
    const last = rows.at(-1);
    const isFull = last !== undefined && rows.length === query.limit;
    return { sessions, ...(isFull && { cursor: `${last.updatedAt}.${last.number}` }) };
  }

  async search(query) {
    return this.ask({ search: query });
  }
}

/** Operations as the core reads them. */
function written(operations) {
  return JSON.stringify(
    operations.map(({ namespace, key, kind, ...change }) => [namespace, key, { [kind]: change }]),
  );
}

/** The words of a text as every search compares them. */
function searchForm(text) {
  if (typeof text !== "string") throw new TypeError(`searchForm: text must be a string, not ${typeof text}`);
  return native().searchForm(text.toWellFormed());
}

module.exports = { SqlStore, searchForm, written };
