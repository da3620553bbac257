// Layers 1 to 3 as documented, in a table. properties.test.mjs holds them against an oracle over generated transcripts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext } from "../index.js";
import { answer, call, custom, image, result, text, thinking, user } from "./support/messages.mjs";

/** Messages by letter: `y`stem, `u`ser, `a`nswer, `k` an answer with thinking, `c`all, `b` a call with thinking, `r`esult. */
function spelled(letters, api) {
  const words = text("word ".repeat(100));
  const thought = thinking("hm", "reasoning_content");
  const made = {
    y: () => ({ role: "system", content: "prompt" }),
    u: () => user([words]),
    a: () => answer([words], { api }),
    k: () => answer([thought, words], { api }),
    c: (id) => answer([call(id)], { api }),
    b: (id) => answer([thought, call(id)], { api }),
    r: (id) => result(id, "a line of a result\n".repeat(60)),
  };
  let calls = 0;
  return Array.from(letters, (letter, number) => {
    if (letter === "c" || letter === "b") calls += 1;
    return { ...made[letter](`${calls}`), number };
  });
}

/** The fate of each message by letter: kept as it is, `s`ummarised, without `t`hinking, or `-` dropped. */
function fates(messages, sent) {
  let at = 0;
  const fate = (message) => {
    const found = sent[at];
    if (found?.role !== message.role || found.toolCallId !== message.toolCallId) return "-";
    if (found !== message && found.number !== message.number) return "-";
    at += 1;
    if (found === message) return ".";
    return message.role === "toolResult" ? "s" : "t";
  };
  const all = messages.map(fate).join("");
  assert.equal(at, sent.length, `${all}: nothing is added, order is kept`);
  return all;
}

const RULES = [
  // Layer 1: the newest six results stay, whoever called for them.
  ["ucrcrcrcrcrcrcrcr", {}, "..s.s............"],
  ["ucrcrcr", { keepRecentToolResults: 1 }, "..s.s.."],
  ["ucrcrcrcrcrcrcr", { minSummaryChars: 5000 }, "..............."],
  // Layer 2: the newest answer with thinking keeps it.
  ["ukuku", {}, ".t..."],
  ["ukukukau", { keepRecentThinking: 2 }, ".t......"],
  ["ukuku", { thinkingScope: "closedTurns" }, ".t..."],
  ["ubrbrk", { keepRecentToolResults: 9, thinkingScope: "closedTurns" }, "......"],
  ["ubrbrk", { keepRecentToolResults: 9 }, ".t.t.."],
  ["ubrbrk", { keepRecentToolResults: 9, api: "openai-completions" }, "......"],
  ["ubrbrk", { keepRecentToolResults: 9, api: "openai-responses" }, "......"],
  // Layer 3: from the second message on, group by group, until the rest fits three quarters of the window.
  ["uaaaau", { contextWindow: 750, keepRecentMessages: 1 }, ".-...."],
  ["uaaaau", { contextWindow: 650, keepRecentMessages: 1 }, ".--..."],
  ["uaaaau", { contextWindow: 650, contextRatio: 0.9, keepRecentMessages: 1 }, ".-...."],
  ["uaaaau", { contextWindow: 9000, maxPromptTokens: 500, keepRecentMessages: 1 }, ".--..."],
  ["uaaaau", { contextWindow: 750, maxPromptTokens: 700, keepRecentMessages: 1 }, ".-...."],
  ["yuacrauau", { contextWindow: 1, keepRecentMessages: 2 }, "..-----.."],
  ["yuacrauau", { contextWindow: 1, keepRecentMessages: 5 }, "..-......"],
  ["uaau", { contextWindow: 1, keepRecentMessages: 9 }, "...."],
];

for (const [letters, { api = "anthropic-messages", ...options }, expected] of RULES) {
  test(`of ${letters} with ${JSON.stringify({ api, ...options })}: ${expected}`, async () => {
    const messages = spelled(letters, api);
    const fixed = { schedule: "everyCall", overflow: "keep", calibrate: false };
    assert.equal(fates(messages, await createTransformContext({ ...fixed, ...options })(messages)), expected);
  });
}

/** A transcript whose first result is old: six newer ones follow. */
function withOldResult(old) {
  const newer = ["1", "2", "3", "4", "5", "6"].flatMap((id) => [answer(`:${id}`), result(id)]);
  return [user(), answer(":c"), old, ...newer];
}

async function summaryIn(content, options = {}) {
  const hook = createTransformContext({ schedule: "everyCall", ...options });
  const messages = withOldResult(result("c", content));
  const sent = await hook(messages);
  return sent === messages ? undefined : sent[2].content;
}

