// Ids and texts that no database likes (a megabyte, NUL, half a surrogate pair, names of Object.prototype) go through every
// door of a session and come back as they were, on every store; what is no import and no cursor is refused.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import sessions from "pi-strata/sessions";
import { PostgresServer } from "./support/postgres.mjs";

const { ContextManager } = sessions;
const folder = mkdtempSync(join(tmpdir(), "pi-strata-odd-"));
const server = await PostgresServer.start();
after(async () => {
  rmSync(folder, { recursive: true });
  await server?.remove();
});
let files = 0;
const STORES = {
  "in memory": [async () => ({}), false],
  "in a file": [async () => ({ store: join(folder, `${++files}.db`) }), false],
  "on Postgres": [
    async () => ({ store: await server.newDatabase() }),
    server === undefined && "there is no Postgres for this machine",
  ],
};
const IDS = [
  "x".repeat(1e6),
  "数".repeat(3e5),
  "a\0b",
  "\ud800",
  "\udfff\ud800",
  "",
  "__proto__",
  "constructor",
];
const PROMPT = "You are \0 and \ud800.";
const GOAL = "ship \0 \udfff";
const said = (id) => `said \0 \udc00 in ${id.length} units`;

async function linesOf(manager) {
  const lines = [];
  for await (const line of manager.export()) lines.push(line);
  return lines;
}

for (const [name, [options, skip]] of Object.entries(STORES)) {
  describe(name, { skip }, () => {
    test("odd ids and texts come back as they were", async () => {
      const given = await options();
      const writer = new ContextManager(given);
      for (const id of IDS) {
        await writer.getOrCreateContext(id, PROMPT);
        await writer.addMessage(id, { role: "user", content: said(id) });
        await writer.setMetadata(id, { goal: GOAL });
      }
      const reader = given.store === undefined ? writer : new ContextManager(given);
      for (const id of IDS) {
        const { messages, metadata } = await reader.getOrCreateContext(id);
        assert.deepEqual(
          messages.map(({ content }) => content),
          [PROMPT, said(id)],
        );
        assert.equal(metadata.goal, GOAL);
        const [hit, ...others] = await reader.search("said", { sessionId: id });
        assert.deepEqual([hit.sessionId, hit.message.content, others], [id, said(id), []]);
      }
      const listed = [];
      let cursor;
      do {
        const page = await reader.list({ limit: 3, cursor });
        listed.push(...page.sessions.map(({ sessionId }) => sessionId));
        cursor = page.cursor;
      } while (cursor !== undefined);
      assert.deepEqual(listed, IDS);
      const lines = await linesOf(reader);
      const copy = new ContextManager({ ...(await options()), namespace: "copy" });
      const { sessions, skipped } = await copy.import(lines.join(""));
      assert.deepEqual([sessions, skipped], [IDS.length, []]);
      assert.deepEqual(await linesOf(copy), lines);
      assert.deepEqual((await copy.import(lines)).skipped, IDS);
      await Promise.all(IDS.map((id) => reader.clearContext(id)));
      assert.deepEqual([(await reader.list()).sessions, await reader.search("said")], [[], []]);
      await Promise.all([writer, reader, copy].map((manager) => manager.close()));
    });

    test("what is no import and no cursor is refused", async () => {
      const manager = new ContextManager(await options());
      const session = '{"format":"pi-strata-session","version":1,"sessionId":"s"}';
      const message = '{"message":{"id":"1","role":"user","content":"a"},"seq":0,"place":1,"isLive":true}';
      for (const text of [
        "{",
        "[]",
        '{"format":"x"}',
        '{"message":{}}',
        session.replace("1", "9"),
        `${session}\n${message}`,
      ]) {
        await assert.rejects(manager.import(text), { name: "TypeError", message: /^import: line \d/ }, text);
      }
      for (const cursor of ["garbage", "", "1.2.3", "99999999999999999999.1", "\0"]) {
        await assert.rejects(manager.list({ cursor }), { code: "ERR_BAD_CURSOR" }, JSON.stringify(cursor));
      }
      assert.deepEqual((await manager.list()).sessions, []);
      await manager.close();
    });
  });
}

test("a store that is undefined is refused: a connection string that is not set is no wish for memory", () => {
  assert.throws(() => new ContextManager({ store: undefined }), /option store is undefined/);
  new ContextManager({}).close();
});

test("a summary with half a surrogate pair is mended and compresses", async () => {
  const half = "\ud83d";
  const manager = new ContextManager({
    store: join(folder, `${++files}.db`),
    maxMessages: 8,
    maxCompressedMessages: 3,
    summarize: async () => `what was done ${half}`,
  });
  for (let i = 0; i < 9; i += 1) await manager.addMessage("s", { role: "user", content: `message ${i}` });
  const { compressions } = await manager.getStats("s");
  assert.ok(compressions > 0);
  const texts = (await manager.getMessages("s")).map(({ content }) => content);
  assert.ok(texts.some((text) => text.includes("what was done \ufffd")) && !texts.join().includes(half));
  await manager.close();
});

test("many clears at once listen for the end of the process once", async () => {
  const manager = new ContextManager({ store: join(folder, `${++files}.db`) });
  const before = process.listenerCount("exit");
  await Promise.all(
    Array.from({ length: 20 }, (_, i) => manager.addMessage(`s${i}`, { role: "user", content: "hello" })),
  );
  const clears = Array.from({ length: 20 }, (_, i) => manager.clearContext(`s${i}`));
  assert.ok(process.listenerCount("exit") <= before + 1, `${process.listenerCount("exit")} listeners`);
  await Promise.all(clears);
  assert.equal(process.listenerCount("exit"), before);
  await manager.close();
});
