// The pipeline as its first host wrote it down, a test for each sentence and in that order, on SQLite and on a real Postgres server;
// then histories as hosts have them, and the compressor's promises.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import pg from "pg";
import {
  Pipeline,
  PostgresProvider,
  pipelineConfigFromEnv,
  SimpleCompressor,
  SqliteProvider,
  StandardAssembler,
} from "pi-strata/pipeline";
import { fromOpenAIMessages, toOpenAIMessages } from "pi-strata/sessions";
import { PostgresServer } from "./support/postgres.mjs";
import { open } from "./support/sqlite.mjs";
import { table } from "./support/tables.mjs";

const user = (content) => ({ role: "user", content });
const contents = (messages) => messages.map(({ content }) => content);
/** A pipeline whose compressor has these bounds. */
const pipelineOf = (provider, bounds, more) =>
  new Pipeline({ provider, compressor: new SimpleCompressor(bounds), ...more });
const image = { type: "image", mimeType: "image/png", data: "AAAA" };
const turn = [
  { role: "assistant", content: "", toolCalls: [{ id: "1", name: "read", arguments: { path: "a" } }] },
  { role: "tool", content: "text", toolCallId: "1", isError: true },
  { role: "user", content: "look", blocks: [{ type: "text", text: "look" }, image] },
];
const server = await PostgresServer.start();
const pools = [];
function poolOf(connectionString) {
  const pool = new pg.Pool({ connectionString });
  // A connection that is closing may hear that the server ends.
  pool.on("error", () => {});
  pools.push(pool);
  return pool;
}
after(async () => {
  await Promise.all(pools.map((pool) => pool.end()));
  await server?.remove();
});

/** A database of its own: `sql(text)` is the host's own statement, `provider(options)` ours on the same handle. */
const engines = {
  SqliteProvider: async () => {
    const db = open(":memory:");
    const sql = async (text) => (/^SELECT/.test(text) ? db.prepare(text).all() : void db.exec(text));
    return {
      sql,
      provider: (options) => new SqliteProvider({ db, ...options }),
      id: "id INTEGER PRIMARY KEY",
    };
  },
  PostgresProvider: async () => {
    const pool = poolOf(await server.newDatabase());
    const sql = async (text) => (await pool.query(text)).rows;
    const id = "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
    return { sql, provider: (options) => new PostgresProvider({ pool, ...options }), id };
  },
};

