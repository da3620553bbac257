// The sessions known in this process, the least used giving way, and what it takes to know one: from memory, or else from
// the store, and again where somebody else has changed it.
"use strict";

const { Session } = require("./session.js");

/** Sessions kept here; a store keeps them all. */
const KNOWN_SESSIONS = 1024;
/** Sessions on a page of a list. */
const PAGE = 1000;
/** Times a session is loaded again because something was acknowledged meanwhile. */
const MAX_LOADS = 100;

class Sessions {
  #store;
  #namespace;
  #opening;
  #known = new Map();
  /** Grows when everything known may be out of date. */
  #distrusted = 0;

  constructor(store, namespace, opening) {
    this.#store = store;
    this.#namespace = namespace;
    this.#opening = opening;
  }

  /** The key of a session: JSON, because a database's text cannot hold every string. */
  keyOf(sessionId) {
    if (typeof sessionId !== "string")
      throw new TypeError(`sessionId must be a string, not ${typeof sessionId}`);
    return JSON.stringify(sessionId);
  }

  /** The store's answers at once; throws where it has none. */
  syncStore(what) {
    const { sync, engine } = this.#store;
    if (sync !== undefined) return sync;
    throw Object.assign(
      new Error(`${what} cannot be answered at once by ${engine}; ${HINTS[what] ?? HINTS.session}`),
      {
        code: "ERR_NOT_LOADED",
      },
    );
  }

  /** The session as it is, read here if need be; undefined if there is none. */
  find(sessionId) {
    const session = this.#remembered(sessionId);
    if (!this.#isCurrent(session)) {
      const { sync } = this.#store;
      // A server cannot be asked at once: what was loaded, and done here since, is what is known.
      if (sync === undefined && session.isLoaded) return session.exists ? session : undefined;
      this.#loadHere(session, this.syncStore("session"));
    }
    if (session.exists) return session;
    this.dropIfIdle(session);
    return undefined;
  }

  /** The session as far as it is known, or a new one of which nothing is known yet. */
  known(sessionId) {
    return this.#remembered(sessionId);
  }

  /** A session that is not there yet. */
  blank(sessionId) {
    return this.#remembered(sessionId);
  }

  /** The session as it is, read on a worker if need be. */
  async load(sessionId) {
    const session = this.#remembered(sessionId);
    await this.#opening.ready();
    if (this.#store.sync === undefined && session.isLoaded && session.inFlight.length === 0) {
      const stamp = await this.#store.stamp(this.#namespace, session.key);
      if (stamp?.version !== session.stamp?.version || stamp?.session !== session.stamp?.session)
        session.isStale = true;
    }
    if (!this.#isCurrent(session)) await this.refresh(session);
    return session;
  }

  /** Reads the session again. */
  async refresh(session) {
    await this.#opening.ready();
    for (let loads = 0; loads < MAX_LOADS; loads += 1) {
      const mark = session.mark();
      const generation = this.#generation();
      const stored = await this.#store.load(this.#namespace, session.key);
      if (session.load(stored, mark)) {
        session.generation = generation;
        return;
      }
    }
  }

  ids() {
    const sync = this.syncStore("listSessions");
    const stored = [];
    let cursor;
    do {
      const page = sync.list({ namespace: this.#namespace, order: "created", limit: PAGE, cursor });
      stored.push(...page.sessions.map(({ key }) => JSON.parse(key)));
      cursor = page.cursor;
    } while (cursor !== undefined);
    const here = [...this.#known.values()].filter(({ exists, inFlight }) => exists && inFlight.length > 0);
    const gone = [...this.#known.values()].filter(({ exists, inFlight }) => !exists && inFlight.length > 0);
    const ids = new Set([...stored, ...here.map(({ id }) => id)]);
    for (const { id } of gone) ids.delete(id);
    return [...ids];
  }

  /** False of a message that may be on its way out with its session. */
  mayShow(sessionId, messageId) {
    const session = this.#known.get(sessionId);
    const isClearing = session !== undefined && session.clears > 0;
    return !isClearing || session.rows.some(({ message }) => message.id === messageId);
  }

  /** What is known may be out of date from now on. */
  distrust() {
    this.#distrusted += 1;
    for (const session of this.#known.values()) session.isStale = true;
  }

  /** Forgets one that is not there; where nothing can be read at once, that it is not is worth knowing. */
  dropIfIdle(session) {
    if (this.#store.sync === undefined) return;
    if (!session.exists && session.inFlight.length === 0 && session.compressing === undefined)
      this.#known.delete(session.id);
  }

  clear() {
    this.#known.clear();
  }

  #remembered(sessionId) {
    const key = this.keyOf(sessionId);
    let session = this.#known.get(sessionId);
    if (session !== undefined) return session;
    session = new Session(sessionId, key);
    this.#known.set(sessionId, session);
    if (this.#known.size > KNOWN_SESSIONS) this.#forgetOne(session);
    return session;
  }

  /** The one known longest that nothing is under way in; all of them are in the store. */
  #forgetOne(except) {
    for (const [id, other] of this.#known) {
      if (other !== except && other.inFlight.length === 0 && other.compressing === undefined) {
        this.#known.delete(id);
        return;
      }
    }
  }

  #isCurrent(session) {
    if (!session.isLoaded || session.isStale) return false;
    const { sync } = this.#store;
    if (sync === undefined || this.#store.forgets) return true;
    const generation = this.#generation();
    if (session.generation === generation || session.inFlight.length > 0) return true;
    const stamp = sync.stamp(this.#namespace, session.key);
    if (stamp?.session !== session.stamp?.session || stamp?.version !== session.stamp?.version) return false;
    session.generation = generation;
    return true;
  }

  #generation() {
    return this.#store.sync?.foreignWrites() ?? 0;
  }

  #loadHere(session, sync) {
    const generation = this.#generation();
    // Nothing can be acknowledged between the two.
    session.load(sync.load(this.#namespace, session.key), session.mark());
    session.generation = generation;
  }
}

const HINTS = {
  session: "await loadContext(sessionId) first",
  search: "await searchAsync(query)",
  listSessions: "await list()",
};

module.exports = { Sessions };
