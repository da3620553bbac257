// A store of one's own: sessions in memory, and each transaction as a line of JSON in a file that is read when it is opened.
// It shows what a store has to do (lib/sessions/store/store.d.ts), and passes its contract (contract.mjs). One process may
// have the file open.
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { searchForm } from "pi-strata/sessions";

export class LinesStore {
  engine = "lines";
  #path;
  #file;
  /** By namespace and key. */
  #sessions = new Map();
  #sessionsMade = 0;
  #messagesMade = 0;

  constructor(path) {
    this.#path = path;
  }

  async open() {
    const lines = existsSync(this.#path) ? readFileSync(this.#path, "utf8").split("\n") : [];
    // The last line has no end if the process was killed while it was written: that transaction was never acknowledged.
    for (const line of lines.slice(0, -1)) {
      const { now, operations } = JSON.parse(line);
      for (const operation of operations) this.#change(operation, now);
    }
    if (lines.at(-1)) this.#rewrite(lines.slice(0, -1));
    this.#file = openSync(this.#path, "a", 0o600);
  }

  async apply(operations) {
    this.#assertOpen();
    const unknown = operations.find(({ kind }) => !KINDS.includes(kind));
    if (unknown !== undefined) throw coded("ERR_DATABASE", `there is no operation ${unknown.kind}`);
    if (operations.length === 0) return [];
    const now = Date.now();
    this.#write(`${JSON.stringify({ now, operations })}\n`);
    const outcomes = operations.map((operation) => this.#change(operation, now));
    // A message that is gone must not stand in the file.
    const forgets = ({ kind, forget }) => kind === "clear" || kind === "delete" || forget === true;
    if (operations.some(forgets)) this.#compact();
    return outcomes;
  }

  async load(namespace, key) {
    this.#assertOpen();
    const session = this.#find(namespace, key);
    if (session === undefined) return undefined;
    const { stamp, prompt, fields, digest, compressions, tokensSaved } = session;
    const messages = session.messages.filter(({ isLive }) => isLive).map(shown);
    messages.sort((a, b) => a.place - b.place || a.seq - b.seq);
    const state = { fields: { ...fields }, digest, compressions, tokensSaved };
    return { stamp: { ...stamp }, ...(prompt !== undefined && { prompt }), ...state, messages };
  }

  async stamp(namespace, key) {
    this.#assertOpen();
    const session = this.#find(namespace, key);
    return session && { ...session.stamp };
  }

  async read(namespace, key, { after = 0, limit }) {
    this.#assertOpen();
    const messages = (this.#find(namespace, key)?.messages ?? []).map(shown);
    messages.sort((a, b) => a.seq - b.seq);
    return messages.filter(({ seq }) => seq > after).slice(0, limit);
  }

  async list({ namespace, order, limit, cursor }) {
    this.#assertOpen();
    if (cursor !== undefined && !/^\d+\.\d+$/.test(cursor))
      throw coded("ERR_BAD_CURSOR", "no list gave that cursor");
    const rank = ({ stamp }) => (order === "created" ? [stamp.session] : [-stamp.updatedAt, -stamp.session]);
    const [time, number] = (cursor ?? "0.0").split(".").map(Number);
    const from = order === "created" ? [number] : [-time, -number];
    const all = [...this.#sessions.values()].filter((session) => session.namespace === namespace);
    const rest = cursor === undefined ? all : all.filter((session) => compare(rank(session), from) > 0);
    const page = rest.sort((a, b) => compare(rank(a), rank(b))).slice(0, limit);
    const sessions = page.map(({ key, stamp, fields, messages }) => ({
      key,
      createdAt: stamp.createdAt,
      updatedAt: stamp.updatedAt,
      messages: messages.filter(({ isLive }) => isLive).length,
      fields: { ...fields },
    }));
    const last = page.at(-1)?.stamp;
    return { sessions, ...(rest.length > limit && last && { cursor: `${last.updatedAt}.${last.session}` }) };
  }

  async search({ namespace, key, phrases, limit }) {
    this.#assertOpen();
    const hits = [];
    for (const session of this.#sessions.values()) {
      if (session.namespace !== namespace || (key !== undefined && session.key !== key)) continue;
      for (const { id, number, body, text, isLive, isSummary } of session.messages) {
        const form = ` ${searchForm(text)}`;
        const isHit =
          !isSummary && phrases.length > 0 && phrases.every((phrase) => form.includes(` ${phrase}`));
        if (isHit) hits.push({ number, key: session.key, id, body, isLive });
      }
    }
    hits.sort((a, b) => b.number - a.number);
    return hits.slice(0, limit).map(({ number: _, ...hit }) => hit);
  }

  async prune(namespace, before) {
    this.#assertOpen();
    const pruned = { sessions: 0, messages: 0 };
    for (const [name, session] of this.#sessions) {
      if (session.namespace !== namespace) continue;
      const isOld = session.stamp.updatedAt < before;
      const kept = session.messages.filter(({ isLive, at }) => !isOld && (isLive || at >= before));
      pruned.messages += session.messages.length - kept.length;
      session.messages = kept;
      if (!isOld) continue;
      pruned.sessions += 1;
      this.#sessions.delete(name);
    }
    this.#compact();
    return pruned;
  }

  async close() {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  #assertOpen() {
    if (this.#file === undefined) throw coded("ERR_DATABASE_CLOSED", "the store is closed");
  }

  #find(namespace, key) {
    return this.#sessions.get(JSON.stringify([namespace, key]));
  }

  /** One operation, as it is asked for or as it is read back. */
  #change(operation, now) {
    const { namespace, key, kind } = operation;
    const name = JSON.stringify([namespace, key]);
    let session = this.#sessions.get(name);
    if (kind === "restore") {
      this.#sessions.set(name, operation.session);
      this.#sessionsMade = Math.max(this.#sessionsMade, operation.sessionsMade);
      this.#messagesMade = Math.max(this.#messagesMade, operation.messagesMade);
      return undefined;
    }
    const refused = () => ({ applied: false, ...(session !== undefined && { stamp: { ...session.stamp } }) });
    if (kind === "import" ? session !== undefined : session === undefined && !MAKING.includes(kind))
      return refused();
    if (kind === "compress") {
      const { stamp } = session;
      if (stamp.session !== operation.session || stamp.revision !== operation.revision) return refused();
    }
    if (kind === "clear") {
      this.#sessions.delete(name);
      return { applied: true };
    }
    if (session === undefined) {
      session = this.#newSession(namespace, key, now);
      this.#sessions.set(name, session);
    }
    const more = this[`_${kind}`](session, operation, now);
    session.stamp.version += 1;
    session.stamp.updatedAt = Math.max(session.stamp.updatedAt, now);
    return { applied: true, stamp: { ...session.stamp }, ...more };
  }

  #newSession(namespace, key, now) {
    this.#sessionsMade += 1;
    const stamp = { session: this.#sessionsMade, version: 0, revision: 0, createdAt: now, updatedAt: now };
    const state = { prompt: undefined, fields: {}, digest: "", compressions: 0, tokensSaved: 0 };
    return { namespace, key, stamp, ...state, lastSeq: 0, messages: [] };
  }

  #add(session, message) {
    this.#messagesMade += 1;
    session.messages.push({ ...message, number: this.#messagesMade });
    session.lastSeq = Math.max(session.lastSeq, message.seq, message.place);
  }

  _append(session, { messages }, at) {
    for (const { id, body, text } of messages) {
      if (session.messages.some((message) => message.id === id)) continue;
      const seq = session.lastSeq + 1;
      this.#add(session, { id, body, text, seq, place: seq, isLive: true, isSummary: false, at });
    }
  }

  _fields(session, { fields = {}, prompt, promptIfAbsent = false }) {
    for (const [field, value] of Object.entries(fields)) {
      if (value === null) delete session.fields[field];
      else session.fields[field] = value;
    }
    if (prompt !== undefined && !(promptIfAbsent && session.prompt !== undefined)) session.prompt = prompt;
    return promptIfAbsent && session.prompt !== undefined ? { prompt: session.prompt } : {};
  }

  _compress(session, { letGo, forget, summary, digest, tokensSaved }, at) {
    const gone = new Set(letGo);
    const isGone = ({ id, isLive }) => isLive && gone.has(id);
    const places = session.messages.filter(isGone).map(({ place }) => place);
    const seq = session.lastSeq + 1;
    const place = places.length > 0 ? Math.max(...places) : seq;
    if (forget) session.messages = session.messages.filter((message) => !isGone(message));
    else for (const message of session.messages.filter(isGone)) message.isLive = false;
    this.#add(session, { ...summary, text: "", seq, place, isLive: true, isSummary: true, at });
    session.digest = digest;
    session.tokensSaved += tokensSaved;
    session.compressions += 1;
    session.stamp.revision += 1;
  }

  _delete(session, { ids }) {
    session.messages = session.messages.filter(({ id }) => !ids.includes(id));
    session.stamp.revision += 1;
  }

  _import(session, { state, messages }, at) {
    Object.assign(session, { ...state, fields: { ...state.fields } });
    for (const message of messages) this.#add(session, { ...message, at });
  }

  #write(line) {
    writeSync(this.#file, line);
    fsyncSync(this.#file);
  }

  /** What is there now, and nothing of what was. */
  #compact() {
    const made = { sessionsMade: this.#sessionsMade, messagesMade: this.#messagesMade };
    const lines = [...this.#sessions.values()].map((session) => {
      const { namespace, key } = session;
      return JSON.stringify({ now: 0, operations: [{ kind: "restore", namespace, key, session, ...made }] });
    });
    this.#rewrite(lines);
  }

  #rewrite(lines) {
    const next = `${this.#path}.new`;
    const file = openSync(next, "w", 0o600);
    writeSync(file, lines.map((line) => `${line}\n`).join(""));
    fsyncSync(file);
    closeSync(file);
    renameSync(next, this.#path);
    if (this.#file === undefined) return;
    closeSync(this.#file);
    this.#file = openSync(this.#path, "a", 0o600);
  }
}

const KINDS = ["append", "fields", "compress", "delete", "clear", "import"];
const MAKING = ["append", "fields", "import"];

function shown({ id, seq, place, isLive, isSummary, body, at }) {
  return { id, seq, place, isLive, isSummary, body, at };
}

function compare(some, others) {
  const at = some.findIndex((value, i) => value !== others[i]);
  return at < 0 ? 0 : some[at] - others[at];
}

function coded(code, message) {
  return Object.assign(new Error(message), { code });
}
