// ContextManager on Postgres: several processes' worth of managers share sessions, and none lies about them.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import sessions from "pi-strata/sessions";
import { PASSWORD, PostgresServer } from "./support/postgres.mjs";

const { ContextManager, PostgresStore } = sessions;
const user = (content) => ({ role: "user", content });
const contents = (messages) => messages.map(({ content }) => content);
const server = await PostgresServer.start();

describe("ContextManager on Postgres", {
  skip: server === undefined && "there is no Postgres for this machine",
}, () => {
  after(() => server?.remove());

  async function withManagers(count, options, work) {
    const store = await server.newDatabase();
    const managers = Array.from({ length: count }, () => new ContextManager({ store, ...options }));
    try {
      await work(managers, store);
    } finally {
      await Promise.all(managers.map((manager) => manager.close()));
    }
  }

  test("what one adds another finds, searches and lists", async () => {
    await withManagers(2, {}, async ([planner, evaluator]) => {
      await planner.getOrCreateContext("task", "You plan.");
      await evaluator.getOrCreateContext("task", "You evaluate.");
      await planner.addMessage("task", user("请修复数据库 timeout"));
      await planner.setMetadata("task", { goal: "ship" });
      await evaluator.setMetadata("task", { planId: "7" });
      const { messages, metadata } = await evaluator.getOrCreateContext("task");
      assert.deepEqual(contents(messages), ["You plan.", "请修复数据库 timeout"]);
      assert.deepEqual([metadata.goal, metadata.planId], ["ship", "7"]);
      const [hit] = await evaluator.search("数据库 time");
      assert.deepEqual([hit.sessionId, hit.message.content], ["task", "请修复数据库 timeout"]);
      const { sessions } = await planner.list();
      assert.deepEqual(
        sessions.map(({ sessionId }) => sessionId),
        ["task"],
      );
    });
  });

  test("of two that are over their limit one compresses, and nothing is said twice", async () => {
    await withManagers(2, { maxMessages: 20, maxCompressedMessages: 5 }, async (managers) => {
      const adding = managers.map(async (manager, who) => {
        for (let n = 0; n < 60; n += 1) await manager.addMessage("shared", user(`${who} ${n}`));
      });
      await Promise.all(adding);
      const [a, b] = await Promise.all(managers.map((manager) => manager.getOrCreateContext("shared")));
      assert.deepEqual(a.messages, b.messages);
      assert.ok(a.messages.length <= 21, `${a.messages.length} messages`);
      const { compressions } = await managers[0].getStats("shared");
      assert.ok(compressions > 0);
      const lines = [];
      for await (const line of managers[0].export("shared")) lines.push(line);
      for (let n = 0; n < 60; n += 1) {
        for (const who of [0, 1]) {
          const said = lines.filter((line) => line.includes(`"${who} ${n}"`));
          assert.equal(said.length, 1, `message ${n} of ${who}`);
        }
      }
    });
  });

  test("what is cleared stays gone", async () => {
    await withManagers(2, {}, async ([mine, yours]) => {
      await mine.getOrCreateContext("c", "You are A.");
      await mine.addMessage("c", user("card 4111"));
      await yours.getOrCreateContext("c");
      await mine.clearContext("c");
      await mine.getOrCreateContext("c", "You are B.");
      await mine.addMessage("c", user("hello"));
      const { messages } = await yours.getOrCreateContext("c");
      assert.deepEqual(contents(messages), ["You are B.", "hello"]);
      assert.deepEqual(await yours.search("card"), []);
    });
  });

  test("tenants do not see each other", async () => {
    await withManagers(1, { namespace: "a" }, async ([a], store) => {
      const b = new ContextManager({ store: new PostgresStore(store), namespace: "b" });
      await a.addMessage("s", user("of a"));
      await b.addMessage("s", user("of b"));
      assert.deepEqual(contents((await b.getOrCreateContext("s")).messages), ["of b"]);
      assert.deepEqual(await b.search("of a"), []);
      await b.clearContext("s");
      assert.deepEqual(contents((await a.getOrCreateContext("s")).messages), ["of a"]);
      await b.close();
    });
  });

  test("says what is wrong with the server, and never the password", async () => {
    const store = server.urlOf("nowhere");
    const events = [];
    const manager = new ContextManager({ store, onEvent: (event) => events.push(event) });
    const error = await manager.addMessage("s", user("a")).catch((reason) => reason);
    assert.equal(error.code, "ERR_DATABASE_CANNOT_OPEN");
    await assert.rejects(ContextManager.open({ store }), { code: "ERR_DATABASE_CANNOT_OPEN" });
    assert.ok(!JSON.stringify([events, error.message]).includes(PASSWORD));
    await manager.close();
  });
});
