// Sessions, in memory and in a file alike: bounded, whole, and found again.
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import fc from "fast-check";
import { ContextManager } from "pi-strata/sessions";
import strata from "../index.js";
import { calls, result, says, user } from "./support/said.mjs";
import { addAll, contents, filesOfTest } from "./support/session-files.mjs";

const { countTokens } = strata;
const LABEL = "[上下文总结]";

const { newFile } = filesOfTest(after);

/** No result without its call before it, no call left without its results. */
function assertPaired(messages) {
  const open = new Set();
  for (const { toolCalls = [], toolCallId } of messages) {
    if (toolCallId !== undefined) assert.ok(open.delete(toolCallId), `an orphan result of ${toolCallId}`);
    for (const { id } of toolCalls) open.add(id);
  }
  assert.equal(open.size, 0);
}

/** A summariser that answers when it is told to; `asked` resolves when it was asked. */
function slowSummarizer() {
  let [answer, isAsked] = [];
  const asked = new Promise((resolve) => (isAsked = resolve));
  const answered = new Promise((resolve) => (answer = resolve));
  const summarize = () => {
    isAsked();
    return answered;
  };
  return { summarize, asked, answer };
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
      await manager.getOrCreateContext("s", "Be brief.");
      await addAll(manager, "s", numbered(49));
      assert.equal((await manager.getMessages("s")).length, 50);
      assert.deepEqual(events, []);
      await manager.addMessage("s", user("message 49"));
      const messages = await manager.getMessages("s");
      assert.equal(messages.length, 22);
      assert.equal(messages[0].content, "Be brief.");
      assert.equal(messages[1].role, "assistant");
      assert.match(
        messages[1].content,
        /^\[上下文总结\] 30 messages compressed: 30 from the user, 0 from the assistant, 0 from tools\.\nFirst user messages:\n1\. message 0\n2\. message 1\n3\. message 2$/,
      );
      assert.deepEqual(
        messages.slice(2).map(({ content }) => content),
        numbered(20, 30).map(({ content }) => content),
      );
      assert.deepEqual(await manager.getMessages("s", false), messages.slice(1));
      const { tokensSaved, ...event } = events[0];
      assert.deepEqual(event, { type: "compressed", sessionId: "s", before: 51, after: 22, by: "rules" });
      const stats = await manager.getStats("s");
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
          assertPaired(await manager.getMessages("s"));
          assert.ok((await manager.getMessages("s")).length <= 12 + 5);
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
      const summaries = (await contents(manager, "s")).filter((content) => content.includes(LABEL));
      assert.equal(summaries.length, 1);
      assert.equal(summaries[0].split(LABEL).length, 2);
      assert.match(summaries[0], /1\. Fix src\/lib\.rs\n/);
      assert.match(
        summaries[0],
        /Tools used: bash ×1\nFiles: src\/lib\.rs\nCommands run:\n- cargo build\nErrors still open:\n- bash \(cargo build\): error: no$/,
      );
      const [, counted] = / (\d+) messages compressed/.exec(summaries[0]);
      assert.equal(
        Number(counted) + (await manager.getMessages("s")).length - 1,
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
      assert.equal((await contents(manager, "s"))[0], `${LABEL} goal: part ${requests.length}`);
      const rules = await manager.compressContext("s", async () => "");
      assert.equal(rules.by, "rules");
      assert.match(
        (await contents(manager, "s"))[0],
        new RegExp(`Earlier summary: goal: part ${requests.length}$`),
      );
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
      assert.ok((await contents(manager, "s"))[0].length < 10_000);
      await addAll(manager, "s", numbered(10));
      const { summarize, asked, answer } = slowSummarizer();
      const slow = manager.compressContext("s", summarize);
      await asked;
      await manager.addMessage("s", user("meanwhile"));
      manager.clearContext("s");
      answer("late");
      assert.equal((await slow).by, "none");
      assert.deepEqual(await manager.getMessages("s"), []);
      await manager.close();
    });

    test("messages that come while it is compressed stay behind the summary", async () => {
      const manager = new ContextManager({ ...options(), maxCompressedMessages: 1 });
      await addAll(manager, "s", numbered(5));
      const { summarize, asked, answer } = slowSummarizer();
      const slow = manager.compressContext("s", summarize);
      await asked;
      await manager.addMessage("s", user("meanwhile"));
      answer("four");
      await slow;
      assert.deepEqual(await contents(manager, "s"), [`${LABEL} four`, "message 4", "meanwhile"]);
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
        assert.deepEqual(await contents(manager, id), [`${n} \0 \ud800 ${id.slice(0, 9)}`]);
      assert.deepEqual(
        (await manager.list()).sessions.map(({ sessionId }) => sessionId),
        ids,
      );
      assert.deepEqual(await manager.getMessages("unknown"), []);
      assert.equal(await manager.getStats("unknown"), undefined);
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
        { role: "user", content: [{ type: "video" }] },
        { role: "user", content: "", toolCalls: [{ arguments: 1n }] },
        { role: "user", content: "", id: "" },
      ]) {
        await assert.rejects(manager.addMessage("s", message), TypeError);
      }
      await assert.rejects(manager.getMessages(7), TypeError);
      assert.throws(() => manager.setMaxMessages(0), TypeError);
      assert.throws(() => manager.setMaxCompressedMessages(-1), TypeError);
      await assert.rejects(manager.ask("s", "a", "b"), TypeError);
      assert.deepEqual(await manager.getMessages("s"), []);
      await manager.close();
      await assert.rejects(manager.getMessages("s"), { code: "ERR_CLOSED" });
    });

    test("words, parts of Chinese sentences and accents are found", async () => {
      const manager = new ContextManager(options());
      await addAll(manager, "a", [
        user("请修复数据库连接超时的错误"),
        says("The connection timed out in src/main.rs"),
      ]);
      await addAll(manager, "b", [user("Café 数据 connection")]);
      const found = async (query, search) =>
        (await manager.search(query, search)).map(({ message }) => message.content);
      assert.deepEqual(await found("数据库"), ["请修复数据库连接超时的错误"]);
      assert.deepEqual(await found("connect"), [
        "Café 数据 connection",
        "The connection timed out in src/main.rs",
      ]);
      assert.deepEqual(await found("connect", { sessionId: "a" }), [
        "The connection timed out in src/main.rs",
      ]);
      assert.deepEqual(await found("connect", { limit: 1 }), ["Café 数据 connection"]);
      assert.deepEqual(await found("CAFE 数"), ["Café 数据 connection"]);
      assert.deepEqual(await found("nection"), []);
      assert.deepEqual(await found('" * ('), []);
      assert.equal((await manager.search("Café"))[0].sessionId, "b");
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
        hits.push((await manager.search(words.join(" "))).map(({ message }) => message.content));
        await manager.close();
      }
      assert.deepEqual(hits[0], hits[1]);
    }),
    { numRuns: 60 },
  );
});

