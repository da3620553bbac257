// The way to a Postgres server: a pool of node-postgres, back-off while the server is away, and transactions whose
// outcome is known even where the connection broke while they were committed. Knows nothing of what is stored.
"use strict";

const { setTimeout: pause } =
  process.getBuiltinModule?.("node:timers/promises") ?? require("node:timers/promises");
const { DatabaseError } = require("../../native/database-error.js");
const { amount, atLeastOne, checkOptions, handler, positive, text } = require("../../options.js");
const { isConflict, isRefused, isUnavailable, publicError } = require("./postgres_errors.js");

/** Connections; Postgres itself allows 100 in all unless told otherwise. */
const POOL_SIZE = 10;
/** ms a statement may take, at the server. */
const STATEMENT_TIMEOUT_MS = 10_000;
/** ms for which a call is tried again while the server is away: a restart or a failover takes less. */
const RETRY_MS = 30_000;
/** ms until a connection must have come about. */
const CONNECT_TIMEOUT_MS = 5_000;
/** ms beyond the statement timeout after which a server that says nothing at all is given up. */
const GRACE_MS = 2_000;
/** ms between two tries: doubled from the first to the longest, each by a random share of up to a half less. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** Tries of a transaction that others got in the way of. */
const MAX_CONFLICTS = 20;
/** ms between two looks at a transaction that is still being committed. */
const COMMIT_PAUSE_MS = 50;

const pool = {
  allowed: "a Pool of the package pg",
  accepts: (value) => typeof value?.connect === "function" && typeof value?.query === "function",
};

const OPTIONS = {
  connectionString: [undefined, text],
  pool: [undefined, pool],
  poolSize: [POOL_SIZE, atLeastOne],
  statementTimeoutMs: [STATEMENT_TIMEOUT_MS, positive],
  retryMs: [RETRY_MS, amount],
  onEvent: [undefined, handler],
};

/** The first questions of a transaction, in one go. Its id tells later what became of it. */
const begin = (timeoutMs) => `
  BEGIN ISOLATION LEVEL READ COMMITTED;
  SET LOCAL statement_timeout = ${timeoutMs};
  SET LOCAL idle_in_transaction_session_timeout = ${timeoutMs};
  SELECT pg_current_xact_id()::text AS xid, set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`;

class PostgresConnection {
  #pool;
  #owns;
  #timeoutMs;
  #retryMs;
  #report;
  #prepared = new WeakSet();
  /** Resolves when all is closed; undefined as long as nobody asked for that. */
  #closed;
  /** Calls under way. */
  #pending = new Set();

  /** @param options checked ones, as `checkConnection` gives them */
  constructor(options, report) {
    this.#timeoutMs = Math.ceil(options.statementTimeoutMs);
    this.#retryMs = options.retryMs;
    this.#report = report;
    this.#owns = options.pool === undefined;
    this.#pool = options.pool ?? newPool(options);
    // A connection that breaks while nobody uses it is replaced; that is no news.
    if (this.#owns) this.#pool.on("error", () => {});
  }

  /** Rows of a statement that changes nothing. */
  async read(statement, values) {
    return this.#tracked(() => this.#ask(statement, values));
  }

  /**
   * Resolves with the result of `work(query)`, once that is committed. It is run again where it was surely not committed.
   * `isStored(result, read)` looks for traces of it where only they can tell. A statement may take `timeoutMs`.
   */
  async transaction(work, isStored, timeoutMs = this.#timeoutMs) {
    return this.#tracked(() =>
      this.#patiently(async () => {
        const attempt = { xid: undefined, isCommitting: false, result: undefined };
        try {
          await this.#withClient((client) => this.#attempt(client, work, attempt, timeoutMs));
        } catch (error) {
          const isKnown = !attempt.isCommitting || isRefused(error);
          if (isKnown || !(await this.#wasCommitted(attempt, isStored))) throw error;
        }
        return attempt.result;
      }),
    );
  }

