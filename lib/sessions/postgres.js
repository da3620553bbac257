// Runs reads and transactions on a host's pool of the package pg, and repeats them while the server restarts. Its errors have a
// code and show no value, connection string or password. It never closes the pool.
"use strict";

const { setTimeout: pause } =
  process.getBuiltinModule?.("node:timers/promises") ?? require("node:timers/promises");
const { DatabaseError, handleError, kindBy } = require("./database_errors.js");

/** Pauses between two tries, ms. They double from the first to the longest; each is shortened at random by up to half. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 2_000;
/** Conflicts with other transactions, such as one that makes the same table. The next try can succeed. */
const CONFLICTS = ["40001", "40P01", "42P07", "42710"];
/** A unique value exists already: another transaction was faster, in our tables or in the catalog. */
const UNIQUE = "23505";
const BEGIN = `BEGIN ISOLATION LEVEL READ COMMITTED;
  SELECT set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, true)`;

/** Codes whose message names tables, columns and users, never values. */
const SAFE_MESSAGE = /^(?:28|3D|3F|42)/;

class PostgresPool {
  #option;
  #pool;
  #retryMs;

  /**
   * Throws a TypeError with a code for a pool of another kind; `option` names it. Calls are repeated for `retryMs` while the
   * server is away.
   */
  constructor(option, pool, retryMs) {
    this.#option = option;
    this.#pool = pool;
    this.#retryMs = retryMs;
    // A Client has these methods, too, but counts no connections.
    if (typeof pool?.connect !== "function" || pool.totalCount === undefined) throw this.#otherKind();
    // Without a listener, an idle connection that breaks ends the process.
    if (pool.listenerCount?.("error") === 0) pool.on("error", ignore);
  }

  #otherKind() {
    return handleError(this.#option, this.#pool, "a Pool of the package pg");
  }

  /** Resolves with the result of `work(query)`; `query(sql, values)` resolves with rows. */
  read(work) {
    return this.#patiently(() => this.#withClient(work));
  }

  /**
   * Resolves with the result of `work(query)` after the commit. If the connection breaks during the commit, it repeats the work.
   * Rejects with ERR_DATABASE_UNCERTAIN if a commit had no answer and no later one succeeds, or if `isRepeatable` is false.
   */
  async transaction(work, isRepeatable = true) {
    let isUncertain = false;
    const committed = async (query) => {
      await query(BEGIN);
      const result = await work(query);
      try {
        await query("COMMIT");
        return result;
      } catch (error) {
        isUncertain ||= !isAnswer(error);
        throw isUncertain && !isRepeatable ? new DatabaseError("UNCERTAIN") : error;
      }
    };
    try {
      return await this.read(committed);
    } catch (error) {
      throw isUncertain ? new DatabaseError("UNCERTAIN") : error;
    }
  }

  async #withClient(work) {
    const client = await this.#pool.connect();
    if (typeof client?.query !== "function") throw this.#otherKind();
    // Without a listener, a connection that breaks between two statements ends the process.
    client.on?.("error", ignore);
    let isBroken = false;
    try {
      return await work(async (sql, values) => {
        const numbered = sql.split("?").reduce((text, part, number) => `${text}$${number}${part}`);
        return (await client.query(numbered, values)).rows;
      });
    } catch (error) {
      isBroken = !isAnswer(error);
      if (!isBroken) isBroken = await client.query("ROLLBACK").then(ignore, () => true);
      throw error;
    } finally {
      client.removeListener?.("error", ignore);
      client.release(isBroken);
    }
  }

  /** Repeats `work` while the server is away or transactions conflict, for `retryMs` at most. */
  async #patiently(work) {
    const deadline = performance.now() + this.#retryMs;
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const shown = coded(error);
        const longest = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempt);
        const wait = longest * (1 - Math.random() / 2);
        const canPass = isConflict(error) || isAway(shown);
        if (!canPass || performance.now() + wait > deadline) throw shown;
        await pause(wait);
      }
    }
  }
}

const ignore = () => {};
const isAway = ({ code }) => code === "ERR_DATABASE_UNAVAILABLE";

function isConflict(error) {
  const { code, table, schema } = error ?? {};
  if (code === UNIQUE) return schema === "pg_catalog" || table?.startsWith("strata_") === true;
  return CONFLICTS.includes(code);
}

/** True if the server answered with an error and the connection still works. */
const isAnswer = (error) => typeof error?.severity === "string" && !isAway(coded(error));

/** Turns an error of the driver into a `DatabaseError`. Returns any other error as it is. */
function coded(error) {
  if (error instanceof DatabaseError) return error;
  const { code, message, severity } = error ?? {};
  const found = typeof code === "string" ? kindBy("postgres", code) : kindBy("postgresMessage", message);
  const kind = isConflict(error) ? "BUSY" : found;
  if (kind === undefined && severity === undefined) return error;
  // The driver's errors hold values and addresses, so there is no cause.
  return new DatabaseError(kind, SAFE_MESSAGE.test(code) ? `${code}: ${message}` : code);
}

module.exports = { PostgresPool };
