// Sessions, in memory and in a file: bounded, whole, found again, and safe from crashes and other processes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import strata from "../index.js";
import { calls, result, says, user } from "./support/said.mjs";

const { ContextManager, countTokens } = strata;
const LABEL = "[上下文总结]";
const ROOT = fileURLToPath(new URL("..", import.meta.url));

const folder = mkdtempSync(join(tmpdir(), "pi-strata-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.db`);

async function addAll(manager, id, messages) {
  for (const message of messages) await manager.addMessage(id, message);
}
const contents = (manager, id) => manager.getMessages(id).map(({ content }) => content);

/** No result without its call before it, no call left without its results. */
function assertPaired(messages) {
  const open = new Set();
  for (const { toolCalls = [], toolCallId } of messages) {
    if (toolCallId !== undefined) assert.ok(open.delete(toolCallId), `an orphan result of ${toolCallId}`);
    for (const { id } of toolCalls) open.add(id);
  }
  assert.equal(open.size, 0);
}

const numbered = (count, from = 0) => Array.from({ length: count }, (_, n) => user(`message ${from + n}`));

for (const [kind, options] of [
  ["in memory", () => ({})],
  ["in a file", () => ({ store: newFile() })],
]) {
  describe(kind, () => {
    test("50 messages stay, the 51st makes 20 and a summary of them", async () => {
      const events = [];
      const manager = new ContextManager({ ...options(), onEvent: (event) => events.push(event) });
      manager.getOrCreateContext("s", "Be brief.");
      await addAll(manager, "s", numbered(49));
      assert.equal(manager.getMessages("s").length, 50);
      assert.deepEqual(events, []);
      await manager.addMessage("s", user("message 49"));
      const messages = manager.getMessages("s");
      assert.equal(messages.length, 22);
      assert.equal(messages[0].content, "Be brief.");
      assert.equal(messages[1].role, "assistant");
      assert.match(
        messages[1].content,
        /^\[上下文总结\] 已压缩 30 条消息：用户 30，助手 0，工具 0。\n最初的用户消息：\n1\. message 0\n2\. message 1\n3\. message 2$/,
      );
      assert.deepEqual(
        messages.slice(2).map(({ content }) => content),
        numbered(20, 30).map(({ content }) => content),
      );
      assert.deepEqual(manager.getMessages("s", false), messages.slice(1));
      const { tokensSaved, ...event } = events[0];
      assert.deepEqual(event, { type: "compressed", sessionId: "s", before: 51, after: 22, by: "rules" });
      const stats = manager.getStats("s");
      assert.deepEqual(stats, { messages: 22, tokens: countTokens(messages), compressions: 1, tokensSaved });
      await manager.close();
    });

    test("calls keep their results, whatever the sizes", async () => {
      const group = fc.nat(4);
      await fc.assert(
        fc.asyncProperty(fc.array(group, { maxLength: 30 }), fc.nat(8), async (groups, keep) => {
          const manager = new ContextManager({ ...options(), maxMessages: 12, maxCompressedMessages: keep });
          for (const [n, results] of groups.entries()) {
            const ids = Array.from({ length: results }, (_, i) => `${n}-${i}`);
            const toolCalls = ids.map((id) => ({ id, name: "bash", arguments: {} }));
            await manager.addMessage("s", { role: "assistant", content: `${n}`, toolCalls });
            for (const id of ids) await manager.addMessage("s", result(id, "fine"));
          }
          assertPaired(manager.getMessages("s"));
          assert.ok(manager.getMessages("s").length <= 12 + 5);
          await manager.close();
        }),
        { numRuns: 15 },
      );
    });

    test("summaries merge flat and keep what is still open", async () => {
      const manager = new ContextManager({ ...options(), maxMessages: 10, maxCompressedMessages: 2 });
      await addAll(manager, "s", [
        user("Fix src/lib.rs"),
        calls("1", "cargo build"),
        result("1", "error: no", true),
      ]);
      await addAll(manager, "s", numbered(60));
      const summaries = contents(manager, "s").filter((content) => content.includes(LABEL));
      assert.equal(summaries.length, 1);
      assert.equal(summaries[0].split(LABEL).length, 2);
      assert.match(summaries[0], /1\. Fix src\/lib\.rs\n/);
      assert.match(
        summaries[0],
        /使用的工具：bash ×1\n涉及的文件：src\/lib\.rs\n执行的命令：\n- cargo build\n未解决的错误：\n- bash（cargo build）：error: no$/,
      );
      const [, counted] = /已压缩 (\d+) 条/.exec(summaries[0]);
      assert.equal(
        Number(counted) + manager.getMessages("s").length - 1,
        63,
        "every message is counted once",
      );
      await manager.close();
    });

    test("the host's summariser is asked with a prompt, a signal and a time limit", async () => {
      const requests = [];
      const summarize = async (messages, request) => {
        requests.push({ messages, request });
        return `${LABEL} ${LABEL} goal: part ${requests.length}`;
      };
      const manager = new ContextManager({
        ...options(),
        summarize,
        maxMessages: 10,
        maxCompressedMessages: 2,
      });
      await addAll(manager, "s", numbered(30));
      const [{ request, messages }, second] = requests;
      assert.equal(messages.length, 9);
      assert.deepEqual([request.temperature, request.maxTokens], [0.3, 500]);
      assert.ok(request.signal instanceof AbortSignal);
      for (const asked of ["goal", "steps", "decisions", "problems", "message 3"])
        assert.ok(request.prompt.includes(asked), asked);
      assert.equal(second.messages[0].content, `${LABEL} goal: part 1`, "it is handed its last summary");
      assert.equal(contents(manager, "s")[0], `${LABEL} goal: part ${requests.length}`);
      const rules = await manager.compressContext("s", async () => "");
      assert.equal(rules.by, "rules");
      assert.match(contents(manager, "s")[0], new RegExp(`先前的总结：goal: part ${requests.length}$`));
      await manager.close();
    });

    const bad = {
      rejects: async () => Promise.reject(new Error("no")),
      throws: () => {
        throw new Error("no");
      },
      hangs: () => new Promise(() => {}),
      "is empty": async () => " \n ",
      "is no text": async () => 7,
    };
    for (const [name, summarize] of Object.entries(bad)) {
      test(`a summariser that ${name} gives way to the rules`, async () => {
        const manager = new ContextManager({ ...options(), summarizeTimeoutMs: 20 });
        await addAll(manager, "s", numbered(30));
        assert.deepEqual(await manager.compressContext("s", summarize), {
          before: 30,
          after: 21,
          by: "rules",
        });
        await manager.close();
      });
    }

    test("a 10 MB summary is cut, a session cleared meanwhile stays cleared", async () => {
      const manager = new ContextManager(options());
      await addAll(manager, "s", numbered(30));
      assert.equal((await manager.compressContext("s", async () => "x".repeat(1e7))).by, "ai");
      assert.ok(contents(manager, "s")[0].length < 10_000);
      await addAll(manager, "s", numbered(10));
      let release;
      const slow = manager.compressContext("s", () => new Promise((resolve) => (release = resolve)));
      await manager.addMessage("s", user("meanwhile"));
      manager.clearContext("s");
      release("late");
      assert.equal((await slow).by, "none");
      assert.deepEqual(manager.getMessages("s"), []);
      await manager.close();
    });

    test("messages that come while it is compressed stay behind the summary", async () => {
      const manager = new ContextManager({ ...options(), maxCompressedMessages: 1 });
      await addAll(manager, "s", numbered(5));
      let release;
      const slow = manager.compressContext("s", () => new Promise((resolve) => (release = resolve)));
      await manager.addMessage("s", user("meanwhile"));
      release("four");
      await slow;
      assert.deepEqual(contents(manager, "s"), [`${LABEL} four`, "message 4", "meanwhile"]);
      await manager.close();
    });

    test("any string is a session", async () => {
      const manager = new ContextManager(options());
      const ids = [
        "",
        "a'b\"c",
        "../../etc/passwd",
        "a\0b",
        "\0",
        "\ud800",
        "\ud801",
        "__proto__",
        "x".repeat(1 << 20),
        "会话",
        "%s; DROP TABLE session",
      ];
      for (const [n, id] of ids.entries())
        await manager.addMessage(id, user(`${n} \0 \ud800 ${id.slice(0, 9)}`));
      for (const [n, id] of ids.entries())
        assert.deepEqual(contents(manager, id), [`${n} \0 \ud800 ${id.slice(0, 9)}`]);
      assert.deepEqual(manager.listSessions(), ids);
      assert.deepEqual(manager.getMessages("unknown"), []);
      assert.equal(manager.getStats("unknown"), undefined);
      await manager.close();
    });

    test("what is no message or no session is refused, and nothing is kept of it", async () => {
      const manager = new ContextManager(options());
      for (const message of [
        undefined,
        {},
        { role: "x", content: "" },
        { role: "user" },
        { role: "user", content: [] },
        { role: "user", content: "", toolCalls: 1 },
      ]) {
        await assert.rejects(manager.addMessage("s", message), TypeError);
      }
      assert.throws(() => manager.getMessages(7), TypeError);
      assert.throws(() => manager.setMaxMessages(0), TypeError);
      assert.throws(() => manager.setMaxCompressedMessages(-1), TypeError);
      assert.deepEqual(manager.getMessages("s"), []);
      await manager.close();
      assert.throws(() => manager.getMessages("s"), { code: "ERR_CLOSED" });
    });

    test("words, parts of Chinese sentences and accents are found", async () => {
      const manager = new ContextManager(options());
      await addAll(manager, "a", [
        user("请修复数据库连接超时的错误"),
        says("The connection timed out in src/main.rs"),
      ]);
      await addAll(manager, "b", [user("Café 数据 connection")]);
      const found = (query, search) => manager.search(query, search).map(({ message }) => message.content);
      assert.deepEqual(found("数据库"), ["请修复数据库连接超时的错误"]);
      assert.deepEqual(found("connect"), ["Café 数据 connection", "The connection timed out in src/main.rs"]);
      assert.deepEqual(found("connect", { sessionId: "a" }), ["The connection timed out in src/main.rs"]);
      assert.deepEqual(found("connect", { limit: 1 }), ["Café 数据 connection"]);
      assert.deepEqual(found("CAFE 数"), ["Café 数据 connection"]);
      assert.deepEqual(found("nection"), []);
      assert.deepEqual(found('" * ('), []);
      assert.equal(manager.search("Café")[0].sessionId, "b");
      await manager.close();
    });
  });
}

test("memory and file find the same", async () => {
  const word = fc.constantFrom("data", "Data base", "数据", "库", "Ünï", "a.b", "x_y", "—", "  ", "12");
  const text = fc
    .array(word, { minLength: 1, maxLength: 6 })
    .map((words) => words.join(" ").replaceAll("  ", ""));
  const query = fc.array(
    fc.constantFrom("data", "base", "dat", "数", "据库", "uni", "a.b", "b", "x", "1", "'"),
    { maxLength: 3 },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 8 }), query, async (texts, words) => {
      const hits = [];
      for (const options of [{}, { store: newFile() }]) {
        const manager = new ContextManager(options);
        await addAll(manager, "s", texts.map(user));
        hits.push(manager.search(words.join(" ")).map(({ message }) => message.content));
        await manager.close();
      }
      assert.deepEqual(hits[0], hits[1]);
    }),
    { numRuns: 60 },
  );
});

