// Postgres when things go wrong: a server that is down, slow, full of others' tables, speaking nonsense, restarted or
// breaking off; and a process that is killed. The server is a real one.
import assert from "node:assert/strict";
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { inspect } from "node:util";
import pg from "pg";
import { breakingProxy } from "./support/breaking-proxy.mjs";
import { PASSWORD, PostgresServer } from "./support/postgres.mjs";

const require = createRequire(import.meta.url);
const { PostgresStore } = require("../lib/sessions/store/postgres.js");
const writer = fileURLToPath(new URL("./support/store-writer.mjs", import.meta.url));

const where = { namespace: "", key: '"a"' };
const message = (id) => ({ id, body: `{"content":"text of ${id}"}`, text: `text of ${id}` });
const append = (...ids) => ({ ...where, kind: "append", messages: ids.map(message) });
const idsOf = async (store, key = where.key) => (await store.load("", key))?.messages.map(({ id }) => id);

/** Runs `work` with a store, whatever becomes of it. */
async function withStore(options, work) {
  const events = [];
  const store = new PostgresStore(options);
  try {
    return await work(store, events, await store.open((event) => events.push(event)));
  } finally {
    await store.close();
  }
}

async function failure(work) {
  const error = await work.then(
    () => assert.fail("must reject"),
    (reason) => reason,
  );
  const shown = `${inspect(error, { depth: 9, showHidden: true })} ${error.stack}`;
  assert.ok(!shown.includes(PASSWORD) && !shown.includes(encodeURIComponent(PASSWORD)), shown);
  return error;
}

const server = await PostgresServer.start();

