// The operations of one transaction as statements: what is appended to many sessions goes in one, everything else by
// itself, and within a session all stays in the order asked for.
"use strict";

const { createHash } = require("node:crypto");
const { DatabaseError } = require("../../native/database-error.js");
const sql = require("./postgres_statements.js");

/** UTF-8 bytes of a message's id: it stands in an index. */
const MAX_ID_BYTES = 512;

class Changes {
  #operations;
  #wordsOf;
  /** Positions of the operations of each session. */
  #bySession = new Map();

  constructor(operations, wordsOf) {
    this.#operations = operations.map((operation) => ({ ...operation, hash: hashOf(operation.key) }));
    this.#wordsOf = wordsOf;
    for (const [i, { namespace, hash, ...operation }] of this.#operations.entries()) {
      checkIds(operation);
      const name = `${hash.toString("base64")} ${namespace}`;
      const positions = this.#bySession.get(name);
      if (positions === undefined) this.#bySession.set(name, [i]);
      else positions.push(i);
    }
  }

  /** What became of each. Where an id may be there already, `isCareful` looks first. */
  async run(query, isCareful) {
    const outcomes = [];
    const waiting = Array.from(this.#bySession.values(), (positions) => positions.slice());
    const isOneStatement = !isCareful && this.#operations.every(({ kind }) => kind === "append");
    if (!isOneStatement && waiting.length > 1) await this.#lock(query, waiting);
    while (waiting.some((positions) => positions.length > 0)) {
      const runs = isCareful ? [] : waiting.map((positions) => this.#takeAppends(positions));
      await this.#append(
        query,
        runs.filter((run) => run.length > 0),
        outcomes,
      );
      for (const positions of waiting) {
        const next = positions[0];
        if (next === undefined || (!isCareful && this.#operations[next].kind === "append")) continue;
        positions.shift();
        outcomes[next] = await this.#one(query, this.#operations[next]);
      }
    }
    return outcomes;
  }

  #lock(query, waiting) {
    const sessions = waiting.map(([first]) => this.#operations[first]);
    return query(sql.lock, [sessions.map(({ namespace }) => namespace), sessions.map(({ hash }) => hash)]);
  }

  #takeAppends(positions) {
    const end = positions.findIndex((i) => this.#operations[i].kind !== "append");
    return positions.splice(0, end < 0 ? positions.length : end);
  }

  /** Each run is the positions of appends to one session. */
  async #append(query, runs, outcomes) {
    if (runs.length === 0) return;
    const sessions = { namespace: [], key: [], hash: [], added: [], operations: [] };
    const messages = [];
    for (const [index, run] of runs.entries()) {
      const { namespace, key, hash } = this.#operations[run[0]];
      let added = 0;
      for (const i of run) {
        for (const message of this.#operations[i].messages) {
          added += 1;
          messages.push({ i, session: index + 1, position: added, message });
        }
      }
      sessions.namespace.push(namespace);
      sessions.key.push(key);
      sessions.hash.push(hash);
      sessions.added.push(added);
      sessions.operations.push(run.length);
    }
    // What was asked for first is the older, over all sessions.
    messages.sort((a, b) => a.i - b.i || a.position - b.position);
    const { rows } = await query(sql.append, [
      ...Object.values(sessions),
      messages.map(({ session }) => session),
      messages.map(({ position }) => position),
      messages.map(({ message }) => message.id),
      messages.map(({ message }) => message.body),
      messages.map(({ message }) => this.#wordsOf(message.text)),
    ]);
    for (const [index, run] of runs.entries()) this.#tell(run, rows[index], outcomes);
  }

  /** The outcomes of a run, from what the session was before it and is after it. */
  #tell(run, { i: _, before, ...stamp }, outcomes) {
    let seq = before;
    for (const [done, i] of run.entries()) {
      const seqs = this.#operations[i].messages.map(() => {
        seq += 1;
        return seq;
      });
      const version = stamp.version - run.length + done + 1;
      outcomes[i] = { applied: true, stamp: { ...stamp, version }, seqs };
    }
  }

  #one(query, operation) {
    switch (operation.kind) {
      case "append":
        return this.#appendNew(query, operation);
      case "fields":
        return setFields(query, operation);
      case "compress":
        return compress(query, operation);
      case "delete":
        return orNothing(query, operation, sql.remove, [operation.ids]);
      case "clear":
        return clear(query, operation);
      case "import":
        return importSession(query, operation, this.#wordsOf);
      default:
        throw new DatabaseError("ERR_DATABASE", `there is no operation ${String(operation.kind)}`);
    }
  }

