// The sessions seed, sentence by sentence, in its order: in memory and in a database of the host's.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";
import fc from "fast-check";
import { ContextManager, toOpenAIMessages } from "pi-strata/sessions";
import strata from "../index.js";
import { fieldsOf } from "./support/fields.mjs";
import { calls, contents, numbered, result, says, slowSummarizer, user } from "./support/said.mjs";
import { open } from "./support/sqlite.mjs";
import { table } from "./support/tables.mjs";

const { countTokens } = strata;
const LABEL = "[上下文总结]";
const addAll = (manager, id, messages) => {
  for (const message of messages) manager.addMessage(id, message);
};

/** No result without its call before it, no call left without its results. */
function assertPaired(messages) {
  const open = new Set();
  for (const { toolCalls = [], toolCallId } of messages) {
    if (toolCallId !== undefined) assert.ok(open.delete(toolCallId), `an orphan result of ${toolCallId}`);
    for (const { id } of toolCalls) open.add(id);
  }
  assert.equal(open.size, 0);
}

test("the example runs as it stands", async () => {
  const aiService = { callAI: async () => "用户想要一个例子。" };
  const contextManager = ContextManager.getInstance();
  const context = contextManager.getOrCreateContext("session_1", "系统提示词");
  contextManager.addMessage("session_1", { role: "user", content: "用户输入" });
  const messages = contextManager.getMessages("session_1");
  await contextManager.compressContext("session_1", aiService);
  contextManager.clearContext("session_1");
  assert.deepEqual([context.sessionId, context.messages[0].content], ["session_1", "系统提示词"]);
  assert.deepEqual(fieldsOf(messages, "role", "content"), [
    ["system", "系统提示词"],
    ["user", "用户输入"],
  ]);
  assert.deepEqual(contextManager.getMessages("session_1"), []);
});

