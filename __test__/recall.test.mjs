// The recall tool: every handle in a marker leads back to the whole original, page by page, also in a real Agent.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import strata from "../index.js";
import { answer, result, user } from "./support/messages.mjs";

const { createRecallTool, createTransformContext } = strata;

const lines = (count, seed) => Array.from({ length: count }, (_, i) => `line ${i} of ${seed}`).join("\n");

const session = (texts) => [
  user(),
  ...texts.flatMap((text, i) => [answer(`:c${i}`), result(`c${i}`, text, { toolName: "bash" })]),
];

const textOf = (message) => message.content.map(({ text }) => text).join("\n");

/** What the hook shows of each summarised result, with the handle it names. */
async function handles(messages, options) {
  const defaults = { schedule: "everyCall", keepRecentToolResults: 0, recall: true };
  const shown = await createTransformContext({ ...defaults, ...options })(messages);
  const isCut = (message, i) => message.role === "toolResult" && textOf(message) !== textOf(messages[i]);
  return shown.flatMap((message, i) => {
    if (!isCut(message, i)) return [];
    const line = textOf(message)
      .split("\n")
      .find((line) => line.startsWith("[..."));
    return [{ line, handle: line.slice(-8), original: textOf(messages[i]) }];
  });
}

/** What the tool answers over a list: its text and details. */
async function ask(messages, params) {
  const { content, details } = await createRecallTool(() => messages).execute("t", params);
  return { text: content[0].text, ...details };
}

/** The pages of a result, put together again. */
async function readAll(messages, handle, limit) {
  let whole = "";
  for (let offset = 0; offset !== null; ) {
    const { text, next } = await ask(messages, { handle, offset, limit });
    const body = text.replace(/^\[.*?\]\n/, "");
    whole += next === null ? body : body.replace(/\n\[\d+ more characters; go on with offset \d+\]$/, "");
    offset = next;
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
    assert.match(own.line, /^\[\.\.\.95\] handle: [0-9a-f]{8}$/, "in the language of the conversation");
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
      assert.equal(await readAll(large, en.handle, 50_000), en.original);
      const [{ line }] = await handles(large, { ...options, recall: false });
      assert.match(line, / 个字符 \.\.\.\]$/);
    }
  });
});

