// Sessions in Postgres, for hosts with more than one machine. The database orders what is appended, by a lock on the
// session's row; the statements are the core's, and this file runs them with the driver of the host's.
"use strict";

const { withCodeNow } = require("../../native/database-error.js");
const { Reporter } = require("../../hook/events.js");
const { native } = require("../../native/native.js");
const { PostgresConnection, checkConnection } = require("./postgres_connection.js");
const { makeTables } = require("./postgres_schema.js");
const { SqlStore, written } = require("./sql.js");

/** Rows that one transaction of `prune` deletes: few enough to hold no lock for long. */
const PRUNE_BATCH = 1_000;
/** Transactions at once: more would be smaller ones, and cost more in all. */
const MAX_PARALLEL = 4;
/** Of the sessions of these numbers: how far each has come. */
const VERSIONS = `SELECT number::float8 AS session, version::float8 FROM strata_session WHERE number = ANY($1::bigint[])`;

class PostgresStore extends SqlStore {
  engine = "postgres";
  #options;
  #connection;
  #listener;
  /** Takes events for the manager, once it has opened this. */
  #report = () => {};

  constructor(options) {
    super();
    this.#options = checkConnection("PostgresStore", options);
    this.#listener = new Reporter(this.#options.onEvent);
    this.#connection = new PostgresConnection(this.#options, (event) => {
      this.#listener.emit(event);
      this.#report(event);
    });
  }

  get parallel() {
    return Math.min(this.#options.poolSize, MAX_PARALLEL);
  }

  open(report) {
    if (report !== undefined) this.#report = report;
    return makeTables(this.#connection);
  }

  async apply(operations) {
    if (operations.length === 0) return [];
    const asked = written(operations);
    const script = JSON.parse(native().storeScript(asked));
    return this.#connection.transaction(
      async (query) => {
        const rows = script.map(() => []);
        for (const [group, steps] of script.entries())
          for (const step of steps) rows[group].push(answers(await query(...step)));
        return JSON.parse(native().storeOutcomes(asked, JSON.stringify(rows)));
      },
      (outcomes, read) => isStored(operations, outcomes, read),
    );
  }

  async ask(question) {
    const asked = this.#asked(question);
    return asked === null ? [] : answers(await this.#connection.read(...asked));
  }

  async prune(namespace, before) {
    const pruned = { sessions: 0, messages: 0 };
    const pruning = { sessions: "pruneSessions", messages: "pruneLetGo" };
    for (const [counted, question] of Object.entries(pruning)) {
      const [statement, values] = this.#asked({ [question]: [namespace, Math.floor(before), PRUNE_BATCH] });
      for (let batch = PRUNE_BATCH; batch === PRUNE_BATCH; ) {
        const [gone] = await this.#connection.transaction(
          async (query) => answers(await query(statement, values)),
          // Deleting once more what is old is no harm.
          () => true,
        );
        batch = gone[counted];
        pruned.sessions += gone.sessions;
        pruned.messages += gone.messages;
      }
    }
    return pruned;
  }

  async close() {
    await this.#connection.close();
  }

  #asked(question) {
    return JSON.parse(withCodeNow(() => native().storeQuestion(JSON.stringify(question))));
  }
}

function answers({ rows }) {
  return rows.map(({ answer }) => answer);
}

/** True if the sessions show that the changes were made: each has come as far, or is gone if that was the change. */
async function isStored(operations, outcomes, read) {
  const last = new Map();
  for (const [i, { namespace, key }] of operations.entries()) {
    const { applied, stamp } = outcomes[i];
    if (applied) last.set(JSON.stringify([namespace, key]), stamp);
  }
  const stamps = Array.from(last.values()).filter((stamp) => stamp !== undefined);
  const { rows } = await read(VERSIONS, [stamps.map(({ session }) => session)]);
  const versions = new Map(rows.map(({ session, version }) => [session, version]));
  return stamps.every(({ session, version }) => versions.get(session) >= version);
}

module.exports = { PostgresStore };
