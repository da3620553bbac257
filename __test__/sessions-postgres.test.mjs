// Sessions on Postgres by the host's own pool: many processes share them, and a server that restarts loses nothing that was
// acknowledged.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, describe, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import pg from "pg";
import sessions from "pi-strata/sessions";
import { breakingProxy } from "./support/breaking-proxy.mjs";
import { fieldsOf } from "./support/fields.mjs";
import { PASSWORD, PostgresServer } from "./support/postgres.mjs";

const { createSharedContextManager } = sessions;
const user = (content) => ({ role: "user", content });
const contents = async (manager, id) => (await manager.getMessages(id)).map(({ content }) => content);
const server = await PostgresServer.start({ fsync: "on" });

describe("a shared manager", {
  skip: server === undefined && "there is no Postgres for this machine",
}, () => {
  after(() => server?.remove());

  async function withManagers(count, options, work) {
    const url = await server.newDatabase();
    const pools = Array.from({ length: count }, () => new pg.Pool({ connectionString: url, max: 3 }));
    const managers = pools.map((pool) => createSharedContextManager({ pool, ...options }));
    try {
      await work(managers, pools, url);
    } finally {
      await Promise.all(pools.map((pool) => pool.ended || pool.end()));
    }
  }

  test("shows to others what one adds: a planner, an evaluator and an executor share one id", async () => {
    await withManagers(3, {}, async ([planner, evaluator, executor]) => {
      const contexts = await Promise.all([
        planner.getOrCreateContext("task", "You plan."),
        evaluator.getOrCreateContext("task", "You evaluate."),
        executor.getOrCreateContext("task"),
      ]);
      assert.ok(contexts.every(({ sessionId }) => sessionId === "task"));
      await planner.addMessage("task", user("请修复数据库 timeout"));
      await Promise.all([
        planner.setMetadata("task", { goal: "ship" }),
        evaluator.setMetadata("task", { planId: "7" }),
      ]);
      const { messages, metadata } = await executor.getOrCreateContext("task");
      assert.equal(messages.filter(({ role }) => role === "system").length, 1);
      assert.equal(messages.at(-1).content, "请修复数据库 timeout");
      assert.deepEqual([metadata.goal, metadata.planId], ["ship", "7"]);
      await planner.setSystemPrompt("task", "You execute.");
      assert.equal((await contents(executor, "task"))[0], "You execute.");
      const [{ sessionId, messages: count }] = await planner.listSessions();
      assert.deepEqual([sessionId, count], ["task", 2]);
    });
  });

  test("compresses for all, by rules or by a summariser, and loses no message", async () => {
    const summarize = async () => "short";
    for (const options of [{}, { summarize }]) {
      await withManagers(
        4,
        { maxMessages: 20, maxCompressedMessages: 5, ...options },
        async (managers, [pool]) => {
          const adding = managers.map(async (manager, who) => {
            for (let n = 0; n < 30; n += 1)
              await manager.addMessage("shared", { ...user(`${who} ${n}`), id: `${who}.${n}` });
          });
          await Promise.all(adding);
          // One compresses while the others go on.
          let lists = [];
          do {
            await managers[0].compressContext("shared");
            lists = await Promise.all(managers.map((manager) => manager.getMessages("shared")));
          } while (lists.some((list) => list.length > 21 || !isDeepStrictEqual(list, lists[0])));
          assert.equal(lists[0].filter(({ content }) => content.startsWith("[上下文总结]")).length, 1);
          const { compressions } = await managers[1].getStats("shared");
          assert.ok(compressions > 0);
          const { rows } = await pool.query(
            "SELECT id FROM strata_messages WHERE id LIKE '_.%' AND length(id) < 6",
          );
          assert.equal(new Set(rows.map(({ id }) => id)).size, 120);
        },
      );
    }
  });

  test("forgets what is cleared or deleted", async () => {
    await withManagers(2, {}, async ([mine, yours], [pool]) => {
      await mine.getOrCreateContext("c", "You are A.");
      await mine.addMessage("c", { ...user("card 41z11"), id: "card" });
      for (let n = 0; n < 60; n += 1) await mine.addMessage("c", user(`message ${n}`));
      assert.deepEqual(await yours.deleteMessages("c", ["card"]), ["card"]);
      const stored = async () =>
        JSON.stringify([
          (await pool.query("SELECT * FROM strata_sessions")).rows,
          (await pool.query("SELECT * FROM strata_messages")).rows,
        ]);
      assert.ok(!(await stored()).includes("41z11"));
      await mine.clearContext("c");
      assert.equal(await stored(), "[[],[]]");
    });
  });

  test("keeps odd ids and texts", async () => {
    const ids = ["x".repeat(1e5), "a\0b", "\ud800", "", "__proto__", "数".repeat(3000)];
    await withManagers(2, {}, async ([writer, reader]) => {
      for (const id of ids) {
        await writer.getOrCreateContext(id, "You are \0 and \ud800.");
        await writer.addMessage(id, user(`said \0 \udc00 in ${id.length}`));
      }
      for (const id of ids) {
        const texts = await contents(reader, id);
        assert.deepEqual(texts, ["You are \0 and \ud800.", `said \0 \udc00 in ${id.length}`]);
      }
      const listed = fieldsOf(await reader.listSessions(), "sessionId");
      assert.deepEqual(new Set(listed), new Set(ids));
    });
  });

  test("goes on when the server restarts or crashes, and keeps what was acknowledged", async () => {
    await withManagers(2, { maxMessages: 100_000, retryMs: 30_000 }, async ([manager, other]) => {
      // Its connection is idle when the server ends.
      await other.listSessions();
      const acknowledged = [];
      let isOver = false;
      const adding = (async () => {
        for (let n = 0; !isOver; n += 1) {
          await manager.addMessage("s", { ...user(`message ${n}`), id: `${n}` });
          acknowledged.push(`message ${n}`);
        }
      })();
      for (const signal of ["SIGINT", "SIGQUIT"]) {
        const before = acknowledged.length;
        while (acknowledged.length < before + 20) await new Promise((resolve) => setTimeout(resolve, 5));
        await server.end(signal);
        await server.startAgain();
      }
      const before = acknowledged.length;
      while (acknowledged.length < before + 20) await new Promise((resolve) => setTimeout(resolve, 5));
      isOver = true;
      await adding;
      assert.deepEqual(await contents(other, "s"), acknowledged, "each once, in order");
    });
  });

  test("adds a message once when the connection breaks during its commit, and never repeats a clear", async () => {
    const proxy = await breakingProxy(server.port);
    const connectionString = (await server.newDatabase()).replace(/:\d+\//, `:${proxy.port}/`);
    const pool = new pg.Pool({ connectionString, max: 1 });
    pool.on("error", () => {});
    const manager = createSharedContextManager({ pool });
    await manager.listSessions();
    for (const [round, mode] of ["afterCommit", "beforeCommit", "afterCommit"].entries()) {
      proxy.mode = mode;
      await manager.addMessage("s", user(`${round}`));
      assert.equal(proxy.broken, round + 1);
    }
    assert.deepEqual(await contents(manager, "s"), ["0", "1", "2"]);
    proxy.mode = "afterCommit";
    await assert.rejects(manager.clearContext("s"), { code: "ERR_DATABASE_UNCERTAIN" });
    assert.deepEqual(await contents(manager, "s"), []);
    await pool.end();
    proxy.close();
  });

  test("says whether anything may be stored when the pool's own time is up", async (t) => {
    await withManagers(1, {}, async ([other], _, url) => {
      const pool = new pg.Pool({ connectionString: url, query_timeout: 200 });
      const lock = new pg.Client(url);
      t.after(() => Promise.all([pool.end(), lock.end()]));
      await lock.connect();
      const manager = createSharedContextManager({ pool });
      await manager.addMessage("s", user("first"));
      await lock.query("BEGIN; UPDATE strata_sessions SET updated_at = updated_at");
      await assert.rejects(manager.addMessage("s", user("locked out")), { code: "ERR_DATABASE_TIMEOUT" });
      await lock.query("COMMIT");
      await server.query(
        `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(2); RETURN NULL; END';
         CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON strata_messages DEFERRABLE INITIALLY DEFERRED
         FOR EACH ROW EXECUTE FUNCTION slow()`,
        url,
      );
      await assert.rejects(manager.addMessage("s", user("second")), { code: "ERR_DATABASE_UNCERTAIN" });
      await other.setMetadata("s", {});
      assert.deepEqual(await contents(other, "s"), ["first", "second"]);
    });
  });

  test("makes its tables once, however many begin at once", async () => {
    await withManagers(12, {}, async (managers, [pool]) => {
      await Promise.all(managers.map((manager) => manager.addMessage("s", user("a"))));
      assert.deepEqual((await pool.query("SELECT version FROM strata_meta")).rows, [{ version: 1 }]);
      assert.equal((await contents(managers[1], "s")).length, 12);
    });
  });

  test("goes on after somebody has dropped its tables", async () => {
    await withManagers(1, {}, async ([manager], [pool]) => {
      for (const work of [() => manager.getMessages("s"), () => manager.addMessage("s", user("after"))]) {
        await manager.addMessage("s", user("before"));
        await pool.query("DROP TABLE strata_messages, strata_sessions, strata_meta");
        await work();
      }
      assert.deepEqual(await contents(manager, "s"), ["after"]);
    });
  });

  test("opens a session by its own write where reads come from a replica that lags", async () => {
    await withManagers(0, {}, async (_, __, url) => {
      const pool = new pg.Pool({ connectionString: url });
      const connect = pool.connect.bind(pool);
      let reads = 0;
      pool.connect = async () => {
        const client = await connect();
        const query = (sql, values) => {
          if (!sql.startsWith("SELECT session_id")) return client.query(sql, values);
          reads += 1;
          assert.ok(reads <= 2, "reads again and again");
          return { rows: [] };
        };
        return { query, release: (error) => client.release(error) };
      };
      const manager = createSharedContextManager({ pool });
      for (const id of ["s", "s"]) {
        const { messages, metadata } = await manager.getOrCreateContext(id, "You plan.");
        assert.deepEqual([messages.length, messages[0].content], [1, "You plan."]);
        assert.equal(typeof metadata.createdAt, "string");
      }
      await pool.end();
    });
  });

  test("gives up a server that speaks nonsense or nothing", async () => {
    for (const answer of ["HTTP/1.1 400 Bad Request\r\n\r\n", "R\0\0\0"]) {
      const other = createServer((socket) => socket.on("error", () => {}).end(answer));
      other.listen(0, "127.0.0.1");
      await once(other, "listening");
      const pool = new pg.Pool({ host: "127.0.0.1", port: other.address().port });
      const manager = createSharedContextManager({ pool, retryMs: 0 });
      await assert.rejects(manager.getMessages("s"), { code: "ERR_DATABASE_UNAVAILABLE" });
      other.close();
    }
  });

  test("says with a code what is wrong, and never the password", async () => {
    const failing = async (pool, code) => {
      const manager = createSharedContextManager({ pool, retryMs: 100 });
      const error = await manager.addMessage("s", user("a")).catch((reason) => reason);
      assert.equal(error.code, code, error.stack);
      assert.ok(!JSON.stringify([error, error.message, error.stack]).includes(decodeURIComponent(PASSWORD)));
      await pool.end().catch(() => {});
    };
    await failing(new pg.Pool({ connectionString: server.urlOf("nowhere") }), "ERR_DATABASE_CANNOT_OPEN");
    await failing(
      new pg.Pool({ connectionString: server.urlOf("postgres", "strata", "wrong") }),
      "ERR_DATABASE_AUTH",
    );
    for (const host of ["127.0.0.1", "localhost", "nowhere.invalid"])
      await failing(new pg.Pool({ host, port: 1 }), "ERR_DATABASE_UNAVAILABLE");
    const ended = new pg.Pool({ connectionString: server.url });
    await ended.end();
    await failing(ended, "ERR_DATABASE_CLOSED");
    for (const foreign of [
      "CREATE TABLE strata_sessions (id int)",
      "CREATE TABLE strata_messages (session_id text, body text)",
    ]) {
      const url = await server.newDatabase();
      await server.query(foreign, url);
      await failing(new pg.Pool({ connectionString: url }), "ERR_DATABASE_FOREIGN");
      const tables = await server.query(
        "SELECT relname FROM pg_class WHERE relname LIKE 'strata%' AND relkind = 'r'",
        url,
      );
      assert.equal(tables.length, 1, "nothing was made beside it");
    }
    await withManagers(1, {}, async ([manager], [pool]) => {
      await manager.listSessions();
      await pool.query("UPDATE strata_meta SET version = 9");
      await failing(new pg.Pool(pool.options), "ERR_DATABASE_VERSION");
    });
    for (const pool of [undefined, null, 7, {}, "postgres://x", new pg.Client(server.url)])
      assert.throws(() => createSharedContextManager({ pool }), {
        name: "TypeError",
        code: "ERR_DATABASE_HANDLE",
        message: /Pool of the package pg/,
      });
  });

  test("takes a pool that reads integers as BigInts or as text", async () => {
    for (const read of [BigInt, String]) {
      const ownTypes = (oid) => ([20, 23].includes(oid) ? read : pg.types.getTypeParser(oid));
      const connectionString = await server.newDatabase();
      const pool = new pg.Pool({ connectionString, types: { getTypeParser: ownTypes } });
      const manager = createSharedContextManager({ pool });
      await manager.getOrCreateContext("s", "Be brief.");
      for (let n = 0; n < 60; n += 1) await manager.addMessage("s", user(`message ${n}`));
      const [{ messages }] = await manager.listSessions();
      assert.deepEqual([messages, messages <= 50], [(await manager.getMessages("s")).length, true]);
      assert.deepEqual((await contents(manager, "s")).at(-1), "message 59");
      await pool.end();
    }
  });

  test("lets a user read who may not write, and says what he may not", async () => {
    await withManagers(1, {}, async ([manager], [pool], url) => {
      await manager.addMessage("s", user("hello"));
      await pool.query("DROP ROLE IF EXISTS reader");
      await pool.query("CREATE ROLE reader LOGIN PASSWORD 'reader'");
      await pool.query("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
      const reading = new pg.Pool({ connectionString: url.replace(/\/\/[^@]+@/, "//reader:reader@") });
      const reader = createSharedContextManager({ pool: reading });
      assert.deepEqual(await contents(reader, "s"), ["hello"]);
      await assert.rejects(reader.addMessage("s", user("a")), { code: "ERR_DATABASE_PERMISSION" });
      await reading.end();
    });
  });

  test("stores in the order of the calls, whether anybody waits for them or not", async () => {
    await withManagers(1, {}, async ([manager]) => {
      const adding = Array.from({ length: 40 }, (_, n) => manager.addMessage("s", user(`message ${n}`)));
      assert.equal((await manager.getMessages("s")).length, 40, "a read waits for the writes before it");
      const failing = manager.addMessage("s", { ...user("a"), id: "x".repeat(129) });
      const clearing = manager.clearContext("s");
      adding.push(manager.addMessage("s", user("after")));
      await assert.rejects(failing, TypeError);
      await assert.rejects(manager.getMessages(7), TypeError);
      assert.throws(() => manager.setMaxMessages(0), TypeError);
      await Promise.all([...adding, clearing]);
      assert.deepEqual(await contents(manager, "s"), ["after"]);
    });
  });
});