describe("the tool", () => {
  test("gives back every character of every summarised result", async () => {
    const line = fc.oneof(
      fc.string({ maxLength: 90, unit: "grapheme" }),
      fc.constantFrom("😀".repeat(80), "x".repeat(900)),
    );
    const text = fc.array(line, { minLength: 12, maxLength: 60 }).map((parts) => parts.join("\n"));
    const texts = fc.array(text, { minLength: 1, maxLength: 4 });
    const property = fc.asyncProperty(texts, fc.integer({ min: 2, max: 999 }), async (texts, limit) => {
      const messages = session(texts);
      for (const { handle, original } of await handles(messages))
        assert.equal(await readAll(messages, handle, limit), original);
    });
    await fc.assert(property, { numRuns: 40 });
  });

  test("caps a page whatever is asked for", async () => {
    const messages = session(["x".repeat(3_000_000), lines(50, "b")]);
    const page = await ask(messages, { handle: "c0", limit: 9_999_999 });
    assert.ok(page.text.length < 20_200);
    assert.equal(page.next, 20_000);
    const hits = await ask(messages, { handle: "c0", pattern: "x" });
    assert.ok(hits.text.length < 41_000 && hits.next > 0);
  });

  test("finds what a pattern matches, with the offset to read at", async () => {
    const whole = `😀 first\n${lines(300, "a")}\nerror: E42 happened\n${"y".repeat(5000)}E43${"z".repeat(5000)}`;
    const find = (pattern) => ask(session([whole]), { handle: "c0", pattern });
    const { text, matches } = await find("E4");
    assert.equal(matches, 2);
    const offset = Number(/@(\d+): error: E42 happened/.exec(text)[1]);
    assert.equal(whole.slice(offset, offset + 6), "error:");
    assert.match(text, /@\d+: y{200}E43z{197,200}$/m);
    assert.equal((await find("*first*")).text.split("\n")[1], "@0: 😀 first");
    assert.equal((await find("err*E42*ned")).matches, 1);
    for (const pattern of ["first*error", "E42*error", "E\\d+", "line 7*line 8"])
      assert.equal((await find(pattern)).matches, 0, pattern);
    assert.match((await find("**")).text, /^\[characters 0 to /);
    assert.match((await find("E44")).text, /^\[no match/);
  });

  test("goes on where the matches were cut off", async () => {
    const found = [];
    for (let offset = 0; offset !== null; ) {
      const { text, next } = await ask(session([lines(180, "a")]), {
        handle: "c0",
        pattern: "line *of a",
        offset,
      });
      found.push(...text.matchAll(/line (\d+) of a/g));
      offset = next;
    }
    const numbers = found.map(([, number]) => Number(number));
    assert.deepEqual(numbers, Array.from(numbers.keys()));
    assert.equal(numbers.length, 180);
  });

  test("stops at the first part of a pattern that a line lacks", async () => {
    const messages = session(["a\n".repeat(1_000_000)]);
    const start = process.cpuUsage();
    await ask(messages, { handle: "c0", pattern: "a*".repeat(499) });
    const { user: spent } = process.cpuUsage(start);
    assert.ok(spent < 1_000_000, `${spent} µs`);
  });

  test("is not hung by any pattern, and takes each literally", { timeout: 60_000 }, async () => {
    const find = (pattern) => ask(session([`${"a".repeat(200_000)}!(b`]), { handle: "c0", pattern });
    for (const pattern of [
      ...["(a+)+$", "(a|aa)+b", "(?:a{1,100}){1,100}{1,100}", "(.*)*x"],
      ...["a".repeat(50_000), "a*".repeat(500), "a*x*".repeat(250)],
    ])
      await find(pattern);
    assert.match((await find("!(b")).text, /!\(b$/);
  });

  test("helps where the handle is wrong or decorated", async () => {
    const messages = session([lines(100, "a"), "short"]);
    const [{ handle }] = await handles(messages);
    const wrong = await ask(messages, { handle: "deadbeef" });
    assert.equal(wrong.found, false);
    assert.match(wrong.text, new RegExp(`${handle} \\(bash, \\d+ characters\\)`));
    const short = await ask(session([lines(3, 1)]), { handle: "deadbeef" });
    assert.match(short.text, /No result here is long enough/);
    assert.equal((await ask(messages, { handle: `[... ] 句柄：${handle}` })).found, true);
    for (const odd of [undefined, null, 7, "", "x".repeat(100_000), {}])
      assert.equal((await ask(messages, { handle: odd })).found, false);
    assert.equal((await ask(messages, { handle, offset: -5, limit: "nonsense" })).found, true);
    const end = await ask(messages, { handle, offset: 1e9 });
    assert.match(end.text, /^\[characters (\d+) to \1 of \1\]$/m);
    assert.equal((await ask(undefined, { handle })).found, false);
  });

  test("an offset inside a surrogate pair gives no half character", async () => {
    const messages = session(["😀".repeat(2000)]);
    const [{ handle }] = await handles(messages, { minSummaryChars: 10 });
    for (const more of [{}, { offset: 3, limit: 7 }, { pattern: "😀" }, { pattern: "😀*😀" }]) {
      const { text } = await ask(messages, { handle, offset: 1, ...more });
      assert.ok(text.isWellFormed() && !text.includes("\ufffd"), JSON.stringify(more));
    }
  });

  test("reads results of other shapes, of several texts", async () => {
    const content = [lines(300, 1), lines(300, 2)].map((text) => ({ type: "text", text }));
    const [{ handle }] = await handles(session([content]));
    const call = { id: "c0", type: "function", function: { name: "bash", arguments: "{}" } };
    const openai = [
      { role: "user", content: "go" },
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "c0", content },
    ];
    const { found, toolName, matches } = await ask(openai, { handle, pattern: "line 299 of 2" });
    assert.deepEqual([found, toolName, matches], [true, "bash", 1]);
  });

  test("a page that was itself shortened is read back like any result", async () => {
    const messages = session([lines(2000, 1)]);
    const [{ handle }] = await handles(messages);
    const page = await createRecallTool(() => messages).execute("r", { handle, offset: 5000, limit: 4000 });
    messages.push(answer(":r"), result("r", page.content[0].text, { toolName: "recall" }), user("go on"));
    const [, own] = await handles(messages);
    assert.ok((await ask(messages, { handle: own.handle })).text.includes(page.content[0].text));
    const wrong = await ask(messages, { handle: "deadbeef" });
    assert.ok(!wrong.text.includes(own.handle), "its own pages are not offered");
  });

  test("refuses to be made of anything but a function", () => {
    assert.throws(() => createRecallTool([]), TypeError);
  });
});