for (const [place, options] of [
  ["in memory", () => ({})],
  ["in a database", () => ({ database: open(":memory:") })],
]) {
  const managerOf = (more) => {
    const events = [];
    const manager = new ContextManager({ ...options(), onEvent: (event) => events.push(event), ...more });
    return { manager, events };
  };

  describe(place, () => {
    test("getInstance() is the one manager of the process", () => {
      assert.equal(ContextManager.getInstance(), ContextManager.getInstance());
      assert.throws(() => ContextManager.getInstance({ maxMessages: 31 }), /there already/);
    });

    test("getOrCreateContext(sessionId, systemPrompt?) returns the context", () => {
      const { manager } = managerOf();
      const { sessionId, messages, metadata } = manager.getOrCreateContext("s", "Be brief.");
      assert.deepEqual([sessionId, messages[0].role, messages[0].content], ["s", "system", "Be brief."]);
      assert.deepEqual(Object.keys(metadata), ["createdAt", "updatedAt"]);
      for (const time of Object.values(metadata)) assert.equal(new Date(time).toISOString(), time);
      assert.deepEqual(manager.getOrCreateContext("s", "Another."), manager.getOrCreateContext("s"));
      assert.deepEqual(manager.getOrCreateContext("new").messages, []);
      assert.equal(manager.getOrCreateContext("new", "Late.").messages[0].content, "Late.");
    });

    test("the context is live: its messages and its metadata are the session's, and what is set on it stays", () => {
      const { manager } = managerOf();
      const context = manager.getOrCreateContext("s", "Be brief.");
      const { metadata } = context;
      manager.addMessage("s", user("hello"));
      assert.deepEqual(fieldsOf(context.messages, "content"), ["Be brief.", "hello"]);
      assert.throws(() => context.messages.push(user("past the manager")), TypeError);
      metadata.goal = "ship";
      assert.equal({ ...metadata }.goal, "ship", "a kept object lists what is set on it");
      context.metadata.planId = "p1";
      assert.deepEqual([metadata.goal, metadata.planId], ["ship", "p1"]);
      const { metadata: again } = manager.getOrCreateContext("s");
      assert.deepEqual([again.goal, again.planId, again.createdAt], ["ship", "p1", metadata.createdAt]);
      assert.deepEqual(Object.keys(context.metadata).sort(), ["createdAt", "goal", "planId", "updatedAt"]);
      context.metadata = { ...context.metadata, goal: undefined, planId: "p2" };
      metadata.goal = undefined;
      assert.deepEqual([metadata.goal, manager.listSessions()[0].metadata.planId], [undefined, "p2"]);
      assert.throws(() => (metadata.goal = 7), TypeError);
      assert.equal(JSON.parse(JSON.stringify(context)).messages.length, 2);
      assert.match(inspect(context), /'Be brief.'.*planId: 'p2'/s);
      manager.clearContext("s");
      assert.equal(metadata.planId, "p2", "a host that still holds it sees what it saw last");
      assert.deepEqual(manager.listSessions(), []);
    });

    test("without a system prompt, or with an empty one, a session has none", () => {
      const { manager } = managerOf();
      assert.deepEqual(manager.getOrCreateContext("s", "").messages, []);
      assert.deepEqual(manager.getOrCreateContext("s", null).messages, []);
      manager.addMessage("s", user("hello"));
      manager.getOrCreateContext("s", "Be brief.");
      manager.addMessage("s", { role: "system", content: "a rule" });
      manager.setSystemPrompt("s", "Be long.");
      assert.deepEqual(contents(manager, "s"), ["Be long.", "hello", "a rule"]);
    });

    test("addMessage returns nothing, gives a message an id and a time, and adds a known id once", () => {
      const { manager } = managerOf();
      assert.equal(manager.addMessage("s", user("hello")), undefined);
      const [{ id, timestamp, ...message }] = manager.getMessages("s");
      assert.deepEqual(message, user("hello"));
      assert.equal(new Date(timestamp).toISOString(), timestamp);
      manager.addMessage("s", { ...user("a"), id: "request-1" });
      manager.addMessage("s", { ...user("a"), id: "request-1" });
      assert.deepEqual(contents(manager, "s"), ["hello", "a"]);
    });

    test("a field that is null is not there, as OpenAI's answers have it", () => {
      const { manager } = managerOf();
      const { toolCalls } = calls("1", "ls");
      const none = { id: null, timestamp: null, toolCallId: null, blocks: null };
      manager.addMessage("s", { role: "assistant", content: null, toolCalls, ...none });
      manager.addMessage("s", { role: "assistant", content: "done", toolCalls: null, ...none });
      const [called, done] = manager.getMessages("s");
      assert.deepEqual([called.content, called.toolCalls, "toolCallId" in called], ["", toolCalls, false]);
      assert.deepEqual(Object.keys(done).sort(), ["content", "id", "role", "timestamp"]);
      const call = { id: "1", type: "function", function: { name: "f", arguments: '{"n": 1}' } };
      const original = [{ parts: [1] }];
      manager.addMessage("any", { ...user("a"), original });
      const [kept] = manager.getMessages("any");
      assert.deepEqual(kept.original, original, "any object is kept beside a message");
      const openai = [
        { role: "assistant", content: null, tool_calls: [call] },
        { role: "tool", tool_call_id: "1", content: "fine" },
      ];
      addAll(manager, "o", openai);
      assert.deepEqual(toOpenAIMessages(manager.getMessages("o")), openai, "nor is a call of OpenAI's lost");
      const signed = [{ ...call, extra_content: { google: { thought_signature: "s" } } }];
      const more = openai.map((message) => ({
        ...{ ...message, name: "f", reasoning_content: "first" },
        ...(message.tool_calls && { tool_calls: signed }),
      }));
      const others = { isError: true, annotations: [], tokens: 5n, raw: { parts: [manager] } };
      others.raw.self = others;
      addAll(
        manager,
        "more",
        more.map((message, n) => ({ ...message, ...others, id: `${n}` })),
      );
      const stored = manager.getMessages("more");
      assert.deepEqual(toOpenAIMessages(stored), more);
      const words = ["thought_signature", "fine"].map(
        (word) => JSON.stringify(stored).split(word).length - 1,
      );
      assert.deepEqual(words, [1, 1], "none is stored twice");
    });

    test("getMessages(sessionId, includeSystem = true) returns an array", () => {
      const { manager } = managerOf();
      addAll(manager, "s", [{ role: "system", content: "opens it" }, user("one"), says("two")]);
      assert.deepEqual(contents(manager, "s"), ["opens it", "one", "two"]);
      assert.deepEqual(fieldsOf(manager.getMessages("s", false), "role"), ["user", "assistant"]);
      assert.deepEqual(manager.getMessages("unknown"), []);
      const [first] = manager.getMessages("s");
      assert.throws(() => (first.content = "changed"), TypeError);
    });

    test("clearContext forgets a session", () => {
      const { manager } = managerOf();
      manager.getOrCreateContext("c", "You are A.");
      manager.addMessage("c", user("card 41z11"));
      assert.equal(manager.clearContext("c"), undefined);
      assert.deepEqual([manager.getMessages("c"), manager.listSessions()], [[], []]);
      manager.getOrCreateContext("c", "You are B.");
      assert.deepEqual(contents(manager, "c"), ["You are B."]);
    });

    test("setMaxMessages(50) and setMaxCompressedMessages(20) set the limits, in any order", () => {
      const { manager } = managerOf();
      manager.setMaxMessages(10);
      manager.setMaxCompressedMessages(5);
      addAll(manager, "s", numbered(11));
      assert.deepEqual(contents(manager, "s").slice(1), contents(manager, "s").slice(-5));
      assert.equal(manager.getMessages("s").length, 6);
      manager.setMaxCompressedMessages(50);
      addAll(manager, "s", numbered(60, 11));
      assert.ok(manager.getMessages("s").length <= 10, "a limit holds whatever the other is");
      for (const n of [0, -1, 1.5, "5"]) assert.throws(() => manager.setMaxMessages(n), TypeError);
      assert.throws(() => manager.setMaxCompressedMessages(-1), TypeError);
    });

    test("getStats(sessionId) counts messages and tokens", () => {
      const { manager } = managerOf();
      addAll(manager, "s", numbered(60));
      const { messages, tokens, compressions } = manager.getStats("s");
      assert.deepEqual(
        [messages, tokens],
        [manager.getMessages("s").length, countTokens(manager.getMessages("s"))],
      );
      assert.equal(compressions, 1);
      assert.equal(manager.getStats("unknown"), undefined);
    });

    test("setMetadata sets goal and planId beside createdAt and updatedAt", () => {
      const { manager } = managerOf();
      manager.setMetadata("s", { goal: "ship", planId: "p1" });
      manager.setMetadata("s", { planId: null });
      const { metadata } = manager.getOrCreateContext("s");
      assert.deepEqual(Object.keys(metadata).sort(), ["createdAt", "goal", "updatedAt"]);
      assert.equal(metadata.goal, "ship");
    });

    test("setSystemPrompt replaces it, deleteMessages takes a call with its result, listSessions counts", () => {
      const { manager } = managerOf();
      addAll(manager, "s", [user("card 41z11"), calls("1", "ls"), result("1", "fine"), says("done")]);
      manager.setSystemPrompt("s", "You are A.");
      manager.setSystemPrompt("s", "You are B.");
      const [, card, call] = manager.getMessages("s");
      const gone = manager.deleteMessages("s", [card.id, call.id, "unknown"]);
      assert.equal(gone.length, 3, "a call goes with its result");
      assert.deepEqual(contents(manager, "s"), ["You are B.", "done"]);
      assert.deepEqual(manager.deleteMessages("unknown", ["a"]), []);
      manager.addMessage("t", user("other"));
      const listed = manager
        .listSessions()
        .map(({ sessionId, messages, metadata }) => [sessionId, messages, metadata.goal]);
      assert.deepEqual(listed, [
        ["s", 2, undefined],
        ["t", 1, undefined],
      ]);
    });

    test("compressContext(sessionId, aiService?) is a promise and takes a function or an object with callAI", async () => {
      const { manager } = managerOf();
      const given = [];
      const service = {
        getCurrentProvider: async () => "a provider",
        callAI: async (...all) => {
          given.push(all);
          return "by the service";
        },
      };
      for (const [aiService, summary] of [
        [service, `${LABEL} by the service`],
        [async () => `${LABEL} ${LABEL} by a function`, `${LABEL} by a function`],
        [{ callAI: async () => "no provider is needed" }, `${LABEL} no provider is needed`],
      ]) {
        addAll(manager, "s", numbered(25));
        assert.equal((await manager.compressContext("s", aiService)).by, "ai");
        assert.deepEqual(contents(manager, "s").slice(0, 1), [summary]);
        assert.equal(manager.getMessages("s").length, 21);
      }
      const [[prompt, provider, useTools]] = given;
      assert.deepEqual([provider, useTools], ["a provider", false]);
      assert.ok(prompt.includes("message 0"));
      assert.deepEqual(await manager.compressContext("none"), { before: 0, after: 0, by: "none" });
      await assert.rejects(manager.compressContext("s", {}), TypeError);
    });

    test("over 50 messages it compresses: the system prompt stays, the newest 20 stay", () => {
      const { manager, events } = managerOf();
      manager.getOrCreateContext("s", "Be brief.");
      addAll(manager, "s", numbered(49));
      assert.equal(manager.getMessages("s").length, 50);
      assert.deepEqual(events, []);
      manager.addMessage("s", user("message 49"));
      const messages = contents(manager, "s");
      assert.deepEqual([messages.length, messages[0]], [22, "Be brief."]);
      assert.deepEqual(messages.slice(2), fieldsOf(numbered(20, 30), "content"));
      assert.deepEqual(events[0], { type: "compressed", sessionId: "s", before: 51, after: 22, by: "rules" });
    });

    test("addMessage(sessionId, message, aiService?) compresses with the service, in the background", async () => {
      const { manager, events } = managerOf({ maxMessages: 10, maxCompressedMessages: 2 });
      const service = { callAI: async () => "by the service" };
      for (const message of numbered(11)) assert.equal(manager.addMessage("s", message, service), undefined);
      assert.equal(manager.getMessages("s").length, 11, "nothing is lost until the summary is there");
      while (events.length === 0) await pause(1);
      assert.deepEqual(contents(manager, "s"), [`${LABEL} by the service`, "message 9", "message 10"]);
      for (const message of numbered(8, 11)) manager.addMessage("s", message, null);
      assert.match(contents(manager, "s")[0], /messages compressed/);
      for (const odd of [{}, 7, "service"])
        assert.throws(() => manager.addMessage("t", user("never"), odd), TypeError);
      assert.deepEqual(manager.getMessages("t"), []);
      const without = {
        getCurrentProvider: async () => null,
        callAI: async () => assert.fail("no provider"),
      };
      addAll(manager, "u", numbered(9));
      assert.equal((await manager.compressContext("u", without)).by, "rules");
    });

    test("pairs stay whole, whatever the sizes", () => {
      fc.assert(
        fc.property(fc.array(fc.nat(4), { maxLength: 30 }), fc.nat(8), (groups, keep) => {
          const { manager } = managerOf({ maxMessages: 12, maxCompressedMessages: keep });
          for (const [n, results] of groups.entries()) {
            const ids = Array.from({ length: results }, (_, i) => `${n}-${i}`);
            const toolCalls = ids.map((id) => ({ id, name: "bash", arguments: {} }));
            addAll(manager, "s", [
              { role: "assistant", content: `${n}`, toolCalls },
              ...ids.map((id) => result(id, "fine")),
            ]);
          }
          assertPaired(manager.getMessages("s"));
          assert.ok(manager.getMessages("s").length <= 12 + 5);
        }),
        { numRuns: 15 },
      );
      for (const opening of [
        [calls("1", "ls")],
        [
          { ...calls("1", "ls"), toolCalls: [...calls("1", "ls").toolCalls, ...calls("2", "ls").toolCalls] },
          result("1", "a"),
        ],
        Array.from({ length: 300 }, (_, n) => ({ role: "system", content: `rule ${n}` })),
      ]) {
        const { manager } = managerOf();
        addAll(manager, "s", [...opening, ...numbered(300)]);
        assert.ok(
          manager.getStats("s").messages <= 50,
          "an unanswered call, or many rules, stop no compression",
        );
      }
    });

    test("the middle becomes one assistant message [上下文总结] … from the summariser", async () => {
      const requests = [];
      const summarize = async (messages, request) => {
        requests.push({ messages, request });
        return `goal: part ${requests.length}`;
      };
      const { manager } = managerOf({ summarize, maxMessages: 10, maxCompressedMessages: 2 });
      addAll(manager, "s", numbered(11));
      assert.equal(manager.getMessages("s").length, 11, "nothing is lost until the summary is there");
      await manager.compressContext("s");
      assert.deepEqual(contents(manager, "s"), [`${LABEL} goal: part 1`, "message 9", "message 10"]);
      const [{ messages, request }] = requests;
      assert.equal(messages.length, 9);
      assert.deepEqual([request.temperature, request.maxTokens], [0.3, 500]);
      assert.ok(request.signal instanceof AbortSignal);
      for (const asked of ["goal", "steps", "decisions", "problems", "message 3"])
        assert.ok(request.prompt.includes(asked), asked);
      addAll(manager, "s", numbered(11, 11));
      await manager.compressContext("s");
      assert.equal(requests[1].messages[0].content, `${LABEL} goal: part 1`, "it is handed its last summary");
      assert.equal(contents(manager, "s").filter((content) => content.includes(LABEL)).length, 1);
    });

    test("a summary in the background takes what came meanwhile along, and gives way to a clear", async () => {
      const slow = slowSummarizer();
      const { manager, events } = managerOf({
        summarize: slow.summarize,
        maxMessages: 10,
        maxCompressedMessages: 2,
      });
      addAll(manager, "s", numbered(14));
      while (slow.answer === undefined) await pause(1);
      assert.equal(slow.asked, 1, "one compression at a time");
      manager.addMessage("s", user("meanwhile"));
      slow.answer("nine");
      while (events.length === 0) await pause(1);
      const kept = ["message 9", "message 10", "message 11", "message 12", "message 13", "meanwhile"];
      assert.deepEqual(contents(manager, "s").slice(0, 1), [`${LABEL} nine`]);
      assert.deepEqual(contents(manager, "s").slice(-6), kept);
      slow.answer = undefined;
      const ids = numbered(14).map((message, n) => ({ ...message, id: `${n}` }));
      addAll(manager, "c", ids);
      while (slow.answer === undefined) await pause(1);
      manager.clearContext("c");
      addAll(manager, "c", ids.slice(0, 3));
      slow.answer("of the session that was cleared");
      await pause(20);
      assert.deepEqual(contents(manager, "c"), ["message 0", "message 1", "message 2"]);
    });

    test("a summary under way is stored, whatever is added without a service meanwhile", async () => {
      const limits = { maxMessages: 10, maxCompressedMessages: 2 };
      for (const begin of [
        (manager, summarize) => manager.addMessage("s", user("the eleventh"), summarize),
        (manager, summarize) => manager.compressContext("s", summarize),
      ]) {
        const slow = slowSummarizer();
        const { manager, events } = managerOf(limits);
        addAll(manager, "s", numbered(10));
        begin(manager, slow.summarize);
        addAll(manager, "s", numbered(3, 20));
        while (slow.answer === undefined) await pause(1);
        addAll(manager, "s", numbered(3, 30));
        slow.answer("paid for");
        while (events.length === 0) await pause(1);
        assert.equal(events[0].by, "ai");
        assert.equal(contents(manager, "s")[0], `${LABEL} paid for`);
      }
    });

    test("compressContext without a service holds up no other compression", async () => {
      const { manager, events } = managerOf();
      addAll(manager, "s", numbered(40));
      const compressed = manager.compressContext("s");
      addAll(manager, "s", numbered(40, 40));
      assert.ok(manager.getMessages("s").length <= 50);
      await compressed;
      assert.ok(manager.getMessages("s").length <= 50);
      assert.ok(events.every(({ by }) => by === "rules"));
    });

    const bad = {
      rejects: async () => Promise.reject(new Error("no")),
      throws: () => {
        throw new Error("no");
      },
      hangs: () => new Promise(() => {}),
      "is empty": async () => " \n ",
      "only thinks": async () => "<think>Well. ",
      "writes more than it read": async () => "the same again and again ".repeat(100),
      "is no text": async () => 7,
    };
    for (const [name, summarize] of Object.entries(bad)) {
      test(`from rules when the summariser ${name}`, async () => {
        const { manager, events } = managerOf({ summarizeTimeoutMs: 20 });
        addAll(manager, "s", numbered(30));
        const compressed = await manager.compressContext("s", summarize);
        assert.deepEqual(compressed, { before: 30, after: 21, by: "rules" });
        assert.deepEqual(fieldsOf(events, "type", "code"), [
          ["summarizeFailed", "ERR_SUMMARIZE"],
          ["compressed", undefined],
        ]);
      });
    }

    test("rules: message counts, the first 3 user messages, tools used, files and commands named, open errors", () => {
      const { manager } = managerOf({ maxMessages: 10, maxCompressedMessages: 2 });
      addAll(manager, "s", [
        user("Fix src/lib.rs:12"),
        calls("1", "cargo build"),
        result("1", "error: no", true),
        calls("2", "ls"),
        result("2", "error: gone", true),
        calls("3", "ls"),
        result("3", "fine"),
        {
          ...says(""),
          toolCalls: [{ id: "4", function: { name: "read", arguments: '{"path":"a.md","cmd":"x"}' } }],
        },
        result("4", "words"),
      ]);
      addAll(manager, "s", numbered(60));
      const summaries = contents(manager, "s").filter((content) => content.includes(LABEL));
      assert.equal(summaries.length, 1, "summaries merge flat");
      const [, counted] = / (\d+) messages compressed/.exec(summaries[0]);
      const all = Number(counted) + manager.getMessages("s").length - 1;
      assert.equal(all, 69, "every message is counted once");
      assert.match(
        summaries[0],
        /\nFirst user messages:\n1\. Fix src\/lib\.rs:12\n2\. message 0\n3\. message 1\n/,
      );
      assert.match(
        summaries[0],
        /Tools used: bash ×3, read ×1\nFiles: src\/lib\.rs, a\.md\nCommands run:\n- cargo build\n- ls\nErrors still open:\n- bash \(cargo build\): error: no$/,
      );
    });

    test("rules write in the language of the conversation, or in the one asked for", async () => {
      const summaryOf = async (language, messages) => {
        const { manager } = managerOf(language);
        addAll(manager, "s", messages);
        await manager.compressContext("s");
        return contents(manager, "s")[0];
      };
      const chinese = numbered(30).map(({ content }) => user(`请看 ${content}`));
      assert.match(await summaryOf({}, numbered(30)), /^\[上下文总结\] 10 messages compressed/);
      assert.match(
        await summaryOf({}, chinese),
        /^\[上下文总结\] 已压缩 10 条消息：用户 10，助手 0，工具 0。\n最初的用户消息：/,
      );
      const prose = user("请把config.json里的端口改成8080，改src/a.ts和./b.js，重启C:\\app\\main.ts");
      const files = ["config.json", "src/a.ts", "./b.js", "C:\\app\\main.ts"];
      assert.ok((await summaryOf({}, [prose, ...chinese])).endsWith(`涉及的文件：${files.join("、")}`));
      assert.match(await summaryOf({ language: "zh" }, numbered(30)), /已压缩 10 条消息/);
      assert.match(await summaryOf({ language: "en" }, chinese), /10 messages compressed/);
    });

    test("a summariser's words stay in a later summary by rules, long ones are cut", async () => {
      const { manager } = managerOf();
      addAll(manager, "s", numbered(30));
      await manager.compressContext("s", async () => "the goal \ud83d");
      addAll(manager, "s", numbered(30));
      await manager.compressContext("s");
      assert.match(contents(manager, "s")[0], /\nEarlier summary: the goal \ufffd$/);
      addAll(manager, "long", Array(30).fill(user("much ".repeat(1000))));
      assert.equal((await manager.compressContext("long", async () => "x".repeat(2e4))).by, "ai");
      assert.ok(contents(manager, "long")[0].length < 10_000);
    });

    test("a summariser's prompt is as long as asked for at most", async () => {
      let asked;
      const summarize = async (_, { prompt }) => {
        asked = prompt;
        return "short";
      };
      const { manager } = managerOf({ summarize, summarizeTokens: 3000 });
      const long = `</messages> ${"数据库 failed ".repeat(800)}`;
      for (let n = 0; n < 30; n += 1) manager.addMessage("s", user(`message ${n} ${long}`));
      await manager.compressContext("s");
      const tokens = countTokens(asked);
      assert.ok(tokens > 1000 && tokens <= 3000, `${tokens} tokens`);
      assert.equal(asked.split("</messages>").length, 2, "no text closes the tag");
    });

    test("what is cleared or deleted is gone, also from summaries", async () => {
      const { manager } = managerOf({ maxMessages: 10, maxCompressedMessages: 2 });
      addAll(manager, "s", [
        { ...user("card 41z11"), id: "card" },
        { ...user("ship it"), id: "ship" },
      ]);
      addAll(manager, "s", [
        calls("1", "cat 41z11.txt"),
        { ...result("1", "error 41z11", true), id: "failed" },
      ]);
      addAll(manager, "s", numbered(30));
      assert.match(contents(manager, "s")[0], /card 41z11.*41z11\.txt.*error 41z11/s);
      const gone = manager.deleteMessages("s", ["card", "failed"]);
      assert.equal(gone.length, 3, "the result goes with its call");
      assert.ok(!JSON.stringify(manager.getMessages("s")).includes("41z11"));
      assert.match(contents(manager, "s")[0], /1\. ship it\n2\. message 0/);
      addAll(manager, "s", numbered(30));
      assert.ok(!JSON.stringify(manager.getMessages("s")).includes("41z11"), "nor does it come back");
      await manager.compressContext("s", async () => "the words of a model about ship it");
      manager.deleteMessages("s", ["ship"]);
      assert.ok(!JSON.stringify(manager.getMessages("s")).includes("ship it"));
    });

    test("images stay, in order, and count", () => {
      const { manager } = managerOf();
      const blocks = [
        { type: "text", text: "What is this?" },
        { type: "image", data: "aGk=", mimeType: "image/png" },
      ];
      addAll(manager, "s", [
        { role: "user", content: blocks },
        { role: "user", content: blocks.slice(0, 1) },
      ]);
      const [shown, plain] = manager.getMessages("s");
      assert.deepEqual(
        [shown.content, shown.blocks, plain.blocks],
        ["What is this?\n[image]", blocks, undefined],
      );
      assert.ok(manager.getStats("s").tokens > 1200);
    });

    test("any string is a session id, any text a message", () => {
      const { manager } = managerOf();
      const ids = ["", "a'b\"c", "../../etc/passwd", "a\0b", "\0", "\ud800", "\ud801", "__proto__"];
      ids.push("会话", "sha256:a", "x".repeat(1 << 20));
      for (const [n, id] of ids.entries()) {
        manager.setMetadata(id, { goal: `\0 \udfff ${n}` });
        manager.addMessage(id, user(`${n} \0 \ud800 ${id.slice(0, 9)}`));
      }
      for (const [n, id] of ids.entries()) {
        assert.deepEqual(contents(manager, id), [`${n} \0 \ud800 ${id.slice(0, 9)}`]);
        assert.equal(manager.getOrCreateContext(id).metadata.goal, `\0 \udfff ${n}`);
      }
      assert.deepEqual(new Set(manager.listSessions().map(({ sessionId }) => sessionId)), new Set(ids));
    });

    test("what is no message or no session is refused, and nothing is kept of it", () => {
      const { manager } = managerOf();
      const bigint = { role: "user", content: "", toolCalls: [{ arguments: 1n }] };
      for (const message of [undefined, bigint, ...table("no-messages.json")])
        assert.throws(() => manager.addMessage("s", message), TypeError);
      const guarded = { ...calls("1", "ls"), toolResults: [{ success: true, data: "fine" }] };
      for (const take of [() => manager.addMessage("s", guarded), () => toOpenAIMessages([guarded])])
        assert.throws(take, /message\.toolResults .* a message of its own/);
      assert.throws(() => manager.getMessages(7), TypeError);
      assert.throws(() => manager.setMetadata("s", { goal: 7 }), TypeError);
      assert.throws(() => manager.setSystemPrompt("s"), TypeError);
      assert.deepEqual([manager.getMessages("s"), manager.listSessions()], [[], []]);
    });
  });
}