  /** Leaves out what is there already, and says where. */
  async #appendNew(query, { namespace, key, hash, messages }) {
    const { rows } = await query(sql.touch, [namespace, key, hash]);
    const [{ before, ...stamp }] = rows;
    const ids = messages.map(({ id }) => id);
    const { rows: found } = await query(sql.known, [namespace, stamp.session, ids]);
    const seqs = new Map(found.map(({ id, seq }) => [id, seq]));
    const added = messages.filter(({ id }) => {
      if (seqs.has(id)) return false;
      seqs.set(id, before + 1 + seqs.size - found.length);
      return true;
    });
    if (added.length > 0) {
      await query(sql.addNew, [
        namespace,
        stamp.session,
        added.map(({ id }) => id),
        added.map(({ body }) => body),
        added.map(({ text }) => this.#wordsOf(text)),
        before,
      ]);
    }
    return { applied: true, stamp, seqs: ids.map((id) => seqs.get(id)) };
  }
}

async function setFields(query, { namespace, key, hash, fields = {}, prompt, promptIfAbsent = false }) {
  const names = Object.keys(fields);
  const set = names.filter((name) => fields[name] !== null).map((name) => [name, fields[name]]);
  const removed = names.filter((name) => fields[name] === null);
  const { rows } = await query(sql.fields, [
    namespace,
    key,
    hash,
    prompt ?? null,
    JSON.stringify(Object.fromEntries(set)),
    removed,
    promptIfAbsent,
  ]);
  const [{ prompt: now, ...stamp }] = rows;
  return { applied: true, stamp, ...(promptIfAbsent && now !== null && { prompt: now }) };
}

function compress(query, operation) {
  const { session, revision, digest, tokensSaved, letGo, summary, forget } = operation;
  const statement = forget ? sql.compressForgetting : sql.compressKeeping;
  const values = [revision, digest, tokensSaved, letGo, summary.id, summary.body, session];
  return orNothing(query, operation, statement, values);
}

/** A change that a session must be there for, and be as it was. */
async function orNothing(query, { namespace, hash }, statement, values) {
  const { rows } = await query(statement, [namespace, hash, ...values]);
  if (rows.length > 0) return { applied: true, stamp: rows[0] };
  return unchanged(query, namespace, hash);
}

async function unchanged(query, namespace, hash) {
  const { rows } = await query(sql.stamp, [namespace, hash]);
  return rows.length > 0 ? { applied: false, stamp: rows[0] } : { applied: false };
}

async function clear(query, { namespace, hash }) {
  const { rows } = await query(sql.clearSession, [namespace, hash]);
  if (rows.length === 0) return { applied: false };
  await query(sql.clearMessages, [namespace, rows[0].id]);
  return { applied: true };
}

async function importSession(query, { namespace, key, hash, state, messages }, wordsOf) {
  const { prompt = null, fields, digest, compressions, tokensSaved } = state;
  const last = messages.reduce((greatest, { seq, place }) => Math.max(greatest, seq, place), 0);
  const { rows } = await query(sql.importSession, [
    namespace,
    key,
    hash,
    last,
    prompt,
    JSON.stringify(fields),
    digest,
    compressions,
    tokensSaved,
  ]);
  if (rows.length === 0) return unchanged(query, namespace, hash);
  const column = (name) => messages.map((message) => message[name]);
  const words = messages.map(({ isSummary, text }) => (isSummary ? null : wordsOf(text)));
  await query(sql.importMessages, [
    namespace,
    rows[0].session,
    column("seq"),
    column("place"),
    column("isLive"),
    column("isSummary"),
    column("id"),
    column("body"),
    words,
  ]);
  return { applied: true, stamp: rows[0] };
}

function checkIds({ messages = [], summary }) {
  for (const { id } of summary === undefined ? messages : [...messages, summary]) {
    if (Buffer.byteLength(id) > MAX_ID_BYTES) {
      throw new DatabaseError("ERR_DATABASE_VALUE", `a message's id has more than ${MAX_ID_BYTES} bytes`);
    }
  }
}

function hashOf(key) {
  return createHash("sha256").update(key).digest();
}

module.exports = { Changes, hashOf };