test("a summary is the first three lines, the marker, the last two", async () => {
  const lines = Array.from({ length: 100 }, (_, i) => `line ${i + 1}`).join("\n");
  const [{ text: summary }] = await summaryIn(lines);
  const marker = `[... 已省略 95 行，原始 ${lines.length} 字符 ...]`;
  assert.equal(summary, `line 1\nline 2\nline 3\n${marker}\nline 99\nline 100`);
  const end = "😀".repeat(300);
  const [{ text: long }] = await summaryIn(`x${end}\n${end}`);
  // 350 units and 149, without half a pair.
  const tail = `${"😀".repeat(74)}`;
  assert.equal(long.split("\n")[0], `x${"😀".repeat(174)}…${tail}`);
  assert.equal(long.split("\n")[1], `${"😀".repeat(175)}…${tail}`);
});

test("500 characters stay and 501 do not, nor does a summary that is not shorter replace its text", async () => {
  const lines = "x\n".repeat(249);
  assert.equal(await summaryIn(`${lines}xx`), undefined);
  assert.match((await summaryIn(`${lines}xxx`))[0].text, /245 行，原始 501 字符/);
  const long = "word\n".repeat(200);
  const [{ text: bare }] = await summaryIn(long, { marker: () => "" });
  const marked = (units) => summaryIn(long, { marker: () => "x".repeat(units) });
  assert.equal(await marked(long.length - bare.length), undefined);
  assert.equal((await marked(long.length - bare.length - 1))[0].text.length, long.length - 1);
  // A host's marker may neither break the text nor count more tokens than what it stands for.
  for (const marker of ["\ud800", "\u{1F9FF}".repeat(280)])
    assert.equal(await summaryIn("a line of output\n".repeat(40), { marker: () => marker }), undefined);
});

test("the marker speaks English or the host's language", async () => {
  const text = "line\n".repeat(200);
  assert.match(
    (await summaryIn(text, { marker: "en" }))[0].text,
    /\[\.\.\. 196 lines omitted, 1000 characters/,
  );
  const own = await summaryIn(text, { marker: (lines, chars) => `<${lines}/${chars}>` });
  assert.match(own[0].text, /\n<196\/1000>\n/);
});

test("images stay where they are, text blocks become one", async () => {
  const part = text("row\n".repeat(100));
  const content = await summaryIn([image, part, image, part]);
  assert.deepEqual(
    content.map((block) => block.type),
    ["image", "text", "image"],
  );
  assert.equal(content[0], image);
});

test("an excluded tool's results are never touched", async () => {
  assert.equal(await summaryIn("line\n".repeat(200), { excludeTools: ["read"] }), undefined);
});

const thought = thinking("hm", '{"id":"rs_1"}');

/** The rest of an old message's content when a newer one thinks too. */
async function contentBesideNewer(content, more) {
  const old = answer([thought, ...content], more);
  const newer = answer([thought, text("done")], more);
  const hook = createTransformContext({ schedule: "everyCall" });
  return (await hook([user(), old, user(), newer, user()]))[1].content;
}

test("a text with an id keeps its reasoning on the Responses APIs", async () => {
  const signed = text("said", { textSignature: '{"v":1,"id":"msg_1"}' });
  const unsigned = text("said");
  for (const api of ["openai-responses", "azure-openai-responses", "openai-codex-responses"]) {
    assert.deepEqual(await contentBesideNewer([signed], { api }), [thought, signed]);
    assert.deepEqual(await contentBesideNewer([unsigned], { api }), [unsigned]);
  }
  assert.deepEqual(await contentBesideNewer([signed], { api: "google-generative-ai" }), [signed]);
});

test("the newest message is sent whatever the options say", async () => {
  const messages = [...withOldResult(result("c")), custom];
  for (const schedule of ["everyCall", "sticky"]) {
    const sent = await createTransformContext({ schedule, keepRecentMessages: 0, contextWindow: 20 })(
      messages,
    );
    assert.ok(sent.length < messages.length);
    assert.equal(sent.at(-1), messages.at(-1));
  }
});

test("the step of the tool loop under way keeps its thinking whatever the options say", async () => {
  const messages = withOldResult(result("c"));
  for (const message of messages) if (message.role === "assistant") message.content.unshift(thought);
  for (const schedule of ["everyCall", "sticky"]) {
    const sent = await createTransformContext({ schedule, keepRecentThinking: 0, contextWindow: 60 })(
      messages,
    );
    assert.equal(sent.at(-2), messages.at(-2));
    if (schedule === "sticky") continue;
    const thinkers = sent.filter(({ role, content }) => role === "assistant" && content[0] === thought);
    assert.equal(thinkers.length, 1);
  }
});