for (const [name, make] of Object.entries(engines)) {
  const skip = name === "PostgresProvider" && server === undefined && "no Postgres on this machine";
  describe(name, { skip }, () => {
    const tabled = async (columns = "chat_id bigint, role text, text text, extra text, created_at text") => {
      const engine = await make();
      await engine.sql(`CREATE TABLE history(${engine.id}, ${columns})`);
      return engine;
    };

    test("getHistory resolves with the newest messages of a chat, the oldest first", async () => {
      const { sql, provider } = await tabled();
      for (const text of ["a", "b", "c"])
        await sql(`INSERT INTO history(chat_id, role, text) VALUES (7, 'user', '${text}')`);
      const history = provider().getHistory(7, 2);
      assert.ok(history instanceof Promise);
      assert.deepEqual(await history, [user("b"), user("c")]);
      assert.deepEqual(await provider().getHistory(8, 2), []);
    });

    test("the host's own table is never created and never altered", async () => {
      const engine = await make();
      await assert.rejects(engine.provider().getHistory(1, 5), { code: "ERR_DATABASE_NO_TABLE" });
      await assert.rejects(engine.provider().append(1, user("a")), { code: "ERR_DATABASE_NO_TABLE" });
      await engine.sql(`CREATE TABLE history(${engine.id}, chat_id bigint, role text)`);
      await assert.rejects(engine.provider().getHistory(1, 5), { code: "ERR_DATABASE_FOREIGN" });
      const [row] = await engine.sql("SELECT count(*) AS rows FROM history");
      assert.equal(Number(row.rows), 0);
    });

    test("created_at is written in the type of the newest row", async () => {
      for (const [type, newest, form] of table("time-columns.json")) {
        const { sql, provider } = await tabled(`chat_id bigint, role text, text text, created_at ${type}`);
        await sql(`INSERT INTO history(chat_id, role, text, created_at) VALUES (1, 'user', 'a', ${newest})`);
        await provider().append(1, user("b"));
        const [row] = await sql("SELECT CAST(created_at AS text) AS created_at FROM history WHERE id = 2");
        assert.match(String(row.created_at), new RegExp(form), `${type} ${newest}`);
      }
    });

    test("a time without a zone is always the host's", async () => {
      const { TZ } = process.env;
      process.env.TZ = "Asia/Shanghai";
      const column = name === "PostgresProvider" ? "timestamp" : "text DEFAULT (datetime('now', '+8 hours'))";
      const { sql, provider } = await tabled(`chat_id bigint, role text, text text, created_at ${column}`);
      for (const text of ["a", "b"]) await provider().append(1, user(text));
      const rows = await sql("SELECT CAST(created_at AS text) AS created_at FROM history");
      process.env.TZ = TZ ?? "";
      for (const { created_at } of rows) {
        const ageMs = Date.now() - new Date(`${created_at.replace(" ", "T")}+08:00`);
        assert.ok(Math.abs(ageMs) < 60_000, `${created_at} is not now`);
      }
    });

    test("a row whose id no JavaScript number holds is stored once, and its id is NaN", async () => {
      const { sql, provider } = await make();
      const id = "id bigint DEFAULT 1795911337661000123";
      await sql(`CREATE TABLE history(${id}, chat_id bigint, role text, text text)`);
      assert.equal(await provider().append(7n, user("a")), Number.NaN);
      assert.deepEqual(await provider().getHistory(7, 9), [user("a")]);
    });

    test("without a column extra, calls and images are left out, with one event", async () => {
      const { provider } = await tabled("chat_id bigint, role text, text text");
      const events = [];
      const own = provider({ onEvent: (event) => events.push(event.type) });
      await own.append(1, { role: "tool", content: "text alone", isError: false });
      assert.deepEqual(events, []);
      for (const message of turn) await own.append(1, message);
      assert.deepEqual(contents(await own.getHistory(1, 9)), ["text alone", "text", "look"]);
      assert.deepEqual([...new Set(events)], ["extra_left_out"]);
      assert.equal(events.length, 1);
    });

    test("with it, calls, answers, images and odd text come back as they were", async () => {
      const own = (await tabled("chat_id text, role text, text text, extra text")).provider();
      const messages = [...turn, ...["a\0b", "😀", "\\ ' \" {} $1 ?", ""].map(user)];
      const ids = [];
      // A history stores neither an id nor a time, so any will do.
      const asHostHas = (message) => ({ id: 5, timestamp: new Date(0), ...message });
      for (const message of messages) ids.push(await own.append("chat a", asHostHas(message)));
      assert.deepEqual(await own.getHistory("chat a", 50), messages);
      assert.deepEqual(
        ids,
        messages.map((_, i) => i + 1),
      );
    });

    test("SimpleCompressor keeps 12 messages of 4 000 characters, and each turn that was cut gets one context.compressed row", async () => {
      const { sql, provider } = await tabled();
      const own = provider();
      for (let i = 0; i < 14; i += 1) await own.append(1, user(`${i} ${"x".repeat(i === 13 ? 5_000 : 1)}`));
      const pipeline = pipelineOf(own, {}, { assembler: new StandardAssembler() });
      for (const question of ["q1", "q2"]) {
        const messages = await pipeline.prepare(1, "Be brief.", question);
        assert.equal(messages.length, 14);
        assert.equal(messages[12].content.length, 4_000);
        assert.deepEqual(
          [messages[0], messages[13]],
          [{ role: "system", content: "Be brief." }, user(question)],
        );
      }
      const rows = await waitFor(() => sql("SELECT event_type, payload, chat_id FROM events ORDER BY id"), 2);
      for (const { event_type, payload, chat_id } of rows) {
        const fields = typeof payload === "string" ? JSON.parse(payload) : payload;
        const counts = { original_count: 14, compressed_count: 12 };
        const expected = { ...counts, max_messages: 12, max_chars_per_message: 4_000 };
        assert.deepEqual([event_type, fields, Number(chat_id)], ["context.compressed", expected, 1]);
      }
      await pipelineOf(own, { maxMessages: 50, maxCharsPerMessage: 9_000 }).prepare(1, "", "q");
      assert.equal((await sql("SELECT id FROM events")).length, 2, "nothing was cut");
    });

    test("OpenAI's messages go through the history and come back", async () => {
      const own = (await tabled("chat_id text, role text, text text, extra text")).provider();
      const toolCalls = [{ id: "1", name: "f", arguments: '{"n":12345678901234567890}' }];
      const messages = toOpenAIMessages([user("q"), { ...turn[0], toolCalls }, turn[1]]);
      for (const [chat, list] of Object.entries({ converted: fromOpenAIMessages(messages), as: messages })) {
        for (const message of list) await own.append(chat, message);
        assert.deepEqual(toOpenAIMessages(await own.getHistory(chat, 9)), messages);
      }
    });

    test("chats are named by numbers and texts, in a column of either type", async () => {
      for (const type of ["text", "bigint"]) {
        const own = (await tabled(`chat_id ${type}, role text, text text`)).provider();
        const names =
          type === "text"
            ? [42, -100123456789, "042", "4e1", "'; DROP TABLE history; --", "聊天"]
            : [42, -100123456789];
        for (const chatId of names) await own.append(chatId, user(`${chatId}`));
        for (const chatId of names)
          assert.deepEqual(contents(await own.getHistory(chatId, 9)), [`${chatId}`]);
        assert.deepEqual(
          contents(await own.getHistory("42", 9)),
          ["42"],
          "a text that writes a number is it",
        );
      }
    });

    test("tables may have other names, and columns of the host's", async () => {
      const engine = await make();
      await engine.sql(
        `CREATE TABLE chat_log(${engine.id}, chat_id bigint, role text, text text, seen int DEFAULT 0)`,
      );
      await engine.sql(`CREATE TABLE told(${engine.id}, type text, payload text, chat_id bigint)`);
      const own = engine.provider({ historyTable: "chat_log", eventsTable: "told" });
      await own.append(5, user("a"));
      await own.append(5, user("b"));
      const prepared = await pipelineOf(own, { maxMessages: 1 }).prepare(5, "", "q");
      assert.deepEqual(contents(prepared), ["b", "q"]);
      const [row] = await waitFor(() => engine.sql("SELECT chat_id, type, payload FROM told"), 1);
      assert.deepEqual(
        [Number(row.chat_id), row.type, JSON.parse(row.payload).original_count],
        [5, "context.compressed", 2],
      );
    });

    test("columns may be named in capitals, and ids be texts", async () => {
      const { sql, provider } = await make();
      await sql(
        "CREATE TABLE history(ID text DEFAULT 'x', CHAT_ID bigint, ROLE text, TEXT text, EXTRA text, CREATED_AT text)",
      );
      await sql("INSERT INTO history(id, chat_id, role, text) VALUES ('zz', 1, 'user', 'of no known time')");
      for (const [n, id] of ["m", "c", "z", "a"].entries())
        await sql(`INSERT INTO history VALUES ('${id}', 1, 'user', '${n}', NULL, '2026-01-02 03:04:0${n}')`);
      await provider().append(1, turn[0]);
      assert.deepEqual(await provider().getHistory(1, 4), [user("1"), user("2"), user("3"), turn[0]]);
    });

    test("rows that are no messages are passed over, and so is an unreadable extra, with an event each", async () => {
      const { sql, provider } = await tabled();
      await sql(`INSERT INTO history(chat_id, role, text, extra) VALUES (1, 'user', 'a', NULL), (1, NULL, 'b', NULL),
        (1, 'user', NULL, NULL), (1, 'assistant', 'd', '{broken'), (1, 'user', 'e', NULL)`);
      const events = [];
      const own = provider({ onEvent: ({ type, rows, chatId }) => events.push([type, rows, chatId]) });
      assert.deepEqual(contents(await own.getHistory(1, 9)), ["a", "d", "e"]);
      assert.deepEqual(events, [
        ["rows_skipped", 2, 1],
        ["extra_unreadable", 1, 1],
      ]);
    });

    test("an extra that is not null but empty is none, and its default is kept", async () => {
      const extra = "extra text NOT NULL DEFAULT ''";
      const { sql, provider } = await tabled(`chat_id bigint, role text, text text, ${extra}`);
      await sql("INSERT INTO history(chat_id, role, text) VALUES (1, 'user', 'a')");
      const events = [];
      const own = provider({ onEvent: (event) => events.push(event) });
      await own.append(1, user("b"));
      assert.deepEqual(await own.getHistory(1, 9), [user("a"), user("b")]);
      assert.deepEqual(events, []);
    });

    test("a row that the host's own constraint refuses rejects at once", async () => {
      const own = (await tabled("chat_id bigint, role text, text text, UNIQUE (chat_id, text)")).provider();
      await own.append(1, user("a"));
      const started = performance.now();
      await assert.rejects(own.append(1, user("a")), { code: "ERR_DATABASE_FOREIGN" });
      assert.ok(performance.now() - started < 5_000);
    });

    test("an events table needs neither an id nor a payload", async () => {
      const counts = { original_count: 2, compressed_count: 1, max_messages: 1, max_chars_per_message: 9 };
      for (const columns of [
        "event_type text, payload text, created_at text",
        "type text, created_at text",
      ]) {
        const { sql, provider } = await make();
        await sql(`CREATE TABLE events(${columns})`);
        const own = provider();
        for (const chat of [1, 2]) await own.recordCompression(counts, chat);
        assert.equal((await sql("SELECT created_at FROM events")).length, 2, columns);
      }
    });

    test("the events table is made once, however many begin at once", async () => {
      const { sql, provider } = await make();
      const counts = { original_count: 2, compressed_count: 1, max_messages: 1, max_chars_per_message: 9 };
      await Promise.all(Array.from({ length: 10 }, () => provider().recordCompression(counts, 1)));
      assert.equal((await sql("SELECT chat_id FROM events")).length, 10);
    });

    test("an events table that cannot be written never fails a task", async () => {
      const { sql, provider, id } = await tabled();
      await sql(`CREATE TABLE events(${id}, what text NOT NULL)`);
      const own = provider();
      for (const text of ["a", "b", "c"]) await own.append(1, user(text));
      const { type, code } = await new Promise((onEvent) =>
        pipelineOf(own, { maxMessages: 2 }, { onEvent })
          .prepare(1, "", "q")
          .then((messages) => assert.deepEqual(contents(messages), ["b", "c", "q"])),
      );
      assert.deepEqual([type, code], ["recordFailed", "ERR_DATABASE_FOREIGN"]);
    });

    test("refuses what is no chat, message, limit or handle", async () => {
      const own = (await tabled()).provider();
      for (const chatId of [2n ** 64n, 1.5, "", "a\0", "x".repeat(257), null, {}])
        await assert.rejects(own.getHistory(chatId, 1), /chatId is/);
      await assert.rejects(own.getHistory(1, -1), /limit is -1/);
      const wrong = new RegExp(`^TypeError: ${name}\\.append: message\\.(role|content) must be`);
      for (const message of [undefined, {}, { role: "bot", content: "" }, { role: "user", content: 5 }])
        await assert.rejects(own.append(1, message), wrong);
      await assert.rejects(own.recordCompression({ original_count: 1 }), /compressed_count is undefined/);
      for (const options of [undefined, {}, { db: "file.db" }, { pool: 7 }, { db: {}, wal: true }]) {
        assert.throws(
          () => (name === "SqliteProvider" ? new SqliteProvider(options) : new PostgresProvider(options)),
          TypeError,
        );
      }
    });
  });
}

