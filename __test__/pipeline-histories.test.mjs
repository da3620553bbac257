// A pipeline on histories as hosts have them: tool calls and images, tables of their own, rows that are no messages,
// bookkeeping that cannot be written; in SQLite and on a real Postgres server.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import pipeline from "pi-strata/pipeline";
import { toOpenAIMessages } from "pi-strata/sessions";
import { PostgresServer } from "./support/postgres.mjs";

const { Pipeline, PostgresProvider, SimpleCompressor, SqliteProvider } = pipeline;
const folder = mkdtempSync(join(tmpdir(), "pi-strata-histories-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const user = (content) => ({ role: "user", content });
const contents = (messages) => messages.map(({ content }) => content);
const image = { type: "image", mimeType: "image/png", data: "AAAA" };
const turn = [
  { role: "assistant", content: "", toolCalls: [{ id: "1", name: "read", arguments: { path: "a" } }] },
  { role: "tool", content: "text", toolCallId: "1", isError: true },
  { role: "user", content: "look", blocks: [{ type: "text", text: "look" }, image] },
];
const server = await PostgresServer.start();
after(() => server?.remove());

let files = 0;
const engines = {
  SqliteProvider: {
    place: async () => join(folder, `${++files}.db`),
    open: (place, options) => new SqliteProvider(place, options),
    /** Another program's statements. */
    run: async (place, sql) => {
      const { DatabaseSync } = await import("node:sqlite");
      const database = new DatabaseSync(place);
      try {
        return sql.startsWith("SELECT") ? database.prepare(sql).all() : void database.exec(sql);
      } finally {
        database.close();
      }
    },
    id: "id INTEGER PRIMARY KEY",
    lock: "BEGIN IMMEDIATE",
  },
  PostgresProvider: {
    place: () => server.newDatabase(),
    open: (place, options) => new PostgresProvider({ connectionString: place, poolSize: 3, ...options }),
    run: (place, sql) => server.query(sql, place),
    id: "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
  },
};
const hasSqlite = await import("node:sqlite").then(
  () => true,
  () => false,
);

for (const [name, engine] of Object.entries(engines)) {
  const isMissing = name === "PostgresProvider" ? server === undefined : !hasSqlite;
  const skip = isMissing && "the database is not on this machine";

  describe(name, { skip: name === "PostgresProvider" && skip }, () => {
    test("gives back calls, answers, images and odd text as they were", async () => {
      const provider = engine.open(await engine.place());
      const odd = ["a\0b", "😀", "\\ ' \" {} $1", ""].map(user);
      const messages = [...turn, ...odd];
      const ids = await Promise.all(messages.map((message) => provider.append("chat a", message)));
      assert.deepEqual(
        ids,
        ids.toSorted((a, b) => a - b),
      );
      assert.deepEqual(await provider.getHistory("chat a", 50), messages);
      assert.deepEqual(await provider.getHistory("chat a", 2), messages.slice(-2));
      assert.deepEqual(await provider.getHistory("chat b", 50), []);
      await provider.close();
    });

    test("names chats by numbers and texts", async () => {
      const provider = engine.open(await engine.place());
      const names = [42, -100123456789, "042", "4e1", "chat:1", "'; DROP TABLE history; --", "聊天"];
      for (const chatId of names) await provider.append(chatId, user(`${chatId}`));
      for (const chatId of names)
        assert.deepEqual(contents(await provider.getHistory(chatId, 9)), [`${chatId}`]);
      assert.deepEqual(
        contents(await provider.getHistory("42", 9)),
        ["42"],
        "a text that writes a number is it",
      );
      await provider.close();
    });

    test("many at once are stored in their order", async () => {
      const provider = engine.open(await engine.place());
      const texts = Array.from({ length: 3000 }, (_, i) => `${i}`);
      await Promise.all(texts.map((text) => provider.append(1, user(text))));
      assert.deepEqual(contents(await provider.getHistory(1, 5000)), texts);
      await provider.close();
    });

    test("loads a process's whole history again", async () => {
      const place = await engine.place();
      const first = engine.open(place);
      first.append(1, turn[0]).catch(() => {});
      await first.close();
      const second = engine.open(place);
      assert.deepEqual(await second.getHistory(1, 9), [turn[0]]);
      await second.close();
    });

    test("uses tables of the host's, by their names", { skip }, async () => {
      const place = await engine.place();
      await engine.run(
        place,
        `CREATE TABLE chat_log(${engine.id}, chat_id bigint, role text, text text, seen int DEFAULT 0)`,
      );
      await engine.run(place, "INSERT INTO chat_log(chat_id, role, text) VALUES (5, 'user', 'before')");
      await engine.run(
        place,
        `CREATE TABLE events(${engine.id}, event_type text, payload text, chat_id bigint)`,
      );
      const events = [];
      const provider = engine.open(place, {
        historyTable: "chat_log",
        onEvent: (event) => events.push(event),
      });
      await provider.append(5, user("after"));
      assert.deepEqual(contents(await provider.getHistory(5, 9)), ["before", "after"]);
      const results = await Promise.allSettled([
        provider.append(5, turn[0]),
        provider.append(5, user("more")),
      ]);
      assert.equal(results[0].reason.code, "ERR_DATABASE_FOREIGN");
      assert.match(results[0].reason.message, /ALTER TABLE .*chat_log.* ADD COLUMN extra/i);
      assert.equal(results[1].status, "fulfilled", "one that does not fit takes no other with it");
      const pipeline = new Pipeline({ provider, compressor: new SimpleCompressor({ maxMessages: 1 }) });
      assert.deepEqual(contents(await pipeline.prepare(5, "", "q")), ["more", "q"]);
      await provider.close();
      const [row] = await engine.run(place, "SELECT chat_id, event_type, payload FROM events");
      assert.deepEqual([Number(row.chat_id), row.event_type], [5, "context.compressed"]);
      assert.equal(JSON.parse(row.payload).original_count, 3);
      assert.deepEqual(events, []);
    });

    test("passes over rows that are no messages, and says so", { skip }, async () => {
      const place = await engine.place();
      await engine.run(
        place,
        `CREATE TABLE history(${engine.id}, chat_id bigint, role text, text text, extra text)`,
      );
      await engine.run(
        place,
        `INSERT INTO history(chat_id, role, text, extra) VALUES (1, 'user', 'a', NULL), (1, NULL, 'b', NULL),
          (1, 'user', NULL, NULL), (1, 'assistant', 'd', '{broken'), (1, 'user', 'e', NULL)`,
      );
      const events = [];
      const provider = engine.open(place, { onEvent: (event) => events.push(event) });
      assert.deepEqual(contents(await provider.getHistory(1, 9)), ["a", "e"]);
      assert.deepEqual(
        events.map(({ type, rows, chatId }) => [type, rows, chatId]),
        [["rows_skipped", 3, 1]],
      );
      await provider.close();
    });

    test("an events table that cannot be written never fails a task", { skip }, async () => {
      const place = await engine.place();
      await engine.run(place, `CREATE TABLE events(${engine.id}, what text NOT NULL)`);
      const provider = engine.open(place);
      await Promise.all(["a", "b", "c"].map((text) => provider.append(1, user(text))));
      const events = [];
      const compressor = new SimpleCompressor({ maxMessages: 2 });
      const onEvent = (event) => events.push(event);
      const pipeline = new Pipeline({ provider, compressor, onEvent });
      assert.deepEqual(contents(await pipeline.prepare(1, "", "q")), ["b", "c", "q"]);
      await provider.close();
      assert.deepEqual(
        events.map(({ type, code }) => [type, code]),
        [["recordFailed", "ERR_DATABASE_FOREIGN"]],
      );
    });
  });
}

describe("Pipeline", () => {
  const provider = (history, more) => ({
    asked: [],
    async getHistory(_chatId, limit) {
      this.asked.push(limit);
      return history.slice(-limit);
    },
    ...more,
  });

  test("reads what its compressor keeps, and more", async () => {
    const history = Array.from({ length: 200 }, (_, i) => user(`${i}`));
    const from = provider(history);
    const messages = await new Pipeline({
      provider: from,
      compressor: new SimpleCompressor({ maxMessages: 100 }),
    }).prepare(1, "", "q");
    assert.equal(messages.length, 101);
    assert.ok(from.asked[0] > 100);
    const usual = provider(history);
    await new Pipeline({ provider: usual, compressor: new SimpleCompressor() }).prepare(1, "", "q");
    assert.deepEqual(usual.asked, [50]);
  });

  test("waits for no bookkeeping, whatever becomes of it", async () => {
    const history = Array.from({ length: 20 }, (_, i) => user(`${i}`));
    const compressor = new SimpleCompressor({ maxMessages: 3 });
    const hanging = provider(history, { recordCompression: () => new Promise(() => {}) });
    assert.equal((await new Pipeline({ provider: hanging, compressor }).prepare(1, "", "q")).length, 4);
    const heard = [];
    const recorder = provider(history, { recordCompression: async (...given) => heard.push(given) });
    await new Pipeline({ provider: recorder, compressor }).prepare("chat", "", "q");
    assert.equal(heard[0][1], "chat");
    const throwing = provider(history, {
      recordCompression() {
        throw new Error("no");
      },
    });
    const warned = new Promise((resolve) => process.once("warning", resolve));
    await new Pipeline({ provider: throwing, compressor }).prepare(1, "", "q");
    assert.match((await warned).message, /was not recorded/);
  });
});

test("SimpleCompressor never parts a call from its answers", () => {
  const id = fc.constantFrom("1", "2", "3");
  const any = fc.oneof(
    fc.constantFrom(user("u"), { role: "assistant", content: "a" }),
    fc.uniqueArray(id, { minLength: 1 }).map((ids) => ({
      role: "assistant",
      content: "",
      toolCalls: ids.map((call) => ({ id: call, name: "f", arguments: {} })),
    })),
    id.map((call) => ({ role: "tool", content: "result", toolCallId: call })),
  );
  fc.assert(
    fc.property(fc.array(any, { maxLength: 20 }), fc.integer({ min: 1, max: 8 }), (messages, maxMessages) => {
      const kept = new SimpleCompressor({ maxMessages }).compress(messages);
      let open = new Set();
      for (const message of toOpenAIMessages(kept)) {
        if (message.role === "tool")
          assert.ok(open.delete(message.tool_call_id), "answers follow their call");
        else {
          assert.equal(open.size, 0, "every call is answered before anybody speaks");
          open = new Set(message.tool_calls?.map((call) => call.id));
        }
      }
      assert.equal(open.size, 0);
      const isWhole = messages.every(({ role, toolCalls }) => role !== "tool" && toolCalls === undefined);
      if (isWhole) assert.equal(kept.length, Math.min(messages.length, maxMessages));
    }),
  );
  const call = turn[0];
  const long = [user("q"), call, turn[1], user("z")];
  assert.deepEqual(new SimpleCompressor({ maxMessages: 2 }).compress(long), [call, turn[1], user("z")]);
});