describe("a file", () => {
  test("holds everything when it is opened again", async () => {
    const store = newFile();
    const first = new ContextManager({ store });
    first.getOrCreateContext("s", "Be brief.");
    first.setMetadata("s", { goal: "ship", planId: "p1" });
    await addAll(first, "s", [calls("1", "ls"), result("1", "a\0b \ud800", true), ...numbered(60)]);
    const [messages, stats] = [first.getMessages("s"), first.getStats("s")];
    await first.close();
    const again = new ContextManager({ store });
    assert.deepEqual(again.getMessages("s"), messages);
    assert.deepEqual(again.getStats("s"), stats);
    const { metadata } = again.getOrCreateContext("s", "Another prompt changes nothing.");
    assert.deepEqual([metadata.goal, metadata.planId], ["ship", "p1"]);
    assert.deepEqual(again.getMessages("s"), messages);
    const [hit] = again.search('"message 0"');
    assert.deepEqual(
      [hit.message.content, hit.isCurrent],
      ["message 0", false],
      "what was let go is still found",
    );
    await again.close();
  });

  test("is private", { skip: process.platform === "win32" }, async () => {
    const store = newFile();
    const manager = new ContextManager({ store });
    await manager.addMessage("s", user("a"));
    for (const suffix of ["", "-wal", "-shm"])
      assert.equal(statSync(store + suffix).mode & 0o777, 0o600, suffix);
    await manager.close();
  });

  test("loses no acknowledged message when the process is killed", async () => {
    const store = newFile();
    const child = spawn(process.execPath, [
      join(ROOT, "__test__/support/session-writer.mjs"),
      store,
      "s",
      "1000000",
    ]);
    let output = "";
    await new Promise((resolve) =>
      child.stdout.on("data", (data) => {
        output += data;
        if (output.length > 2000) resolve();
      }),
    );
    const exited = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exited;
    const acknowledged = output.slice(0, output.lastIndexOf("\n")).split("\n").length;
    const manager = new ContextManager({ store, maxMessages: 1_000_000 });
    const stored = contents(manager, "s");
    assert.ok(acknowledged > 100 && stored.length >= acknowledged, `${stored.length} of ${acknowledged}`);
    assert.deepEqual(
      stored,
      stored.map((_, n) => `${child.pid} ${n}`),
    );
    await manager.close();
  });

  test("is shared by two processes, and each sees what the other adds", async () => {
    const store = newFile();
    const manager = new ContextManager({ store, maxMessages: 1_000_000 });
    await manager.addMessage("s", user("here"));
    const writer = join(ROOT, "__test__/support/session-writer.mjs");
    const children = [1, 2].map(() => spawn(process.execPath, [writer, store, "s", "100"]));
    const ends = children.map((child) => new Promise((resolve) => child.once("exit", resolve)));
    for (const child of children) child.stdout.resume();
    for (let n = 0; n < 100; n += 1) await manager.addMessage("s", user(`here ${n}`));
    assert.deepEqual(await Promise.all(ends), [0, 0]);
    const stored = contents(manager, "s");
    assert.equal(stored.length, 301);
    for (const { pid } of [...children, { pid: "here" }]) {
      const own = stored.filter((content) => content.startsWith(`${pid} `));
      assert.deepEqual(
        own,
        own.map((_, n) => `${pid} ${n}`),
      );
      assert.equal(own.length, 100);
    }
    await manager.close();
  });

  test("is compressed once when two of its users try", async () => {
    const store = newFile();
    const [one, two] = [new ContextManager({ store }), new ContextManager({ store })];
    await addAll(one, "s", numbered(30));
    assert.equal(two.getMessages("s").length, 30);
    const results = await Promise.all([one.compressContext("s"), two.compressContext("s")]);
    assert.deepEqual(results.map(({ by }) => by).sort(), ["none", "rules"]);
    for (const manager of [one, two]) assert.equal(manager.getMessages("s").length, 21);
    await Promise.all([one.close(), two.close()]);
  });

  test("is set aside when it is damaged, and work goes on", async () => {
    const store = newFile();
    writeFileSync(store, "no database at all");
    const events = [];
    const manager = new ContextManager({ store, onEvent: (event) => events.push(event) });
    await manager.addMessage("s", user("a"));
    assert.deepEqual(events, [{ type: "storeSetAside", store, movedTo: `${store}.corrupt-1` }]);
    assert.equal(readFileSync(events[0].movedTo, "utf8"), "no database at all");
    await manager.close();
    const names = readdirSync(folder).filter((name) => name.startsWith(`${files}.db`));
    assert.deepEqual(names.sort(), [`${files}.db`, `${files}.db.corrupt-1`], "closing tidies the log up");
  });

  test("that cannot be one is refused with a code", () => {
    assert.throws(() => new ContextManager({ store: folder }), { code: "ERR_DATABASE_CANNOT_OPEN" });
    assert.throws(() => new ContextManager({ store: join(folder, "none/a.db") }), {
      code: "ERR_DATABASE_CANNOT_OPEN",
    });
    assert.throws(() => new ContextManager({ store: "a\0b" }), { code: "ERR_DATABASE_BAD_PATH" });
    for (const store of ["", ":memory:", 7]) assert.throws(() => new ContextManager({ store }), TypeError);
  });

  test("is complete when it is closed, whatever was still on its way", async () => {
    const store = newFile();
    const manager = new ContextManager({ store, maxMessages: 10_000 });
    const adding = numbered(3000).map((message) => manager.addMessage("s", message));
    manager.setMetadata("s", { goal: "last" });
    await manager.close();
    await Promise.all(adding);
    const again = new ContextManager({ store });
    assert.equal(again.getMessages("s").length, 3000);
    assert.equal(again.getOrCreateContext("s").metadata.goal, "last");
    await again.close();
  });
});

