// The recall tool: every handle in a marker leads back to the whole original, page by page, also in a real Agent.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { createTools } from "../examples/scripted/tools.mjs";
import strata from "../index.js";
import { runAgent } from "./support/run-agent.mjs";

const { createRecallTool, createTransformContext } = strata;

const lines = (count, seed) => Array.from({ length: count }, (_, i) => `line ${i} of ${seed}`).join("\n");

function session(texts) {
  const steps = texts.map((text, i) => [
    {
      role: "assistant",
      content: [{ type: "toolCall", id: `c${i}`, name: "bash", arguments: {} }],
      stopReason: "toolUse",
    },
    { role: "toolResult", toolCallId: `c${i}`, toolName: "bash", content: [{ type: "text", text }] },
  ]);
  return [{ role: "user", content: "go" }, ...steps.flat()];
}

const textOf = (message) => message.content.map(({ text }) => text).join("\n");

/** What the hook shows of each summarised result, with the handle it names. */
async function handles(messages, options) {
  const hook = createTransformContext({
    schedule: "everyCall",
    keepRecentToolResults: 0,
    recall: true,
    ...options,
  });
  const shown = await hook(messages);
  return shown
    .map((message, i) => ({
      text: message.role === "toolResult" ? textOf(message) : "",
      original: messages[i],
    }))
    .filter(({ text, original }) => original.role === "toolResult" && text !== textOf(original))
    .map(({ text, original }) => ({
      line: text.split("\n").find((line) => line.startsWith("[...")),
      original,
    }))
    .map(({ line, original }) => ({ line, handle: line.slice(-8), original: textOf(original) }));
}

/** The pages of a result, put together again. */
async function readAll(tool, handle, limit) {
  let whole = "";
  for (let offset = 0; offset !== null; ) {
    const { content, details } = await tool.execute("t", { handle, offset, limit });
    const body = content[0].text.replace(/^\[.*?\]\n/, "");
    whole +=
      details.next === null ? body : body.replace(/\n\[\d+ more characters; go on with offset \d+\]$/, "");
    offset = details.next;
  }
  return whole;
}

describe("the marker", () => {
  const messages = session([lines(100, "a"), lines(200, "b")]);

  test("ends with a handle of its own, in its language", async () => {
    const [zh] = await handles(messages);
    assert.match(zh.line, /^\[\.\.\. 已省略 95 行，原始 \d+ 字符 \.\.\.\] 句柄：[0-9a-f]{8}$/);
    const [en] = await handles(messages, { marker: "en" });
    assert.match(
      en.line,
      /^\[\.\.\. 95 lines omitted, \d+ characters originally \.\.\.\] handle: [0-9a-f]{8}$/,
    );
    const [own] = await handles(messages, { marker: (left) => `[...${left}]` });
    assert.match(own.line, /^\[\.\.\.95\] 句柄：[0-9a-f]{8}$/);
    const found = (await handles(messages)).map(({ handle }) => handle);
    assert.equal(new Set(found).size, 2);
    assert.equal(en.handle, zh.handle);
  });

  test("of a result cut to the room is of the same language and names the handle", async () => {
    const large = session([lines(2000, "a")]);
    for (const schedule of ["everyCall", "sticky"]) {
      const options = { schedule, keepRecentToolResults: 6, contextWindow: 4000 };
      const [zh] = await handles(large, options);
      assert.match(zh.line, /^\[\.\.\. 已省略 \d+ 个字符 \.\.\.\] 句柄：[0-9a-f]{8}$/);
      const [en] = await handles(large, { ...options, marker: "en" });
      assert.match(en.line, /^\[\.\.\. \d+ characters omitted \.\.\.\] handle: [0-9a-f]{8}$/);
      assert.equal(
        await readAll(
          createRecallTool(() => large),
          en.handle,
          50_000,
        ),
        en.original,
      );
      const [{ line }] = await handles(large, { ...options, recall: false });
      assert.match(line, / 个字符 \.\.\.\]$/);
    }
  });

  test("stays as documented without the option", async () => {
    const [{ line }] = await handles(messages, { recall: false });
    assert.match(line, /字符 \.\.\.\]$/);
  });

  test("is the same in copies and in a second process's hook", async () => {
    assert.deepEqual(await handles(structuredClone(messages)), await handles(messages));
  });
});