test("there is one manager for everybody who asks for it, until it is closed", async () => {
  const options = { maxMessages: 30 };
  const one = ContextManager.getInstance(options);
  assert.equal(ContextManager.getInstance({ ...options }), one);
  assert.throws(() => ContextManager.getInstance({ maxMessages: 31 }), /other options/);
  assert.equal(ContextManager.getInstance(), one);
  await one.close();
  assert.notEqual(ContextManager.getInstance(), one);
});

test("bounds and metadata can be set at any time", async () => {
  const manager = new ContextManager();
  manager.setMaxCompressedMessages(1);
  manager.setMaxMessages(4);
  await addAll(manager, "s", numbered(5));
  assert.equal((await manager.getMessages("s")).length, 2);
  manager.setMaxMessages(50);
  await addAll(manager, "s", numbered(40));
  assert.equal((await manager.getMessages("s")).length, 42);
  const { metadata } = await manager.getOrCreateContext("s");
  assert.deepEqual(Object.keys(metadata), ["createdAt", "updatedAt"]);
  for (const time of Object.values(metadata)) assert.equal(new Date(time).toISOString(), time);
  manager.setMetadata("s", { goal: "ship", planId: "p1" });
  manager.setMetadata("s", { planId: "p2" });
  const { goal, planId } = (await manager.getOrCreateContext("s")).metadata;
  assert.deepEqual([goal, planId], ["ship", "p2"]);
  manager.clearContext("s");
  assert.deepEqual(
    [(await manager.list()).sessions.map(({ sessionId }) => sessionId), await manager.getStats("s")],
    [[], undefined],
  );
  await manager.close();
});