test("there is one manager for everybody who asks for it, until it is closed", async () => {
  const one = ContextManager.getInstance();
  assert.equal(ContextManager.getInstance(), one);
  await one.close();
  assert.notEqual(ContextManager.getInstance(), one);
});

test("bounds and metadata can be set at any time", async () => {
  const manager = new ContextManager();
  manager.setMaxMessages(4);
  manager.setMaxCompressedMessages(1);
  await addAll(manager, "s", numbered(5));
  assert.equal(manager.getMessages("s").length, 2);
  manager.setMaxMessages(50);
  await addAll(manager, "s", numbered(40));
  assert.equal(manager.getMessages("s").length, 42);
  const { metadata } = manager.getOrCreateContext("s");
  assert.deepEqual(Object.keys(metadata), ["createdAt", "updatedAt"]);
  for (const time of Object.values(metadata)) assert.equal(new Date(time).toISOString(), time);
  manager.setMetadata("s", { goal: "ship", planId: "p1" });
  manager.setMetadata("s", { planId: "p2" });
  const { goal, planId } = manager.getOrCreateContext("s").metadata;
  assert.deepEqual([goal, planId], ["ship", "p2"]);
  manager.clearContext("s");
  assert.deepEqual([manager.listSessions(), manager.getStats("s")], [[], undefined]);
  await manager.close();
});
