// Sessions never lie: what is cleared is gone, what is acknowledged is kept, what fails is said, and nothing a host or a
// model does keeps a session from staying bounded.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ContextManager } from "pi-strata/sessions";
import strata from "../index.js";
import { calls, result, says, user } from "./support/said.mjs";

const { countTokens } = strata;
const folder = mkdtempSync(join(tmpdir(), "pi-strata-truth-"));
after(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.db`);
const contents = async (manager, id) => (await manager.getMessages(id)).map(({ content }) => content);
const numbered = (count, from = 0) => Array.from({ length: count }, (_, n) => user(`message ${from + n}`));
async function addAll(manager, id, messages) {
  for (const message of messages) await manager.addMessage(id, message);
}

/** Runs a script in a process of its own; hands back what it printed to both streams. */
function run(script, ...args) {
  const index = fileURLToPath(new URL("../lib/sessions/index.js", import.meta.url));
  const code = `const { ContextManager } = require(${JSON.stringify(index)}); const [store] = process.argv.slice(1); (async () => { ${script} })();`;
  const { stdout, stderr, status } = spawnSync(process.execPath, ["-e", code, ...args], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return { stdout, stderr };
}

for (const [kind, options] of [
  ["in memory", () => ({})],
  ["in a file", () => ({ store: newFile() })],
]) {
  describe(kind, () => {
    test("a cleared session does not come back", async () => {
      const manager = new ContextManager(options());
      await manager.getOrCreateContext("c", "You are A.");
      await manager.addMessage("c", user("card 4111"));
      const cleared = manager.clearContext("c");
      assert.deepEqual(
        [await manager.search("4111"), (await manager.list()).sessions.map(({ sessionId }) => sessionId)],
        [[], []],
        "before it is stored",
      );
      await manager.getOrCreateContext("c", "You are B.");
      await manager.addMessage("c", user("hello"));
      assert.deepEqual(await contents(manager, "c"), ["You are B.", "hello"]);
      await cleared;
      assert.deepEqual(await contents(manager, "c"), ["You are B.", "hello"]);
      assert.deepEqual(await manager.search("4111"), []);
      await manager.close();
    });

    test("a message that is added again is there once", async () => {
      const manager = new ContextManager(options());
      await addAll(manager, "s", numbered(2));
      const [first] = await manager.getMessages("s");
      await Promise.all([manager.addMessage("s", first), manager.addMessage("s", first)]);
      assert.deepEqual(await contents(manager, "s"), ["message 0", "message 1"]);
      assert.equal((await manager.getOrCreateContext("s")).messages.length, 2);
      await manager.close();
    });

    test("clearing takes what is on its way with it, in the order asked for", async () => {
      const manager = new ContextManager(options());
      const before = manager.addMessage("c", user("before"));
      const cleared = manager.clearContext("c");
      const later = manager.addMessage("c", user("after"));
      await Promise.all([before, cleared, later]);
      assert.deepEqual(await contents(manager, "c"), ["after"]);
      await manager.clearContext("c");
      assert.deepEqual(
        [(await manager.list()).sessions.map(({ sessionId }) => sessionId), await manager.getStats("c")],
        [[], undefined],
      );
      await manager.close();
    });

    test("what is added while a cleared session is erased stays in view", async () => {
      const manager = new ContextManager(options());
      await addAll(manager, "c", numbered(300));
      const cleared = manager.clearContext("c");
      await manager.addMessage("c", user("after"));
      assert.deepEqual(await contents(manager, "c"), ["after"]);
      await cleared;
      assert.deepEqual(await contents(manager, "c"), ["after"]);
      await manager.close();
    });

    const unanswered = {
      "a call that is never answered": [calls("1", "ls")],
      "one of two calls answered": [
        { ...calls("1", "ls"), toolCalls: [...calls("1", "ls").toolCalls, ...calls("2", "ls").toolCalls] },
        result("1", "fine"),
      ],
    };
    for (const [name, opening] of Object.entries(unanswered)) {
      test(`${name} does not stop compression`, async () => {
        const manager = new ContextManager(options());
        await addAll(manager, "s", [...opening, ...numbered(600)]);
        assert.ok(
          (await manager.getStats("s")).messages <= 50 && (await manager.getStats("s")).compressions > 10,
        );
        await manager.close();
      });
    }

    test("300 system messages are bounded, the first stays", async () => {
      const manager = new ContextManager(options());
      for (let n = 0; n < 300; n += 1)
        await manager.addMessage("s", { role: "system", content: `rule ${n}` });
      const messages = await contents(manager, "s");
      assert.ok(messages.length <= 50, `${messages.length} messages`);
      assert.deepEqual([messages[0], messages.at(-1)], ["rule 0", "rule 299"]);
      await manager.close();
    });

    test("metadata set while a compression commits loses nothing", async () => {
      const given = options();
      const manager = new ContextManager(given);
      await addAll(manager, "s", numbered(40));
      const compressing = manager.compressContext("s");
      const set = manager.setMetadata("s", { goal: "ship" });
      await Promise.all([compressing, set]);
      assert.equal((await manager.getStats("s")).compressions, 1);
      const { compressions } = await manager.getStats("s");
      await manager.close();
      if (given.store === undefined) return;
      const again = new ContextManager(given);
      assert.equal((await again.getStats("s")).compressions, compressions);
      assert.equal((await again.getOrCreateContext("s")).metadata.goal, "ship");
      await again.close();
    });

    test("what is added and then closed is stored and resolved", async () => {
      const given = options();
      const manager = new ContextManager(given);
      const adding = numbered(60).map((message) => manager.addMessage("s", message));
      const closed = manager.close();
      const outcomes = await Promise.allSettled(adding);
      await closed;
      assert.deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(["fulfilled"]));
      await assert.rejects(manager.addMessage("s", user("late")), { code: "ERR_CLOSED" });
      if (given.store === undefined) return;
      const again = new ContextManager({ ...given, maxMessages: 100 });
      assert.equal((await again.getMessages("s")).length, 60);
      await again.close();
    });

    test("messages that come during a compression are compressed after it", async () => {
      const manager = new ContextManager(options());
      await addAll(manager, "s", numbered(50));
      await Promise.all(numbered(40, 50).map((message) => manager.addMessage("s", message)));
      assert.ok(
        (await manager.getStats("s")).messages <= 50,
        `${(await manager.getStats("s")).messages} messages`,
      );
      await manager.close();
    });

    test("what is handed out is frozen throughout", async () => {
      const manager = new ContextManager(options());
      const given = { ...calls("1", "ls"), content: "x" };
      await manager.addMessage("s", given);
      given.toolCalls[0].arguments.command = "changed";
      const [{ toolCalls }] = await manager.getMessages("s");
      assert.equal(toolCalls[0].arguments.command, "ls");
      assert.throws(() => (toolCalls[0].arguments.command = "changed"), TypeError);
      assert.throws(() => toolCalls.push(1), TypeError);
      await manager.close();
    });

    test("a search for 500 letters in 50 KB of them is no trouble", async () => {
      const manager = new ContextManager(options());
      await manager.addMessage("s", user("a ".repeat(25_000)));
      await manager.addMessage("s", user("a".repeat(50_000)));
      assert.equal((await manager.search("a".repeat(500))).length, 1);
      assert.equal((await manager.search("a ".repeat(500))).length, 2);
      await manager.close();
    });

    test("rules write in the language of the conversation, or in the one asked for", async () => {
      const summaryOf = async (language, messages) => {
        const manager = new ContextManager({ ...options(), ...language });
        await addAll(manager, "s", messages);
        await manager.compressContext("s");
        const [summary] = await contents(manager, "s");
        await manager.close();
        return summary;
      };
      const chinese = numbered(30).map(({ content }) => user(`请看 ${content}`));
      assert.match(await summaryOf({}, numbered(30)), /^\[上下文总结\] 10 messages compressed/);
      assert.match(await summaryOf({}, chinese), /^\[上下文总结\] 已压缩 10 条消息/);
      assert.match(await summaryOf({ language: "zh" }, numbered(30)), /已压缩 10 条消息/);
      assert.match(await summaryOf({ language: "en" }, chinese), /10 messages compressed/);
    });

    test("a summariser's prompt is as long as asked for at most", async () => {
      const prompts = [];
      const summarize = async (_, { prompt }) => {
        prompts.push(prompt);
        return "short";
      };
      const manager = new ContextManager({ ...options(), summarize, summarizeTokens: 3000 });
      await addAll(
        manager,
        "s",
        numbered(30).map(({ content }) => user(`${content} ${"数据库 failed ".repeat(800)}`)),
      );
      assert.equal((await manager.compressContext("s")).by, "ai");
      const tokens = countTokens(prompts[0]);
      assert.ok(tokens > 1000 && tokens <= 3000, `${tokens} tokens`);
      await manager.close();
    });
  });
}

test("a session that was cleared as the process ended is gone", () => {
  const store = newFile();
  run(
    `const manager = new ContextManager({ store });
     await manager.getOrCreateContext("c", "You are A.");
     await manager.addMessage("c", { role: "user", content: "card 4111" });
     manager.clearContext("c");
     process.exit(0);`,
    store,
  );
  const { stdout } = run(
    `const manager = new ContextManager({ store });
     console.log(JSON.stringify([(await manager.list()).sessions.map(({ sessionId }) => sessionId), await manager.getMessages("c"), await manager.search("4111")]));
     await manager.close();`,
    store,
  );
  assert.deepEqual(JSON.parse(stdout), [[], [], []]);
  assert.ok(!readFileSync(store).includes("4111"), "no byte of it is left in the file");
});

test("a session that was cleared as the process ended, while others wrote to it, is gone", () => {
  for (const wait of [
    "",
    "await new Promise(setImmediate);",
    "await new Promise((r) => setTimeout(r, 3));",
  ]) {
    const store = newFile();
    run(
      `const manager = new ContextManager({ store, maxMessages: 5000 });
       await manager.getOrCreateContext("c");
       const said = "card 4111 ".repeat(200);
       for (let n = 0; n < 3000; n += 1) manager.addMessage(n % 3 === 0 ? "c" : "other", { role: "user", content: said });
       ${wait}
       manager.clearContext("c");
       process.exit(0);`,
      store,
    );
    const { stdout } = run(
      `const manager = new ContextManager({ store });
       console.log(JSON.stringify([await manager.getMessages("c"), (await manager.search("4111", { sessionId: "c" })).length]));
       await manager.close();`,
      store,
    );
    assert.deepEqual(JSON.parse(stdout), [[], 0], wait);
  }
});

test("a search of much that was added in memory keeps nobody from adding", async () => {
  const manager = new ContextManager({ maxMessages: 100_000 });
  const held = [];
  for (let n = 0; n < 20_000; n += 1)
    await manager.addMessage(`s ${n % 50}`, user(`message ${n} ${"word ".repeat(40)}`));
  const searching = manager.search("message 19999");
  let isOver = false;
  searching.finally(() => (isOver = true));
  for (let n = 0; !isOver; n += 1) {
    await manager.addMessage("s 0", user(`meanwhile ${n}`));
    held.push(n);
    await new Promise(setImmediate);
  }
  assert.equal((await searching).length, 1);
  const own = (await contents(manager, "s 0")).filter((content) => content.startsWith("meanwhile"));
  assert.deepEqual(
    own,
    held.map((n) => `meanwhile ${n}`),
  );
  await manager.close();
});

test("two users of a file set different fields, and one prompt", async () => {
  const store = newFile();
  const [one, two] = [new ContextManager({ store }), new ContextManager({ store })];
  await one.getOrCreateContext("s");
  await two.getOrCreateContext("s");
  await Promise.all([one.setMetadata("s", { goal: "ship" }), two.setMetadata("s", { planId: "p1" })]);
  await Promise.all([one.getOrCreateContext("s", "You are A."), two.getOrCreateContext("s", "You are B.")]);
  for (const manager of [one, two]) {
    const { messages, metadata } = await manager.getOrCreateContext("s");
    assert.deepEqual([metadata.goal, metadata.planId], ["ship", "p1"]);
    assert.equal(messages.filter(({ role }) => role === "system").length, 1);
  }
  assert.deepEqual(await one.getMessages("s"), await two.getMessages("s"));
  await Promise.all([one.close(), two.close()]);
});

describe("what fails is said", () => {
  test("a summariser with a broken key: each time to a listener", async () => {
    const events = [];
    const cause = new Error("401 bad key");
    const summarize = async () => {
      throw cause;
    };
    const manager = new ContextManager({ summarize, onEvent: (event) => events.push(event) });
    await addAll(manager, "s", numbered(60));
    const [failed, compressed] = events;
    assert.deepEqual(
      [failed.type, failed.sessionId, failed.code, failed.by],
      ["summarizeFailed", "s", "ERR_SUMMARIZE", "rules"],
    );
    assert.match(failed.message, /401 bad key/);
    assert.equal(failed.cause.cause, cause);
    assert.equal(compressed.type, "compressed");
    await manager.close();
  });

  test("once to the process where nobody listens", () => {
    const { stderr } = run(
      `const summarize = async () => { throw new Error("401 bad key"); };
       const manager = new ContextManager({ summarize });
       for (let n = 0; n < 120; n += 1) await manager.addMessage("s", { role: "user", content: "m" + n });`,
    );
    assert.equal(stderr.match(/401 bad key/g).length, 1, stderr);
  });

  test("a damaged file, with what could be read of it", async () => {
    const store = newFile();
    const first = new ContextManager({ store, maxMessages: 5000 });
    await Promise.all(
      numbered(2000).map(({ content }) => first.addMessage("s", user(`${content} ${"x".repeat(200)}`))),
    );
    await first.close();
    const bytes = readFileSync(store);
    bytes.fill(0xaa, bytes.length >> 1, (bytes.length >> 1) + 9000);
    writeFileSync(store, bytes);
    const { stdout, stderr } = run(
      `const manager = await ContextManager.open({ store, maxMessages: 5000 });
       console.log((await manager.getMessages("s")).length, (await manager.search("1999")).length);
       await manager.close();`,
      store,
    );
    const [messages, found] = stdout.split(" ").map(Number);
    assert.ok(messages > 1900 && messages < 2000 && found === 1, stdout);
    assert.match(stderr, /damaged file .* was moved to .*corrupt-1; \d+ of its messages could be read/);
  });
});

test("limits under which every message would set off a compression are refused", async () => {
  const manager = new ContextManager();
  assert.throws(
    () => manager.setMaxMessages(10),
    /maxMessages is 10 and maxCompressedMessages 20: .*at least 23/,
  );
  assert.throws(() => new ContextManager({ maxMessages: 22, maxCompressedMessages: 20 }), TypeError);
  manager.setMaxCompressedMessages(4);
  manager.setMaxMessages(10);
  await addAll(manager, "s", numbered(40));
  assert.ok((await manager.getStats("s")).compressions < 10);
  await manager.close();
  const small = new ContextManager({ maxMessages: 10 });
  await addAll(small, "s", [...numbered(40), says("x")]);
  assert.ok((await small.getStats("s")).messages <= 10);
  await small.close();
});
