// The pipeline's parts: a history on disk that loses nothing, what is cut of it, and OpenAI's shapes.
import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import pipeline from "pi-strata/pipeline";

const { Pipeline, pipelineConfigFromEnv, SimpleCompressor, SqliteProvider, StandardAssembler } = pipeline;

const folder = mkdtempSync(join(tmpdir(), "pi-strata-pipeline-"));
after(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.db`);

const user = (content) => ({ role: "user", content });
const contents = (messages) => messages.map(({ content }) => content);
const writer = fileURLToPath(new URL("./support/history-writer.mjs", import.meta.url));

/** Appends `count` messages in a process of its own; `onAck` hears of each that was acknowledged. */
function write(file, count, onAck) {
  const child = fork(writer, [file, String(count)]);
  child.on("message", (n) => onAck?.(n, child));
  return new Promise((resolve) => child.on("exit", (code, signal) => resolve({ code, signal })));
}

describe("SqliteProvider", () => {
  test("gives back the newest in the order they were said", async () => {
    const provider = new SqliteProvider(":memory:");
    const texts = Array.from({ length: 30 }, (_, i) => `${i} "; DROP TABLE history; -- \0 😀`);
    const ids = await Promise.all(texts.map((text) => provider.append(-100123456789, user(text))));
    assert.deepEqual(
      ids,
      Array.from({ length: 30 }, (_, i) => i + 1),
    );
    await provider.append(7, { role: "assistant", content: "other" });
    assert.deepEqual(contents(await provider.getHistory(-100123456789, 5)), texts.slice(-5));
    assert.deepEqual(await provider.getHistory(7, 50), [{ role: "assistant", content: "other" }]);
    assert.deepEqual(await provider.getHistory(8, 50), []);
    assert.deepEqual(await provider.getHistory(7, 0), []);
    await provider.close();
  });

  test("sees what was appended before it was asked, and not what came after", async () => {
    const provider = new SqliteProvider(":memory:");
    provider.append(1, user("a"));
    const asked = provider.getHistory(1, 9);
    provider.append(1, user("b"));
    assert.deepEqual(contents(await asked), ["a"]);
    assert.deepEqual(contents(await provider.getHistory(1, 9)), ["a", "b"]);
    await provider.close();
  });

  test("keeps its file private and finds it again", async () => {
    const file = newFile();
    const provider = new SqliteProvider(file);
    await provider.append(1, user("kept"));
    // Windows has no such bits; there the folder's own rights decide.
    const suffixes = process.platform === "win32" ? [] : ["", "-wal", "-shm"];
    for (const suffix of suffixes) assert.equal(statSync(file + suffix).mode & 0o777, 0o600);
    await provider.close();
    const again = new SqliteProvider(file);
    assert.deepEqual(contents(await again.getHistory(1, 9)), ["kept"]);
    await again.close();
  });

  test("shares one file with another process", { timeout: 120_000 }, async () => {
    const file = newFile();
    const exits = await Promise.all([write(file, 150), write(file, 150), write(file, 150)]);
    assert.deepEqual(exits, Array(3).fill({ code: 0, signal: null }));
    const provider = new SqliteProvider(file);
    assert.equal((await provider.getHistory(1, 1000)).length, 450);
    await provider.close();
  });

  test("has every acknowledged message after kill -9", { timeout: 120_000 }, async () => {
    const file = newFile();
    let acknowledged = 0;
    const { signal } = await write(file, 1_000_000, (n, child) => {
      acknowledged = n;
      if (n === 200) child.kill("SIGKILL");
    });
    assert.equal(signal, "SIGKILL");
    const provider = new SqliteProvider(file);
    const stored = contents(await provider.getHistory(1, 1_000_000));
    await provider.close();
    assert.ok(stored.length >= acknowledged, `${stored.length} of ${acknowledged}`);
    assert.deepEqual(
      stored,
      stored.map((_, i) => `message ${i + 1}`),
    );
  });

  test("moves a damaged file away, says so, and goes on", async () => {
    const file = newFile();
    writeFileSync(file, Buffer.alloc(2000, 0xff));
    const events = [];
    const onEvent = (event) => {
      events.push(event);
      throw new Error("a listener's failure changes nothing");
    };
    const provider = new SqliteProvider(file, { onEvent });
    await provider.append(1, user("a"));
    assert.deepEqual(contents(await provider.getHistory(1, 9)), ["a"]);
    await provider.close();
    assert.equal(events.length, 1);
    assert.equal(events[0].type, "database_set_aside");
    assert.ok(events[0].setAside.endsWith(".corrupt-1"));
    assert.deepEqual(readFileSync(events[0].setAside), Buffer.alloc(2000, 0xff));
  });

  test("fails with a code where the file cannot be used", async () => {
    const here = new SqliteProvider(folder);
    await assert.rejects(here.getHistory(1, 1), { code: "ERR_DATABASE_CANNOT_OPEN", name: "DatabaseError" });
    const nowhere = new SqliteProvider(join(folder, "none", "a.db"));
    await assert.rejects(nowhere.append(1, user("a")), { code: "ERR_DATABASE_CANNOT_OPEN" });
    await assert.rejects(new SqliteProvider("a\0b").getHistory(1, 1), { code: "ERR_DATABASE_BAD_PATH" });
    assert.ok(!existsSync("a"));
    const closed = new SqliteProvider(":memory:");
    await closed.close();
    await assert.rejects(closed.getHistory(1, 1), { code: "ERR_DATABASE_CLOSED" });
    await assert.rejects(closed.append(1, user("a")), { code: "ERR_DATABASE_CLOSED" });
  });

  test("refuses what is no chat, message, limit or path", async () => {
    const provider = new SqliteProvider(":memory:");
    const long = "x".repeat(257);
    for (const chatId of ["", long, "a\0b", "\ud800", Number.NaN, 1.5, 2 ** 60, null, undefined, {}]) {
      await assert.rejects(
        provider.getHistory(chatId, 1),
        /chatId is .*; it must be a whole number or a text/s,
      );
      await assert.rejects(provider.append(chatId, user("a")), TypeError);
    }
    for (const limit of [-1, 1.5, "5", undefined])
      await assert.rejects(provider.getHistory(1, limit), /limit is/);
    for (const message of [undefined, {}, { role: "bot", content: "" }, { role: "user", content: 5 }]) {
      await assert.rejects(provider.append(1, message), /message must be/);
    }
    await assert.rejects(provider.recordCompression({ original_count: 1 }), /compressed_count is undefined/);
    assert.throws(() => new SqliteProvider(""), TypeError);
    assert.throws(() => new SqliteProvider(":memory:", { wal: true }), /there is no option wal/);
    assert.deepEqual(await provider.getHistory(1, 9), []);
    await provider.close();
  });
});