describe("the tool", () => {
  test("gives back every character of every summarised result", async () => {
    const text = fc
      .array(
        fc.oneof(
          fc.string({ maxLength: 90, unit: "grapheme" }),
          fc.constantFrom("😀".repeat(80), "x".repeat(900)),
        ),
        {
          minLength: 12,
          maxLength: 60,
        },
      )
      .map((parts) => parts.join("\n"));
    const property = fc.asyncProperty(
      fc.array(text, { minLength: 1, maxLength: 4 }),
      fc.integer({ min: 2, max: 999 }),
      async (texts, limit) => {
        const messages = session(texts);
        const tool = createRecallTool(() => messages);
        for (const { handle, original } of await handles(messages)) {
          assert.equal(await readAll(tool, handle, limit), original);
        }
      },
    );
    await fc.assert(property, { numRuns: 40 });
  });

  test("caps a page whatever is asked for", async () => {
    const messages = session(["x".repeat(3_000_000), lines(50, "b")]);
    const tool = createRecallTool(() => messages);
    const { content, details } = await tool.execute("t", { handle: "c0", limit: 9_999_999 });
    assert.ok(content[0].text.length < 20_200);
    assert.equal(details.next, 20_000);
    const hits = await tool.execute("t", { handle: "c0", pattern: "x" });
    assert.ok(hits.content[0].text.length < 41_000);
    assert.ok(hits.details.next > 0);
  });

  test("finds what a pattern matches, with the offset to read at", async () => {
    const text = `😀 first\n${lines(300, "a")}\nerror: E42 happened\n${"y".repeat(5000)}E43${"z".repeat(5000)}`;
    const tool = createRecallTool(() => session([text]));
    const { content, details } = await tool.execute("t", { handle: "c0", pattern: "E4" });
    assert.equal(details.matches, 2);
    const offset = Number(/@(\d+): error: E42 happened/.exec(content[0].text)[1]);
    assert.equal(text.slice(offset, offset + 6), "error:");
    assert.match(content[0].text, /@\d+: y{200}E43z{197,200}$/m);
    const starred = await tool.execute("t", { handle: "c0", pattern: "*first*" });
    assert.equal(starred.content[0].text.split("\n")[1], "@0: 😀 first");
    const within = await tool.execute("t", { handle: "c0", pattern: "err*E42*ned" });
    assert.equal(within.details.matches, 1);
    for (const pattern of ["first*error", "E42*error", "E\\d+", "line 7*line 8"]) {
      const { details } = await tool.execute("t", { handle: "c0", pattern });
      assert.equal(details.matches, 0, pattern);
    }
    const whole = await tool.execute("t", { handle: "c0", pattern: "**" });
    assert.match(whole.content[0].text, /^\[characters 0 to /);
    const none = await tool.execute("t", { handle: "c0", pattern: "E44" });
    assert.match(none.content[0].text, /^\[no match/);
  });

  test("goes on where the matches were cut off", async () => {
    const tool = createRecallTool(() => session([lines(180, "a")]));
    const found = [];
    for (let offset = 0; offset !== null; ) {
      const { content, details } = await tool.execute("t", { handle: "c0", pattern: "line *of a", offset });
      found.push(...content[0].text.matchAll(/line (\d+) of a/g));
      offset = details.next;
    }
    assert.deepEqual(
      found.map(([, number]) => Number(number)),
      Array.from({ length: 180 }, (_, i) => i),
    );
  });

  test("is not hung by any pattern, and takes each literally", {
    timeout: 60_000,
  }, async () => {
    const tool = createRecallTool(() => session([`${"a".repeat(200_000)}!(b`]));
    for (const pattern of [
      "(a+)+$",
      "(a|aa)+b",
      "(?:a{1,100}){1,100}{1,100}",
      "(.*)*x",
      "a".repeat(50_000),
      "a*".repeat(500),
      "a*x*".repeat(250),
    ]) {
      await tool.execute("t", { handle: "c0", pattern });
    }
    const { content } = await tool.execute("t", { handle: "c0", pattern: "!(b" });
    assert.match(content[0].text, /!\(b$/);
  });

  test("helps where the handle is wrong or decorated", async () => {
    const messages = session([lines(100, "a"), "short"]);
    const tool = createRecallTool(() => messages);
    const [{ handle }] = await handles(messages);
    const wrong = await tool.execute("t", { handle: "deadbeef" });
    assert.equal(wrong.details.found, false);
    assert.match(wrong.content[0].text, new RegExp(`${handle} \\(bash, \\d+ characters\\)`));
    assert.equal((await tool.execute("t", { handle: `[... ] 句柄：${handle}` })).details.found, true);
    for (const odd of [undefined, null, 7, "", "x".repeat(100_000), {}]) {
      assert.equal((await tool.execute("t", { handle: odd })).details.found, false);
    }
    const sane = await tool.execute("t", { handle, offset: -5, limit: "nonsense" });
    assert.equal(sane.details.found, true);
    const end = await tool.execute("t", { handle, offset: 1e9 });
    assert.match(end.content[0].text, /^\[characters (\d+) to \1 of \1\]$/m);
    assert.equal((await createRecallTool(() => undefined).execute("t", { handle })).details.found, false);
  });

  test("says what happened where pi has compacted the conversation", async () => {
    const messages = [
      { role: "compactionSummary", summary: "earlier", timestamp: 1 },
      ...session([lines(3, 1)]),
    ];
    const answer = await createRecallTool(() => messages).execute("t", { handle: "deadbeef" });
    assert.match(
      answer.content[0].text,
      /The conversation was compacted: .* No result since then is long enough/,
    );
    const whole = await createRecallTool(() => messages.slice(1)).execute("t", { handle: "deadbeef" });
    assert.match(whole.content[0].text, /No result here is long enough/);
  });

  test("an offset inside a surrogate pair gives no half character", async () => {
    const messages = session(["😀".repeat(2000)]);
    const tool = createRecallTool(() => messages);
    const [{ handle }] = await handles(messages, { minSummaryChars: 10 });
    for (const params of [
      { offset: 1 },
      { offset: 3, limit: 7 },
      { offset: 1, pattern: "😀" },
      { offset: 1, pattern: "😀*😀" },
    ]) {
      const { content } = await tool.execute("t", { handle, ...params });
      assert.ok(
        content[0].text.isWellFormed() && !content[0].text.includes("\ufffd"),
        JSON.stringify(params),
      );
    }
  });

  test("reads results of other shapes, of several texts", async () => {
    const [first, second] = [lines(300, 1), lines(300, 2)];
    const content = [first, second].map((text) => ({ type: "text", text }));
    const [{ handle }] = await handles([...session([""]).slice(0, 2), { ...session([""])[2], content }]);
    const call = { id: "c0", type: "function", function: { name: "bash", arguments: "{}" } };
    const openai = [
      { role: "user", content: "go" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c0", content },
    ];
    const answer = await createRecallTool(() => openai).execute("t", { handle, pattern: "line 299 of 2" });
    assert.deepEqual(
      [answer.details.found, answer.details.toolName, answer.details.matches],
      [true, "bash", 1],
    );
  });

  test("a page that was itself shortened leads to what it was a page of", async () => {
    const messages = session([lines(2000, 1)]);
    const tool = createRecallTool(() => messages);
    const [{ handle }] = await handles(messages);
    const page = await tool.execute("r", { handle, offset: 5000, limit: 4000 });
    const call = { type: "toolCall", id: "r", name: "recall", arguments: { handle } };
    messages.push({ role: "assistant", content: [call], stopReason: "toolUse" });
    messages.push({ role: "toolResult", toolCallId: "r", toolName: "recall", ...page });
    messages.push({ role: "user", content: "go on" });
    const [, own] = await handles(messages);
    assert.notEqual(own.handle, handle);
    const again = await tool.execute("t", { handle: own.handle });
    assert.equal(again.details.handle, handle);
    assert.match(again.content[0].text, /^\[characters 5000 to /);
    const wrong = await tool.execute("t", { handle: "deadbeef" });
    assert.ok(!wrong.content[0].text.includes(own.handle), "its own pages are not offered");
  });

  test("refuses to be made of anything but a function", () => {
    assert.throws(() => createRecallTool([]), TypeError);
  });
});

test("works in a real Agent: the model reads back what the hook hid", async () => {
  let agent;
  const root = fileURLToPath(new URL("..", import.meta.url));
  const tools = [...createTools(root), createRecallTool(() => agent.state.messages)];
  const hook = createTransformContext({ schedule: "everyCall", keepRecentToolResults: 2, recall: true });
  let shown;
  function* script() {
    for (let i = 0; i < 5; i += 1)
      yield { calls: [{ name: "read", arguments: { path: "index.d.ts", offset: 1 + i } }] };
    const handle = /句柄：([0-9a-f]{8})/.exec(JSON.stringify(shown))[1];
    const [text] = yield {
      calls: [{ name: "recall", arguments: { handle, pattern: "export function countTokens" } }],
    };
    yield { text: `It says: ${text}` };
  }
  const watched = async (messages, signal) => (shown = await hook(messages, signal));
  const options = { version: "0.74.2", hook: watched, script: script(), prompts: ["Read."], tools };
  const { messages } = await runAgent({ ...options, onAgent: (made) => (agent = made) });
  assert.match(messages.at(-1).content[0].text, /@\d+: .*export function countTokens\(/);
  assert.equal(messages.at(-2).isError, false);
});

test("a message that is a tool result only for as long as nobody looks again ends the search like any other", async () => {
  for (let looks = 1; looks <= 5; looks += 1) {
    let left = looks;
    const fickle = {
      get role() {
        left -= 1;
        return left < 0 ? "user" : "toolResult";
      },
      toolCallId: "c1",
      toolName: "read",
      content: [{ type: "text", text: "a result" }],
    };
    const { details } = await createRecallTool(() => [fickle]).execute("c2", { handle: "deadbeef" });
    assert.equal(details.found, false);
  }
});
