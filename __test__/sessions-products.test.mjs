// What products build of sessions: asking a model, lists, deleting, retention, export and import, limits in tokens,
// images, and hosts with many tenants.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { ContextManager, toAgentMessages } from "pi-strata/sessions";
import { calls, result, says, user } from "./support/said.mjs";

const folder = mkdtempSync(join(tmpdir(), "pi-strata-products-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.db`);
const contents = async (manager, id) => (await manager.getMessages(id)).map(({ content }) => content);
async function addAll(manager, id, messages) {
  for (const message of messages) await manager.addMessage(id, message);
}

for (const [kind, options] of [
  ["in memory", () => ({})],
  ["in a file", () => ({ store: newFile() })],
]) {
  describe(kind, () => {
    test("asking a model keeps question and answer, or neither", async () => {
      const manager = await ContextManager.open(options());
      await manager.getOrCreateContext("s", "Be brief.");
      const asked = [];
      const complete = async (messages, { sessionId }) => {
        asked.push([sessionId, ...messages.map(({ content }) => content)]);
        return { role: "assistant", content: [{ type: "text", text: `answer ${asked.length}` }] };
      };
      assert.equal(await manager.ask("s", "one?", complete), "answer 1");
      await assert.rejects(
        manager.ask("s", "two?", async () => {
          throw new Error("offline");
        }),
        /offline/,
      );
      assert.equal(await manager.ask("s", "three?", complete), "answer 2");
      assert.deepEqual(asked[1], ["s", "Be brief.", "one?", "answer 1", "three?"]);
      await assert.rejects(
        manager.ask("s", "four?", async () => 7),
        /complete must return/,
      );
      assert.equal((await contents(manager, "s")).length, 5);
      await manager.close();
    });

    test("sessions are listed page by page, in either order, with what is known of them", async () => {
      const manager = new ContextManager(options());
      for (const id of ["a", "b", "c", "d", "e"]) {
        await manager.addMessage(id, user(id));
        await pause(3);
      }
      await manager.setMetadata("b", { goal: "ship", planId: "p" });
      await manager.setMetadata("b", { planId: null });
      const ids = async (order) => {
        const found = [];
        for (let cursor; ; ) {
          const page = await manager.list({ order, limit: 2, cursor });
          found.push(...page.sessions);
          if (page.cursor === undefined) return found;
          cursor = page.cursor;
        }
      };
      const created = await ids("created");
      assert.deepEqual(
        created.map(({ sessionId }) => sessionId),
        ["a", "b", "c", "d", "e"],
      );
      assert.deepEqual(
        (await ids("updated")).map(({ sessionId }) => sessionId),
        ["b", "e", "d", "c", "a"],
      );
      const { messages, metadata } = created[1];
      assert.deepEqual([messages, metadata.goal, "planId" in metadata], [1, "ship", false]);
      for (const time of [metadata.createdAt, metadata.updatedAt])
        assert.equal(new Date(time).toISOString(), time);
      await assert.rejects(manager.list({ cursor: "nonsense" }), { code: "ERR_BAD_CURSOR" });
      await assert.rejects(manager.list({ order: "random" }), TypeError);
      await manager.close();
    });

    test("messages are deleted for good, a call with its results", async () => {
      const manager = new ContextManager(options());
      await addAll(manager, "s", [user("card 4111"), calls("1", "ls"), result("1", "fine"), says("done")]);
      const [card, call] = await manager.getMessages("s");
      assert.equal((await manager.deleteMessages("s", [card.id, call.id, "unknown"])).length, 4);
      assert.deepEqual(await contents(manager, "s"), ["done"]);
      assert.deepEqual(await manager.search("4111"), []);
      await assert.rejects(manager.deleteMessages("s", "x"), TypeError);
      await manager.close();
    });

    test("what is old is pruned, what is new stays", async () => {
      const manager = new ContextManager(options());
      await manager.addMessage("old", user("a"));
      await pause(5);
      const between = Date.now();
      // The age that is asked for below is counted back from when prune looks at the clock, a little later.
      await pause(1000);
      await manager.addMessage("new", user("b"));
      assert.deepEqual(await manager.prune({ maxAgeDays: 1 }), { sessions: 0, messages: 0 });
      assert.deepEqual(await manager.prune({ maxAgeDays: (Date.now() - between) / 86_400_000 }), {
        sessions: 1,
        messages: 1,
      });
      assert.deepEqual(
        (await manager.list()).sessions.map(({ sessionId }) => sessionId),
        ["new"],
      );
      assert.deepEqual([await contents(manager, "old"), await contents(manager, "new")], [[], ["b"]]);
      await assert.rejects(manager.prune({}), TypeError);
      await manager.close();
    });

    test("a session goes out as lines and comes in as it was", async () => {
      const from = new ContextManager(options());
      await from.getOrCreateContext("s \ud800", "Be brief.");
      await from.setMetadata("s \ud800", { goal: "ship" });
      await addAll(from, "s \ud800", [
        calls("1", "ls"),
        result("1", "a\0b"),
        ...Array.from({ length: 60 }, (_, n) => user(`m ${n}`)),
      ]);
      await from.addMessage("t", user("other"));
      const lines = [];
      for await (const line of from.export()) lines.push(line);
      assert.ok(lines.every((line) => line.endsWith("\n") && JSON.parse(line)));
      const to = new ContextManager(options());
      await to.addMessage("t", user("was here before"));
      const text = lines.join("");
      // In pieces that fit no line.
      const pieces = text.match(/.{1,37}/gsu).map((piece) => Buffer.from(piece));
      const done = await to.import(pieces);
      assert.deepEqual([done.sessions, done.skipped], [1, ["t"]]);
      assert.deepEqual(await to.getMessages("s \ud800"), await from.getMessages("s \ud800"));
      assert.deepEqual(await to.getStats("s \ud800"), await from.getStats("s \ud800"));
      assert.equal((await to.getOrCreateContext("s \ud800")).metadata.goal, "ship");
      assert.deepEqual(await contents(to, "t"), ["was here before"]);
      await to.addMessage("s \ud800", user("next"));
      assert.equal((await to.getMessages("s \ud800")).at(-1).content, "next");
      for (const [bad, line] of [
        ["{}\n", 1],
        [`${lines[0]}nonsense`, 2],
        [`${lines[0]}{"message":{}}`, 2],
      ]) {
        await assert.rejects(to.import(bad), (error) => error instanceof TypeError && error.line === line);
      }
      await Promise.all([from.close(), to.close()]);
    });

    test("tokens bound a session beside messages", async () => {
      const manager = new ContextManager({ ...options(), maxTokens: 2000 });
      for (let n = 0; n < 40; n += 1) await manager.addMessage("s", user(`${n} ${"word ".repeat(200)}`));
      const { tokens, messages, compressions } = await manager.getStats("s");
      assert.ok(tokens <= 2000 && messages < 12 && compressions > 5, JSON.stringify({ tokens, messages }));
      assert.match((await contents(manager, "s")).at(-1), /^39 /);
      assert.throws(() => new ContextManager({ maxTokens: 100, maxCompressedTokens: 100 }), TypeError);
      await manager.close();
    });

    test("images stay, and go to an agent", async () => {
      const given = options();
      const manager = new ContextManager(given);
      const blocks = [
        { type: "text", text: "What is this?" },
        { type: "image", data: "aGk=", mimeType: "image/png" },
      ];
      await manager.addMessage("s", { role: "user", content: blocks });
      await manager.addMessage("s", { role: "user", content: blocks.slice(0, 1) });
      const [shown, plain] = await manager.getMessages("s");
      assert.deepEqual(
        [shown.content, shown.blocks, plain.blocks],
        ["What is this?\n[image]", blocks, undefined],
      );
      assert.deepEqual(toAgentMessages([shown])[0].content, blocks);
      assert.ok((await manager.getStats("s")).tokens > 1200);
      await manager.close();
      if (given.store === undefined) return;
      const again = new ContextManager(given);
      assert.deepEqual(await again.getMessages("s"), [shown, plain]);
      await again.close();
    });

    test("a prompt is set, and replaced", async () => {
      const manager = new ContextManager(options());
      await manager.addMessage("s", user("hello"));
      await manager.setSystemPrompt("s", "You are A.");
      await manager.setSystemPrompt("s", "You are B.");
      assert.deepEqual(await contents(manager, "s"), ["You are B.", "hello"]);
      await assert.rejects(manager.setSystemPrompt("s"), TypeError);
      await manager.close();
    });

    test("a message of one id is kept once", async () => {
      const manager = new ContextManager(options());
      for (let n = 0; n < 3; n += 1) await manager.addMessage("s", { ...user("a"), id: "request-1" });
      assert.deepEqual(await contents(manager, "s"), ["a"]);
      await manager.close();
    });
  });
}

test("namespaces never meet", async () => {
  const store = newFile();
  const [one, two] = ["one", "two"].map((namespace) => new ContextManager({ store, namespace }));
  await Promise.all([one.addMessage("s", user("secret of one")), two.addMessage("s", user("secret of two"))]);
  assert.deepEqual(
    [await contents(one, "s"), await contents(two, "s")],
    [["secret of one"], ["secret of two"]],
  );
  assert.equal((await one.search("secret")).length, 1);
  await one.clearContext("s");
  assert.deepEqual(
    [
      (await one.list()).sessions.map(({ sessionId }) => sessionId),
      (await two.list()).sessions.map(({ sessionId }) => sessionId),
    ],
    [[], ["s"]],
  );
  assert.throws(() => new ContextManager({ namespace: "a\0b" }), TypeError);
  await Promise.all([one.close(), two.close()]);
});

test("a store of one's own takes the place of any other", async () => {
  const { SqliteStore } = await import("../lib/sessions/store/sqlite.js");
  const inner = new SqliteStore(newFile());
  const methods = ["open", "apply", "load", "stamp", "read", "list", "search", "prune", "close"];
  const store = { engine: "mine", parallel: 3 };
  for (const method of methods) store[method] = (...given) => inner[method](...given);
  const manager = new ContextManager({ store });
  await manager.getOrCreateContext("s", "Be brief.");
  await Promise.all(Array.from({ length: 60 }, (_, n) => manager.addMessage("s", user(`m ${n}`))));
  assert.ok((await manager.getMessages("s")).length <= 50);
  const other = new ContextManager({ store: inner });
  assert.deepEqual(await other.getMessages("s"), await manager.getMessages("s"));
  await other.addMessage("s", user("from elsewhere"));
  assert.equal((await manager.getOrCreateContext("s")).messages.at(-1).content, "from elsewhere");
  await other.addMessage("s", user("again"));
  await manager.addMessage("s", user("own"));
  assert.deepEqual((await contents(manager, "s")).slice(-3), ["from elsewhere", "again", "own"]);
  assert.equal((await manager.search("elsewhere")).length, 1);
  await manager.clearContext("s");
  assert.deepEqual(await contents(manager, "s"), []);
  await manager.close();
});