/** The rows of a query, once there are `count`: nobody waits for bookkeeping. */
async function waitFor(query, count) {
  for (let tries = 0; tries < 1500; tries += 1) {
    const rows = await query().catch(() => []);
    if (rows.length >= count) return rows;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return query();
}

test("a table may stand in a database that is attached", async () => {
  const db = open(":memory:");
  db.exec("ATTACH ':memory:' AS chats");
  db.exec("CREATE TABLE chats.history(id INTEGER PRIMARY KEY, chat_id, role text, text text)");
  const own = new SqliteProvider({ db, historyTable: "chats.history", eventsTable: "chats.events" });
  await own.append(1, user("a"));
  assert.deepEqual(await own.getHistory(1, 9), [user("a")]);
  const counts = { original_count: 2, compressed_count: 1 };
  await own.recordCompression({ ...counts, max_messages: 1, max_chars_per_message: 9 });
  assert.equal(db.prepare("SELECT count(*) AS rows FROM chats.events").get().rows, 1);
});

test("a chat that the host wrote as a text or a number is one chat in SQLite", async () => {
  for (const column of ["chat_id TEXT", "chat_id INTEGER", "chat_id"]) {
    for (const id of [42, "42", 42n]) {
      const db = open(":memory:");
      db.exec(`CREATE TABLE history(id INTEGER PRIMARY KEY, ${column}, role, text)`);
      db.prepare("INSERT INTO history(chat_id, role, text) VALUES (?, 'user', 'a')").run(id);
      const own = new SqliteProvider({ db });
      for (const chat of [42, "42"])
        assert.deepEqual(await own.getHistory(chat, 9), [user("a")], `${column}, ${typeof id}`);
    }
  }
});

test("rows of one time stay in the order in which they came, whatever text ids SQLite has", async () => {
  const id = "id TEXT PRIMARY KEY DEFAULT (lower(hex(randomblob(9))))";
  const columns = `${id}, chat_id, role text, text text, extra text, created_at INTEGER DEFAULT (unixepoch())`;
  for (const [kind, isOrdered] of [
    ["", true],
    [" WITHOUT ROWID", false],
  ]) {
    const db = open(":memory:");
    db.exec(`CREATE TABLE history(${columns})${kind}`);
    const own = new SqliteProvider({ db });
    const texts = Array.from({ length: 20 }, (_, n) => `${n}`);
    for (const text of texts) await own.append(1, user(text));
    const history = contents(await own.getHistory(1, 20));
    assert.deepEqual(isOrdered ? history : history.sort((a, b) => a - b), texts, kind);
  }
});

test("a text that SQLite keeps as a number is read as text", async () => {
  const db = open(":memory:");
  db.exec("CREATE TABLE history(id INTEGER PRIMARY KEY, chat_id INTEGER, role STRING, text STRING)");
  const own = new SqliteProvider({ db });
  await own.append(1, user("42"));
  assert.deepEqual(await own.getHistory(1, 9), [user("42")]);
});

test("a user of Postgres who may only read and insert needs no more", {
  skip: server === undefined,
}, async () => {
  const url = await server.newDatabase();
  const cut = { original_count: 2, compressed_count: 1, max_messages: 1, max_chars_per_message: 9 };
  const id = "id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
  for (const sql of [
    `CREATE TABLE history(${id}, chat_id bigint, role text, text text)`,
    `CREATE TABLE events(${id}, event_type text, payload text)`,
    "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    "CREATE ROLE worker LOGIN PASSWORD 'worker'",
    "GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA public TO worker",
  ])
    await server.query(sql, url);
  const pool = poolOf(url.replace(/\/\/[^@]+@/, "//worker:worker@"));
  const own = new PostgresProvider({ pool });
  await own.append(1, user("a"));
  await own.recordCompression(cut, 1);
  assert.equal((await server.query("SELECT id FROM events", url)).length, 1);
});

describe("SimpleCompressor", () => {
  test("keeps the newest, and the beginning of each, within its bounds", () => {
    const sizes = fc.record({
      maxMessages: fc.integer({ min: 1, max: 9 }),
      maxCharsPerMessage: fc.integer({ min: 1, max: 30 }),
    });
    const list = fc.array(fc.string({ maxLength: 40, unit: "grapheme" }).map(user), { maxLength: 15 });
    fc.assert(
      fc.property(list, sizes, (messages, options) => {
        const before = structuredClone(messages);
        const kept = new SimpleCompressor(options).compress(messages);
        assert.equal(kept.length, Math.min(messages.length, options.maxMessages));
        if (messages.every((message, i) => message === kept[i])) assert.equal(kept, messages);
        for (const [i, message] of kept.entries()) {
          const original = messages[messages.length - kept.length + i];
          if (original.content.length <= options.maxCharsPerMessage) assert.equal(message, original);
          else {
            assert.ok(message.content.length <= options.maxCharsPerMessage);
            assert.ok(message.content.endsWith("…"));
            assert.ok(original.content.startsWith(message.content.slice(0, -1)));
            assert.doesNotMatch(message.content, /\p{Surrogate}/u);
          }
        }
        assert.deepEqual(messages, before);
      }),
    );
  });

  test("refuses bounds that keep nothing", () => {
    assert.throws(() => new SimpleCompressor({ maxMessages: 0 }), /maxMessages is 0/);
    assert.throws(() => new SimpleCompressor({ maxChars: 1 }), /there is no option maxChars/);
  });
});

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
    const messages = await pipelineOf(from, { maxMessages: 100 }).prepare(1, "", "q");
    assert.equal(messages.length, 101);
    assert.ok(from.asked[0] > 100);
    const usual = provider(history);
    await pipelineOf(usual).prepare(1, "", "q");
    assert.deepEqual(usual.asked, [50]);
  });

  test("waits for no bookkeeping, whatever becomes of it", async () => {
    const history = Array.from({ length: 20 }, (_, i) => user(`${i}`));
    const prepare = (chat, more) =>
      pipelineOf(provider(history, more), { maxMessages: 3 }).prepare(chat, "", "q");
    assert.equal((await prepare(1, { recordCompression: () => new Promise(() => {}) })).length, 4);
    const heard = [];
    await prepare("chat", { recordCompression: async (...given) => heard.push(given) });
    assert.equal(heard[0][1], "chat");
    const recordCompression = () => {
      throw new Error("no");
    };
    const warned = new Promise((resolve) => process.once("warning", resolve));
    await prepare(1, { recordCompression });
    assert.match((await warned).message, /^Pipeline: the event of a compression was not recorded: no$/);
  });

  test("takes a Provider, a Compressor and an Assembler that a host wrote", async () => {
    const provider = { getHistory: async (chatId, limit) => [user(`${chatId} ${limit}`)] };
    const compressor = { compress: async (messages) => [...messages, user("made up")] };
    const assembler = { assemble: (system, history, question) => [system, ...history, question] };
    const pipeline = new Pipeline({ provider, compressor, assembler, historyLimit: 9 });
    assert.deepEqual(await pipeline.prepare(5, "s", "q"), ["s", user("5 9"), user("made up"), "q"]);
    assert.throws(() => new Pipeline({}), /provider is missing/);
    assert.throws(() => new Pipeline({ provider: {} }), /getHistory/);
    assert.deepEqual(new StandardAssembler().assemble("", [], "q"), [user("q")]);
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
      const asOpenAI = new SimpleCompressor({ maxMessages }).compress(toOpenAIMessages(messages));
      assert.deepEqual(asOpenAI, toOpenAIMessages(kept), "OpenAI's messages are kept as others are");
      let open = new Set();
      for (const message of asOpenAI) {
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

test("pipelineConfigFromEnv reads the two variables and refuses nonsense", () => {
  assert.deepEqual(pipelineConfigFromEnv({}), { maxMessages: 12, maxCharsPerMessage: 4000 });
  const env = { MAX_CHARS_PER_MESSAGE: "100", TG_HISTORY_WINDOW: " 5 " };
  assert.deepEqual(pipelineConfigFromEnv(env), { maxMessages: 5, maxCharsPerMessage: 100 });
  for (const value of ["abc", "0", "-1", "1.5", "1e3", "5 messages", "99999999999"]) {
    assert.throws(
      () => pipelineConfigFromEnv({ TG_HISTORY_WINDOW: value }),
      /TG_HISTORY_WINDOW is ".*"; it must be a whole/,
    );
    assert.throws(() => pipelineConfigFromEnv({ MAX_CHARS_PER_MESSAGE: value }), TypeError);
  }
});
