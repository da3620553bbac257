// The sessions known in this process, the least used giving way, and what it takes to know one: from memory, or else from
// the store, and again where somebody else has changed it.
"use strict";

const { Session } = require("./session.js");

/** Sessions kept here; a store keeps them all. */
const KNOWN_SESSIONS = 1024;
/** Times a session is loaded again because something was acknowledged meanwhile. */
const MAX_LOADS = 100;

class Sessions {
  #store;
  #namespace;
  #opening;
  #known = new Map();

  constructor(store, namespace, opening) {
    this.#store = store;
    this.#namespace = namespace;
    this.#opening = opening;
  }

  /** The session as far as it is known, or a new one of which nothing is known yet. */
  known(sessionId) {
    const key = keyOf(sessionId);
    let session = this.#known.get(sessionId);
    if (session !== undefined) return session;
    session = new Session(sessionId, key);
    this.#known.set(sessionId, session);
    if (this.#known.size > KNOWN_SESSIONS) this.#forgetOne(session);
    return session;
  }

  /** The session as it is, with all that was asked for before; read if need be. */
  async load(sessionId) {
    const session = this.known(sessionId);
    await this.#opening.ready();
    await session.settled;
    if (!(await this.#isCurrent(session))) await this.refresh(session);
    return session;
  }

  /** Reads the session again. */
  async refresh(session) {
    await this.#opening.ready();
    for (let loads = 0; loads < MAX_LOADS; loads += 1) {
      const { answers } = session;
      const stored = await this.#store.load(this.#namespace, session.key);
      if (session.answers === answers) return session.load(stored);
    }
  }

  /** Takes what is known for out of date from now on. */
  distrust() {
    for (const session of this.#known.values()) session.isCurrent = false;
  }

  /** The one known longest that nothing is under way in; all of them are in the store. */
  #forgetOne(except) {
    for (const [id, other] of this.#known) {
      if (other !== except && other.underWay === 0 && other.compressing === undefined) {
        this.#known.delete(id);
        return;
      }
    }
  }

  async #isCurrent(session) {
    if (!session.isCurrent) return false;
    // In memory there is nobody else.
    if (this.#store.forgets) return true;
    const { stamp } = session;
    const stored = await this.#store.stamp(this.#namespace, session.key);
    return stored?.session === stamp?.session && stored?.version === stamp?.version;
  }
}

/** The key of a session: JSON, because a database's text cannot hold every string. */
function keyOf(sessionId) {
  if (typeof sessionId !== "string")
    throw new TypeError(`sessionId must be a string, not ${typeof sessionId}`);
  return JSON.stringify(sessionId);
}

module.exports = { Sessions, keyOf };