describe("PostgresStore", { skip: server === undefined && "there is no Postgres for this machine" }, () => {
  after(() => server?.remove());

  test("without the package pg, it says how to get it", () => {
    const script = `
      const Module = require("node:module");
      const resolve = Module._resolveFilename;
      Module._resolveFilename = function (name, ...rest) {
        if (name === "pg") throw Object.assign(new Error("Cannot find module 'pg'"), { code: "MODULE_NOT_FOUND" });
        return resolve.call(this, name, ...rest);
      };
      const { PostgresStore } = require("./lib/sessions/store/postgres.js");
      try { new PostgresStore("postgres://u:${PASSWORD}@h/d"); } catch (error) { console.log(error.code, error.message); }`;
    const cwd = fileURLToPath(new URL("..", import.meta.url));
    const said = execFileSync(process.execPath, ["-e", script], { cwd, encoding: "utf8" });
    assert.match(said, /^ERR_DATABASE_DRIVER .*npm install pg/);
    assert.ok(!said.includes(PASSWORD));
  });

  test("refuses what is no connection, and never shows it", () => {
    for (const given of ["", PASSWORD, `mysql://u:${PASSWORD}@h/d`, { connectionString: PASSWORD }]) {
      assert.throws(
        () => new PostgresStore(given),
        (error) => error instanceof TypeError && !error.message.includes(PASSWORD),
      );
    }
    assert.throws(() => new PostgresStore({}), /either connectionString or pool/);
    assert.throws(
      () => new PostgresStore({ connectionString: "postgres://h/d", poolSize: 0 }),
      /poolSize is 0/,
    );
    assert.throws(
      () => new PostgresStore({ connectionString: "postgres://h/d", max: 3 }),
      /there is no option max/,
    );
  });

  test("says which it is: password, database, server, rights, space", async () => {
    const open = (connectionString) => failure(withStore({ connectionString, retryMs: 200 }, () => {}));
    const wrong = server.urlOf("postgres", "strata", `${PASSWORD}x`);
    assert.equal((await open(wrong)).code, "ERR_DATABASE_AUTH");
    assert.equal((await open(wrong.replace(/:[^:@]*@/, "@"))).code, "ERR_DATABASE_AUTH");
    assert.equal((await open(server.urlOf("nowhere"))).code, "ERR_DATABASE_CANNOT_OPEN");
    assert.match(
      (await open(`postgres://u:${PASSWORD}@[/d`)).message,
      /^the connection string cannot be read/,
    );
    assert.equal((await open(wrong.replace(/:\d+\//, ":1/"))).code, "ERR_DATABASE_UNAVAILABLE");
    const readOnly = await server.newDatabase();
    await withStore(readOnly, () => {});
    await server.query(`ALTER DATABASE ${readOnly.split("/").at(-1)} SET default_transaction_read_only = on`);
    await withStore(readOnly, async (store) => {
      assert.equal((await failure(store.apply([append("1")]))).code, "ERR_DATABASE_READ_ONLY");
      assert.equal(await store.load("", where.key), undefined, "reading goes on");
    });
    await server.query("CREATE ROLE poor LOGIN PASSWORD 'poor'");
    const poor = readOnly.replace(/\/\/.*@/, "//poor:poor@");
    assert.equal((await open(poor)).code, "ERR_DATABASE_PERMISSION");
  });

  test("gives up a server that speaks nonsense or nothing", async () => {
    for (const answer of ["HTTP/1.1 400 Bad Request\r\n\r\n", "R\0\0\0", ""]) {
      const sockets = [];
      const other = createServer((socket) => {
        sockets.push(socket.on("error", () => {}));
        if (answer !== "") socket.end(answer);
      });
      other.listen(0, "127.0.0.1");
      await once(other, "listening");
      const url = `postgres://u:${encodeURIComponent(PASSWORD)}@127.0.0.1:${other.address().port}/d`;
      const error = await failure(withStore({ connectionString: url, retryMs: 0 }, () => {}));
      assert.match(error.code, /^ERR_DATABASE(?:_UNAVAILABLE)?$/);
      for (const socket of sockets) socket.destroy();
      other.close();
    }
  });

  test("waits for a slow statement as long as it is told", async () => {
    const connectionString = await server.newDatabase();
    const migrating = new pg.Client(connectionString);
    await migrating.connect();
    await migrating.query("SELECT pg_advisory_lock($1)", [0x737472617461]);
    const opened = withStore({ connectionString, statementTimeoutMs: 1500 }, () => "open");
    await new Promise((resolve) => setTimeout(resolve, 2500));
    await migrating.end();
    assert.equal(await opened, "open", "a migration is no statement to hurry");
    await withStore({ connectionString, statementTimeoutMs: 1500, retryMs: 200 }, async (store) => {
      const other = new pg.Client(connectionString);
      await other.connect();
      await other.query("BEGIN; LOCK TABLE strata_session");
      assert.equal((await failure(store.apply([append("1")]))).code, "ERR_DATABASE_TIMEOUT");
      assert.equal((await failure(store.load("", where.key))).code, "ERR_DATABASE_TIMEOUT");
      await other.query("ROLLBACK");
      await other.end();
      assert.equal(await idsOf(store), undefined, "what was not acknowledged is not there");
      await store.apply([append("1")]);
    });
  });

  test("many may open one new database at once", async () => {
    const url = await server.newDatabase();
    await Promise.all(Array.from({ length: 12 }, () => withStore(url, (store) => store.stamp("", "x"))));
    const rows = await server.query("SELECT version FROM strata_schema ORDER BY 1", url);
    assert.deepEqual(rows, [{ version: 1 }]);
  });

  test("leaves what a newer release made alone", async () => {
    const url = await server.newDatabase();
    await withStore(url, () => {});
    await server.query("INSERT INTO strata_schema VALUES (99)", url);
    const error = await failure(withStore(url, () => {}));
    assert.deepEqual([error.code, /version 99/.test(error.message)], ["ERR_DATABASE_VERSION", true]);
  });

  test("works on tables partitioned by namespace", async () => {
    const url = await server.newDatabase();
    const sql = readFileSync(require.resolve("pi-strata/postgres.sql"), "utf8");
    const partitioned = sql.replaceAll(/^\)(?: WITH \(.*\))?;$/gm, ") PARTITION BY HASH (namespace);");
    const parts = ["strata_session", "strata_message"].flatMap((table) =>
      [0, 1].map(
        (i) =>
          `CREATE TABLE ${table}_${i} PARTITION OF ${table} FOR VALUES WITH (MODULUS 2, REMAINDER ${i});`,
      ),
    );
    await server.query(`${partitioned} ${parts.join(" ")}`, url);
    await withStore(url, async (store) => {
      const tenants = Array.from("abcdefgh", (namespace) => ({ ...where, namespace }));
      await store.apply(tenants.map((tenant) => ({ ...append("1", "2"), ...tenant })));
      for (const { namespace } of tenants) {
        const { stamp, messages } = await store.load(namespace, where.key);
        assert.deepEqual([stamp.version, messages.length], [1, 2]);
        const hits = await store.search({ namespace, phrases: ["text of 1"], limit: 9 });
        assert.deepEqual(
          hits.map(({ id }) => id),
          ["1"],
        );
      }
      await store.apply([{ ...tenants[0], kind: "clear" }]);
      assert.equal(await store.load("a", where.key), undefined);
      assert.ok(await store.load("b", where.key));
    });
    const [{ n }] = await server.query("SELECT count(DISTINCT tableoid)::int AS n FROM strata_message", url);
    assert.equal(n, 2);
  });

  test("uses its indexes", async () => {
    const connectionString = await server.newDatabase();
    await withStore(connectionString, async (store) => {
      await store.apply([
        { ...where, kind: "append", messages: Array.from({ length: 200 }, (_, i) => message(`${i}`)) },
      ]);
      const client = new pg.Client(connectionString);
      await client.connect();
      await client.query("ANALYZE; SET enable_seqscan = off; SET enable_sort = off");
      const explain = async (text) => JSON.stringify((await client.query(`EXPLAIN ${text}`)).rows);
      const words = await explain("SELECT 1 FROM strata_message m WHERE words LIKE '% 数 据 库%'");
      assert.match(words, /strata_message_words/);
      const page = await explain(
        "SELECT 1 FROM strata_message m WHERE namespace = '' AND session = 1 AND seq > 0 ORDER BY seq LIMIT 50",
      );
      assert.match(page, /Index.*Scan using strata_message_pkey/);
      await client.end();
      const escaped = await store.search({ namespace: "", phrases: ["text of 1%", "_ext"], limit: 9 });
      assert.deepEqual(escaped, [], "what a pattern means is not what is looked for");
    });
  });

  test("leaves a pool of the host's open", async () => {
    const pool = new pg.Pool({ connectionString: await server.newDatabase(), max: 2 });
    await withStore({ pool }, (store) => store.apply([append("1")]));
    assert.equal((await pool.query("SELECT count(*)::int AS n FROM strata_message")).rows[0].n, 1);
    await pool.end();
  });

  test("knows what became of a commit whose answer never came", async () => {
    const proxy = await breakingProxy(server.port);
    const connectionString = (await server.newDatabase()).replace(/:\d+\//, `:${proxy.port}/`);
    await withStore({ connectionString, poolSize: 1 }, async (store, events) => {
      for (const [round, mode] of ["afterCommit", "beforeCommit", "afterCommit", "beforeCommit"].entries()) {
        proxy.mode = mode;
        const [{ stamp }] = await store.apply([append(`${round}`)]);
        assert.deepEqual([proxy.broken, stamp.version], [round + 1, round + 1]);
      }
      assert.deepEqual(await idsOf(store), ["0", "1", "2", "3"]);
      assert.ok(events.some(({ type }) => type === "storeReconnecting"));
      const { stamp } = await store.load("", where.key);
      proxy.mode = "afterCommit";
      const summary = { id: "s", body: "{}" };
      const compress = {
        ...where,
        kind: "compress",
        ...stamp,
        letGo: ["0"],
        forget: false,
        summary,
        digest: "",
        tokensSaved: 0,
      };
      assert.equal((await store.apply([compress]))[0].applied, true);
      assert.deepEqual(await idsOf(store), ["s", "1", "2", "3"]);
      // Cleared, and used again by somebody else before the first knows of it: what came after stays.
      proxy.mode = "afterCommit";
      await store.apply([{ ...where, kind: "clear" }]);
      await store.apply([append("new")]);
      assert.deepEqual(await idsOf(store), ["new"]);
    });
    proxy.close();
  });

  test("does not acknowledge what it cannot know", async () => {
    const proxy = await breakingProxy(server.port);
    const connectionString = (await server.newDatabase()).replace(/:\d+\//, `:${proxy.port}/`);
    await withStore({ connectionString, poolSize: 1, retryMs: 300 }, async (store) => {
      await store.apply([append("0")]);
      proxy.mode = "afterCommit";
      const unknown = failure(store.apply([append("1")]));
      while (proxy.broken === 0) await new Promise((resolve) => setImmediate(resolve));
      await server.end("SIGQUIT");
      assert.equal((await unknown).code, "ERR_STORE_UNCERTAIN");
      assert.equal((await failure(store.apply([append("2")]))).code, "ERR_DATABASE_UNAVAILABLE");
      await server.startAgain();
      assert.deepEqual(
        (await idsOf(store)).filter((id) => id !== "1"),
        ["0"],
      );
    });
    proxy.close();
  });

  test("loses nothing when the server is restarted under load", { timeout: 180_000 }, async () => {
    const url = await server.newDatabase();
    await withStore(url, () => {});
    const children = ["a", "b"].map((name) => {
      const child = fork(writer, [url, name, "100000"]);
      const acknowledged = [];
      const uncertain = [];
      child.on("message", (said) => {
        const [kind, n] = said.split(" ");
        if (kind === "ok") acknowledged.push(`${name} ${n}`);
        if (kind === "?") uncertain.push(`${name} ${n}`);
      });
      return { name, child, acknowledged, uncertain };
    });
    const progress = () => children.reduce((sum, { acknowledged }) => sum + acknowledged.length, 0);
    for (const signal of ["SIGINT", "SIGQUIT", "SIGINT", "SIGQUIT"]) {
      const before = progress();
      while (progress() < before + 50) await new Promise((resolve) => setTimeout(resolve, 20));
      await server.end(signal);
      await server.startAgain();
    }
    // And then the writers themselves are killed.
    const before = progress();
    while (progress() < before + 50) await new Promise((resolve) => setTimeout(resolve, 20));
    await Promise.all(
      children.map(({ child }) => {
        child.kill("SIGKILL");
        return once(child, "exit");
      }),
    );
    await withStore(url, async (store) => {
      for (const { name, acknowledged, uncertain } of children) {
        const stored = await idsOf(store, `"${name}"`);
        const order = stored.map((id) => Number(id.split(" ")[1]));
        assert.deepEqual(
          order,
          order.toSorted((x, y) => x - y),
          "in the order they were said",
        );
        const missing =
          new Set(acknowledged).difference?.(new Set(stored)) ??
          [...acknowledged].filter((id) => !stored.includes(id));
        assert.equal([...missing].length, 0, "none lost");
        assert.equal(new Set(stored).size, stored.length, "none twice");
        const known = new Set([...acknowledged, ...uncertain]);
        const unsaid = stored.filter((id) => !known.has(id));
        assert.ok(
          unsaid.length <= 1,
          "but for the one under way when the process was killed, all that is there was said",
        );
      }
    });
  });
});
