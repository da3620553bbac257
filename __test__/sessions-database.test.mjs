// Sessions in the host's own SQLite database, by a handle of better-sqlite3 or node:sqlite: whole after a crash, shared by
// processes, and clear about what is wrong with a handle or a file.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ContextManager } from "pi-strata/sessions";
import { fieldsOf } from "./support/fields.mjs";
import { calls, contents, numbered, result, slowSummarizer, user } from "./support/said.mjs";
import { KIND, open } from "./support/sqlite.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const WRITER = fileURLToPath(new URL("support/session-writer.mjs", import.meta.url));
const folder = temporaryFolder("sessions");
let files = 0;
const newFile = () => join(folder, `${++files}.db`);

/** A manager over a new handle of a file, and the events it told. */
function managerOf(file, { timeoutMs, ...options } = {}) {
  const events = [];
  const database = open(file, { timeoutMs });
  const manager = new ContextManager({ database, onEvent: (event) => events.push(event), ...options });
  return { database, manager, events };
}

const rowsOf = (database, sql, ...values) => database.prepare(sql).all(...values);
const change = (database, sql, ...values) => database.prepare(sql).run(...values);

describe(`a handle of ${KIND}`, () => {
  test("keeps everything for the process that opens the file next", () => {
    const file = newFile();
    const { database, manager } = managerOf(file);
    manager.getOrCreateContext("s", "Be brief.");
    manager.setMetadata("s", { goal: "ship", planId: "p1" });
    for (const message of [calls("1", "ls"), result("1", "a\0b \ud800", true), ...numbered(60)])
      manager.addMessage("s", message);
    const [messages, stats] = [manager.getMessages("s"), manager.getStats("s")];
    assert.ok(stats.compressions > 0 && messages.length <= 50);
    database.close();
    const again = managerOf(file).manager;
    assert.deepEqual(again.getMessages("s"), messages);
    assert.deepEqual(again.getStats("s"), stats);
    const { metadata } = again.getOrCreateContext("s", "Another prompt changes nothing.");
    assert.deepEqual([metadata.goal, metadata.planId], ["ship", "p1"]);
  });

  test("has three tables, and no PRAGMA is set on it", () => {
    const database = open(newFile());
    const pragmas = ["journal_mode", "synchronous", "busy_timeout", "foreign_keys", "user_version"];
    const values = () => pragmas.map((name) => Object.values(rowsOf(database, `PRAGMA ${name}`)[0])[0]);
    const before = values();
    new ContextManager({ database }).addMessage("s", user("hello"));
    const tables = rowsOf(database, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name");
    assert.deepEqual(fieldsOf(tables, "name"), ["strata_messages", "strata_meta", "strata_sessions"]);
    assert.deepEqual(values(), before);
  });

  test("takes part in a transaction of the host's", () => {
    const database = open(newFile());
    database.exec("CREATE TABLE own (n INTEGER)");
    database.exec("BEGIN");
    const manager = new ContextManager({ database });
    manager.addMessage("s", user("never"));
    database.exec("INSERT INTO own VALUES (1)");
    database.exec("ROLLBACK");
    assert.deepEqual(contents(manager, "s"), []);
    database.exec("BEGIN");
    manager.addMessage("s", user("kept"));
    assert.throws(() => manager.addMessage("s", { role: "x", content: "" }), TypeError);
    database.exec("COMMIT");
    manager.addMessage("s", user("later"));
    assert.deepEqual(contents(manager, "s"), ["kept", "later"]);
    assert.deepEqual(rowsOf(database, "SELECT n FROM own"), []);
  });

  test("keeps what is added after the host rolls back, whatever summary comes late", async () => {
    const slow = slowSummarizer();
    const { summarize } = slow;
    const { database, manager, events } = managerOf(newFile(), { summarize, maxCompressedMessages: 2 });
    for (const message of numbered(2)) manager.addMessage("s", message);
    database.exec("BEGIN");
    for (const message of numbered(5, 100)) manager.addMessage("s", message);
    const compressing = manager.compressContext("s");
    while (slow.answer === undefined) await pause(1);
    database.exec("ROLLBACK");
    for (const message of numbered(7, 2)) manager.addMessage("s", message);
    slow.answer("of what never was");
    assert.equal((await compressing).by, "none");
    assert.deepEqual(contents(manager, "s"), fieldsOf(numbered(9), "content"));
    assert.deepEqual(events, []);
  });

  test("loses no acknowledged message when the process is killed", async () => {
    const file = newFile();
    open(file).exec("PRAGMA journal_mode = WAL");
    const child = spawn(process.execPath, [WRITER, file, "s", "1000000"]);
    let output = "";
    await new Promise((resolve) => {
      child.stdout.on("data", (data) => {
        output += data;
        if (output.length > 2000) resolve();
      });
    });
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
    const acknowledged = output.slice(0, output.lastIndexOf("\n")).split("\n").length;
    const stored = contents(managerOf(file).manager, "s");
    assert.ok(acknowledged > 100 && stored.length >= acknowledged, `${stored.length} of ${acknowledged}`);
    const inOrder = stored.map((_, n) => `${child.pid} ${n}`);
    assert.deepEqual(stored, inOrder);
  });

  for (const maxMessages of [1_000_000, 50]) {
    test(`is shared by four processes, and each sees what the others add, ${maxMessages} at most`, async () => {
      const file = newFile();
      open(file).exec("PRAGMA journal_mode = WAL");
      const children = [1, 2, 3].map(() => spawn(process.execPath, [WRITER, file, "s", "60", maxMessages]));
      const ends = children.map((child) => new Promise((resolve) => child.once("exit", resolve)));
      for (const child of children) child.stdout.resume();
      const { manager, database } = managerOf(file, { timeoutMs: 20_000, maxMessages });
      for (let n = 0; n < 60; n += 1) {
        manager.addMessage("s", user(`here ${n}`));
        await pause(1);
      }
      assert.deepEqual(await Promise.all(ends), [0, 0, 0]);
      const { messages } = manager.getStats("s");
      assert.ok(messages <= maxMessages, `${messages} messages`);
      // A message that was let go has left a note.
      const kept = rowsOf(database, "SELECT body FROM strata_messages WHERE body NOT LIKE '%[上下文总结]%'");
      for (const who of [...children.map(({ pid }) => pid), "here"]) {
        const own = kept.filter(({ body }) => body.includes(`"${who} `));
        assert.equal(own.length, 60, `${who} of ${kept.length}`);
      }
    });
  }

  test("is compressed once when two of its users try", async () => {
    const file = newFile();
    const [one, two] = [managerOf(file).manager, managerOf(file).manager];
    for (const message of numbered(30)) one.addMessage("s", message);
    let asked = 0;
    const slow = async () => {
      asked += 1;
      await pause(20);
      return "short";
    };
    const results = await Promise.all([one.compressContext("s", slow), two.compressContext("s", slow)]);
    assert.deepEqual(results.map(({ by }) => by).sort(), ["ai", "none"]);
    assert.equal(asked, 1, "both would pay for one summary");
    for (const manager of [one, two]) assert.equal(manager.getMessages("s").length, 21);
  });

  test("waits for another process's summary, but not for one that a wrong clock announced", async () => {
    const { manager, database } = managerOf(newFile(), { summarizeTimeoutMs: 1000 });
    for (const message of numbered(30)) manager.addMessage("s", message);
    const stateOf = () => JSON.parse(rowsOf(database, "SELECT state FROM strata_sessions")[0].state);
    const announce = (aheadMs) => {
      const state = { ...stateOf(), summarizedUntil: Date.now() + aheadMs };
      change(database, "UPDATE strata_sessions SET state = ?", JSON.stringify(state));
      return state.summarizedUntil;
    };
    const compressedBy = async (summarize) => (await manager.compressContext("s", summarize)).by;
    announce(900);
    assert.equal(await compressedBy(async () => "short"), "none");
    manager.setMaxMessages(25);
    manager.addMessage("s", user("meanwhile"));
    assert.deepEqual([manager.getMessages("s").length, await compressedBy(undefined)], [31, "none"]);
    announce(3_600_000);
    let others;
    const slow = async () => {
      others = announce(900);
      return "short";
    };
    assert.equal(await compressedBy(slow), "ai");
    assert.equal(stateOf().summarizedUntil, others, "only the other process ends its own wait");
  });

  test("holds no word of what was cleared or deleted, in the summary neither", async () => {
    const file = newFile();
    const { manager, database } = managerOf(file);
    manager.addMessage("s", { ...user("my card is 41z11"), id: "card" });
    for (const message of numbered(60)) manager.addMessage("s", message);
    assert.match(manager.getMessages("s")[0].content, /1\. my card is 41z11\n/);
    assert.deepEqual(manager.deleteMessages("s", ["card", "unknown"]), ["card"]);
    const told = () =>
      JSON.stringify(rowsOf(database, "SELECT state FROM strata_sessions")) +
      JSON.stringify(rowsOf(database, "SELECT body FROM strata_messages"));
    assert.ok(!told().includes("41z11"), told());
    await manager.compressContext("s", async () => "the host's words");
    const [first] = numbered(1);
    manager.deleteMessages("s", [manager.getMessages("s")[0].id]);
    assert.ok(!told().includes("host's words") && !told().includes(first.content), "the summary was deleted");
    manager.clearContext("s");
    assert.equal(told(), "[][]");
  });

  test("replaces a prompt that cannot be read, and a known id changes nothing", () => {
    const { database, manager } = managerOf(newFile());
    manager.getOrCreateContext("s", "Be brief.");
    change(database, "UPDATE strata_messages SET body = '{' WHERE position = 0");
    manager.getOrCreateContext("s", "Be kind.");
    assert.deepEqual(contents(manager, "s"), ["Be kind."]);
    for (const options of [{ database }, {}]) {
      const events = [];
      const told = new ContextManager({ ...options, onEvent: (event) => events.push(event) });
      for (const message of numbered(8)) told.addMessage("known", { ...message, id: message.content });
      told.setMaxMessages(6);
      told.addMessage("known", { ...user("message 7"), id: "message 7" });
      assert.deepEqual([told.getMessages("known").length, events], [8, []]);
    }
  });

  test("costs a row that cannot be read, with an event, and never the session", () => {
    const { manager, database, events } = managerOf(newFile());
    manager.getOrCreateContext("s", "Be brief.");
    for (const message of numbered(6)) manager.addMessage("s", message);
    change(database, "UPDATE strata_messages SET body = '{\"role\":' WHERE position = 2");
    change(database, 'UPDATE strata_messages SET body = \'{"role":"usez","content":""}\' WHERE position = 3');
    change(database, "UPDATE strata_messages SET body = x'ff00' WHERE position = 4");
    const kept = ["Be brief.", "message 0", "message 4", "message 5"];
    assert.deepEqual([contents(manager, "s"), contents(manager, "s")], [kept, kept]);
    assert.deepEqual(
      fieldsOf(events, "type", "sessionId", "code"),
      Array(3).fill(["rowUnreadable", "s", "ERR_DATABASE_ROW"]),
    );
    change(database, "UPDATE strata_sessions SET state = 'nonsense'");
    assert.deepEqual(contents(manager, "s"), kept);
    manager.addMessage("s", user("goes on"));
    assert.deepEqual(contents(manager, "s"), [...kept, "goes on"]);
    assert.equal(events.length, 4);
    for (const message of numbered(60)) manager.addMessage("s", { ...message, id: message.content });
    change(database, "UPDATE strata_messages SET body = '{\"role\":\"user\"}' WHERE id = 'message 3'");
    assert.deepEqual(manager.deleteMessages("s", ["message 4"]), ["message 4"], "a note of another shape");
    const long = "x".repeat(300);
    manager.addMessage(long, user("a"));
    change(database, "UPDATE strata_messages SET body = '{' WHERE session_id LIKE 'sha256:%'");
    assert.deepEqual(contents(manager, long), []);
    assert.equal(events.at(-1).sessionId, long, "the host's own id");
  });

  test("keeps nothing of what a listener clears or deletes when it hears of an unreadable row", () => {
    const ways = {
      clear: (manager) => manager.clearContext("s"),
      delete: (manager) => manager.deleteMessages("s", ["message 1"]),
    };
    for (const heal of Object.values(ways)) {
      const { manager: before, database } = managerOf(newFile());
      for (const message of numbered(10)) before.addMessage("s", { ...message, id: message.content });
      change(database, "UPDATE strata_messages SET body = '{' WHERE id = 'message 3'");
      const onEvent = ({ type }) => type === "rowUnreadable" && heal(manager);
      const manager = new ContextManager({ database, maxMessages: 10, maxCompressedMessages: 2, onEvent });
      manager.addMessage("s", user("new"));
      manager.getOrCreateContext("s", "Be brief.");
      assert.doesNotMatch(JSON.stringify(rowsOf(database, "SELECT * FROM strata_messages")), /message 1"/);
      assert.doesNotMatch(JSON.stringify(manager.getMessages("s")), /message 1\b/);
    }
  });

  test("that is closed during a background summary is one event", async () => {
    const slow = slowSummarizer();
    const file = newFile();
    const options = { summarize: slow.summarize, maxMessages: 10, maxCompressedMessages: 2 };
    const { manager, database, events } = managerOf(file, options);
    for (const message of numbered(14)) manager.addMessage("s", message);
    assert.equal(manager.getMessages("s").length, 14, "nothing is lost until the summary is there");
    while (slow.answer === undefined) await pause(1);
    database.close();
    slow.answer("too late");
    await pause(50);
    assert.deepEqual(fieldsOf(events, "type", "code"), [["compressFailed", "ERR_DATABASE_CLOSED"]]);
    assert.throws(() => manager.addMessage("s", user("a")), { code: "ERR_DATABASE_CLOSED" });
    assert.throws(() => manager.getMessages("s"), { code: "ERR_DATABASE_CLOSED" });
    await assert.rejects(manager.compressContext("s"), { code: "ERR_DATABASE_CLOSED" });
    assert.equal(managerOf(file, { maxMessages: 50 }).manager.getMessages("s").length, 14);
  });

  test("waits for a lock as long as the handle does, and says so", () => {
    const file = newFile();
    const { manager } = managerOf(file, { timeoutMs: 50 });
    manager.addMessage("s", user("before"));
    const other = open(file);
    other.exec("BEGIN EXCLUSIVE");
    const started = performance.now();
    assert.throws(() => manager.addMessage("s", user("locked out")), { code: "ERR_DATABASE_BUSY" });
    assert.throws(() => manager.getMessages("s"), { code: "ERR_DATABASE_BUSY" });
    assert.ok(performance.now() - started >= 50);
    assert.throws(() => managerOf(file), { code: "ERR_DATABASE_BUSY" });
    other.exec("ROLLBACK");
    manager.addMessage("s", user("after"));
    assert.deepEqual(contents(manager, "s"), ["before", "after"]);
  });

  test("loses nothing it acknowledged after a reader has blocked one commit", () => {
    const file = newFile();
    const { manager } = managerOf(file);
    manager.addMessage("s", user("one"));
    const reader = open(file);
    reader.exec("BEGIN");
    rowsOf(reader, "SELECT count(*) FROM strata_messages");
    assert.throws(() => manager.addMessage("s", user("two")), { code: "ERR_DATABASE_BUSY" });
    reader.exec("COMMIT");
    manager.addMessage("s", user("three"));
    assert.deepEqual(contents(managerOf(file).manager, "s"), ["one", "three"]);
  });

  test("goes on after the host has dropped tables", () => {
    const { manager, database } = managerOf(newFile());
    for (const table of ["messages", "sessions", "meta"]) {
      for (const message of numbered(60)) manager.addMessage("s", message);
      database.exec(`DROP TABLE strata_${table}`);
      for (const message of numbered(2)) manager.addMessage("t", message);
      assert.deepEqual(contents(manager, "t").slice(-2), fieldsOf(numbered(2), "content"), table);
    }
  });

  const isNode = KIND === "node:sqlite";
  test("goes on after the host has opened it again", { skip: !isNode && "better-sqlite3 cannot" }, () => {
    const { manager, database } = managerOf(newFile());
    manager.addMessage("s", user("before"));
    database.close();
    assert.throws(() => manager.addMessage("s", user("never")), { code: "ERR_DATABASE_CLOSED" });
    database.open();
    manager.addMessage("s", user("after"));
    assert.deepEqual(contents(manager, "s"), ["before", "after"]);
  });

  test("with tables of another shape or version is refused, and left as it is", () => {
    for (const foreign of [
      "CREATE TABLE strata_sessions (id INTEGER, name TEXT)",
      "CREATE TABLE strata_messages (session_id TEXT, is_live INTEGER, position INTEGER, id TEXT, body TEXT)",
      "CREATE TABLE strata_meta (number INTEGER)",
      "CREATE VIEW strata_sessions AS SELECT 1 AS session_id, 2 AS state, 3 AS created_at, 4 AS updated_at",
    ]) {
      const database = open(newFile());
      database.exec(foreign);
      assert.throws(() => new ContextManager({ database }), { code: "ERR_DATABASE_FOREIGN" }, foreign);
      const [{ n }] = rowsOf(
        database,
        "SELECT count(*) AS n FROM sqlite_schema WHERE sql LIKE '%strata_sessions%'",
      );
      assert.equal(n, Number(foreign.includes("strata_sessions")), foreign);
    }
    const { database } = managerOf(newFile());
    change(database, "UPDATE strata_meta SET version = 9");
    assert.throws(() => new ContextManager({ database }), { code: "ERR_DATABASE_VERSION" });
  });

  test("of a file that cannot be written is read", () => {
    const file = newFile();
    managerOf(file).manager.addMessage("s", user("hello"));
    const manager = new ContextManager({ database: open(file, { isReadOnly: true }) });
    assert.deepEqual(contents(manager, "s"), ["hello"]);
    assert.throws(() => manager.addMessage("s", user("a")), { code: "ERR_DATABASE_READ_ONLY" });
    const bad = join(folder, "bad.db");
    writeFileSync(bad, Buffer.alloc(5000, 0xff));
    assert.throws(() => managerOf(bad), { code: "ERR_DATABASE_CORRUPT" });
    assert.deepEqual(readFileSync(bad), Buffer.alloc(5000, 0xff));
  });

  test("is taken whatever its owner has set for his own statements", () => {
    const { manager, database } = managerOf(newFile());
    database.defaultSafeIntegers?.(true);
    for (const message of numbered(60)) manager.addMessage("s", message);
    assert.ok(manager.getStats("s").messages <= 50);
    const again = new ContextManager({ database });
    assert.deepEqual(again.getMessages("s"), manager.getMessages("s"));
  });
});

test("anything but an open handle of these packages is refused with a code", async () => {
  const wrapped = { prepare: async () => ({ all: async () => [] }), exec: async () => {} };
  const callbacks = { prepare: () => ({ all: () => callbacks }), exec: () => callbacks };
  for (const database of [undefined, null, "sessions.db", 7, {}, [], () => {}, wrapped, callbacks]) {
    const refused = { name: "TypeError", code: "ERR_DATABASE_HANDLE", message: /better-sqlite3/ };
    assert.throws(() => new ContextManager({ database }), refused);
  }
  const closed = open(newFile());
  closed.close();
  assert.throws(() => new ContextManager({ database: closed }), { code: "ERR_DATABASE_CLOSED" });
});