describe("SimpleCompressor", () => {
  test("hands back the same array where nothing is cut", () => {
    const messages = Array.from({ length: 12 }, () => user("x".repeat(4000)));
    assert.equal(new SimpleCompressor().compress(messages), messages);
  });

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
  const recording = (history) => {
    const rows = [];
    return { rows, getHistory: async () => history, recordCompression: async (row) => rows.push(row) };
  };

  test("assembles prompt, history and question", async () => {
    const provider = recording([user("a"), { role: "assistant", content: "b" }]);
    const messages = await new Pipeline({ provider }).prepare(1, "system", "c");
    assert.deepEqual(messages, [
      { role: "system", content: "system" },
      user("a"),
      { role: "assistant", content: "b" },
      user("c"),
    ]);
    assert.deepEqual(provider.rows, [], "nothing was cut");
  });

  test("records a cut, once, with its numbers", async () => {
    const provider = recording(Array.from({ length: 20 }, (_, i) => user(`${i}`)));
    const compressor = new SimpleCompressor({ maxMessages: 3 });
    const messages = await new Pipeline({ provider, compressor }).prepare(1, "", "q");
    assert.deepEqual(contents(messages), ["17", "18", "19", "q"]);
    const row = { original_count: 20, compressed_count: 3, max_messages: 3, max_chars_per_message: 4000 };
    assert.deepEqual(provider.rows, [row]);
  });

  test("stores that row with SqliteProvider", async () => {
    const file = newFile();
    const provider = new SqliteProvider(file);
    await Promise.all(["a", "b", "c"].map((text) => provider.append(1, user(text))));
    const compressor = new SimpleCompressor({ maxMessages: 2 });
    const pipeline = new Pipeline({ provider, compressor });
    assert.deepEqual(contents(await pipeline.prepare(1, "", "q")), ["b", "c", "q"]);
    await provider.close();
    const bytes = readFileSync(file, "latin1");
    assert.match(bytes, /context\.compressed\{"original_count":3,"compressed_count":2,/);
  });

  test("takes parts that a host wrote", async () => {
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