  /** Closes when all calls have ended; a pool of the host's stays open. */
  close() {
    this.#closed ??= Promise.allSettled(this.#pending).then(() => {
      if (this.#owns) return this.#pool.end();
    });
    return this.#closed;
  }

  async #tracked(call) {
    if (this.#closed !== undefined) {
      throw new DatabaseError("ERR_DATABASE_CLOSED", "the database was closed; make a new object to go on");
    }
    const work = call();
    this.#pending.add(work);
    try {
      return await work;
    } finally {
      this.#pending.delete(work);
    }
  }

  async #attempt(client, work, attempt, timeoutMs) {
    const query = (statement, values) => this.#query(client, statement, values, timeoutMs);
    try {
      const answers = await this.#query(client, begin(timeoutMs));
      attempt.xid = answers.at(-1).rows[0].xid;
      attempt.result = await work(query);
      attempt.isCommitting = true;
      await this.#query(client, "COMMIT");
    } catch (error) {
      if (isRefused(error)) await this.#query(client, "ROLLBACK");
      throw error;
    }
  }

  /** True if a transaction whose commit was not answered was committed all the same. */
  async #wasCommitted({ xid, result }, isStored) {
    const deadline = performance.now() + this.#retryMs;
    const read = (statement, values) => this.#ask(statement, values);
    try {
      for (;;) {
        const { rows } = await read("SELECT pg_xact_status($1::xid8) AS status", [xid]);
        const { status } = rows[0];
        if (status === "aborted") return false;
        // A server that crashed may have given the id to another transaction since.
        if (status === "committed" && (await isStored(result, read))) return true;
        if (status !== "in progress" || performance.now() > deadline) break;
        await pause(COMMIT_PAUSE_MS);
      }
    } catch {
      // The server stays away, or knows no such transaction: it cannot be told.
    }
    throw new DatabaseError(
      "ERR_STORE_UNCERTAIN",
      "the connection broke while the change was committed, and the server could not be asked whether it was",
    );
  }

  #ask(statement, values) {
    return this.#patiently(() => this.#withClient((client) => this.#query(client, statement, values)));
  }

  async #withClient(work) {
    const client = await this.#pool.connect();
    // Without a listener, a connection that breaks between two statements would end the process.
    const ignore = () => {};
    client.on("error", ignore);
    let isBroken = false;
    try {
      await this.#prepare(client);
      return await work(client);
    } catch (error) {
      isBroken = !isRefused(error);
      throw error;
    } finally {
      client.removeListener("error", ignore);
      client.release(isBroken);
    }
  }

  /** A pool of the host's keeps the host's own settings. */
  async #prepare(client) {
    if (!this.#owns || this.#prepared.has(client)) return;
    await this.#query(client, `SET statement_timeout = ${this.#timeoutMs}`);
    this.#prepared.add(client);
  }

  #query(client, statement, values, timeoutMs = this.#timeoutMs) {
    return client.query({ text: statement, values, query_timeout: timeoutMs + GRACE_MS });
  }

  /** Repeats `work` while the server is away or others are in the way, until its time is over. */
  async #patiently(work) {
    const deadline = performance.now() + this.#retryMs;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const isAway = !(error instanceof DatabaseError) && isUnavailable(error);
        const mayRepeat = isAway || (isConflict(error) && attempt < MAX_CONFLICTS);
        const wait = pauseMs(attempt);
        if (!mayRepeat || performance.now() + wait > deadline) throw publicError(error);
        if (isAway) {
          const { code, message } = publicError(error);
          this.#report({ type: "storeReconnecting", code, message, attempt });
        }
        await pause(wait);
      }
    }
  }
}

function pauseMs(attempt) {
  const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (attempt - 1));
  return longest * (1 - Math.random() / 2);
}

/** Options of a store or provider, `given` as an object or as the connection string alone. */
function checkConnection(owner, given, more = {}) {
  const object = typeof given === "string" ? { connectionString: given } : given;
  const secret = object?.connectionString;
  // A text meant as a connection string may hold a password: an error never shows it.
  if (secret !== undefined && !(typeof secret === "string" && /^postgres(?:ql)?:\/\//.test(secret))) {
    throw new TypeError(
      `${owner}: option connectionString must be a string that begins with postgres:// or postgresql://`,
    );
  }
  const options = checkOptions(owner, object, { ...OPTIONS, ...more });
  if ((options.connectionString === undefined) === (options.pool === undefined)) {
    throw new TypeError(`${owner}: give either connectionString or pool`);
  }
  return options;
}

function newPool({ connectionString, poolSize }) {
  const { Pool } = driver();
  return new Pool({
    connectionString,
    max: poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "pi-strata",
    // Idle connections do not keep a process alive that is done.
    allowExitOnIdle: true,
  });
}

function driver() {
  try {
    return require("pg");
  } catch (error) {
    if (error?.code !== "MODULE_NOT_FOUND") throw error;
    throw new DatabaseError(
      "ERR_DATABASE_DRIVER",
      "Postgres needs the package pg, which is not installed; run: npm install pg",
    );
  }
}

module.exports = { PostgresConnection, checkConnection };
