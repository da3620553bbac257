// Layers 1 to 3 as documented, in a table. properties.test.mjs holds them against an oracle over generated transcripts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext } from "../index.js";

/** Messages by letter: `y`stem, `u`ser, `a`nswer, `k` an answer with thinking, `c`all, `b` a call with thinking, `r`esult. */
function spelled(letters, api) {
  const words = [{ type: "text", text: "word ".repeat(100) }];
  const call = { type: "toolCall", id: "", name: "read", arguments: {} };
  const thinking = { type: "thinking", thinking: "hm", thinkingSignature: "reasoning_content" };
  const made = {
    y: () => ({ role: "system", content: "prompt" }),
    u: () => ({ role: "user", content: words }),
    a: () => ({ role: "assistant", api, content: words }),
    k: () => ({ role: "assistant", api, content: [thinking, ...words] }),
    c: (id) => ({ role: "assistant", api, content: [{ ...call, id }] }),
    b: (id) => ({ role: "assistant", api, content: [thinking, { ...call, id }] }),
    r: (id) => toolResult("a line of a result\n".repeat(60), { toolCallId: id }),
  };
  let calls = 0;
  return Array.from(letters, (letter) => {
    if (letter === "c" || letter === "b") calls += 1;
    return { ...made[letter](`${calls}`), timestamp: 0 };
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
  ["yuacrauau", { contextWindow: 1, keepRecentMessages: 2 }, "..-----.."],
  ["yuacrauau", { contextWindow: 1, keepRecentMessages: 5 }, "..-......"],
  ["uaau", { contextWindow: 1, keepRecentMessages: 9 }, "...."],
];

for (const [letters, { api = "anthropic-messages", ...options }, expected] of RULES) {
  test(`of ${letters} with ${JSON.stringify({ api, ...options })}: ${expected}`, async () => {
    const messages = spelled(letters, api).map((message, number) => ({ ...message, number }));
    const fixed = { schedule: "everyCall", overflow: "keep", calibrate: false };
    assert.equal(fates(messages, await createTransformContext({ ...fixed, ...options })(messages)), expected);
  });
}

const toolResult = (text, more = {}) => ({
  role: "toolResult",
  toolCallId: "c",
  toolName: "read",
  content: [{ type: "text", text }],
  isError: false,
  ...more,
});

/** A transcript whose first result is old: six newer ones follow. */
function withOldResult(result) {
  const call = (id) => ({
    role: "assistant",
    content: [{ type: "toolCall", id, name: "read", arguments: {} }],
  });
  const newer = ["1", "2", "3", "4", "5", "6"].flatMap((id) => [
    call(id),
    toolResult("ok", { toolCallId: id }),
  ]);
  return [{ role: "user", content: "go" }, call("c"), result, ...newer];
}

async function summaryIn(text, options = {}, more = {}) {
  const hook = createTransformContext({ schedule: "everyCall", ...options });
  const messages = withOldResult(toolResult(text, more));
  const sent = await hook(messages);
  return sent === messages ? undefined : sent[2].content;
}

test("a summary is the first three lines, the marker, the last two", async () => {
  const text = Array.from({ length: 100 }, (_, i) => `line ${i + 1}`).join("\n");
  const [{ text: summary }] = await summaryIn(text);
  assert.equal(
    summary,
    `line 1\nline 2\nline 3\n[... 已省略 95 行，原始 ${text.length} 字符 ...]\nline 99\nline 100`,
  );
  const end = "😀".repeat(300);
  const [{ text: long }] = await summaryIn(`x${end}\n${end}`);
  // 350 units and 149, without half a pair.
  const tail = `${"😀".repeat(74)}`;
  assert.equal(long.split("\n")[0], `x${"😀".repeat(174)}…${tail}`);
  assert.equal(long.split("\n")[1], `${"😀".repeat(175)}…${tail}`);
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
  const image = { type: "image", data: "AAAA", mimeType: "image/png" };
  const part = { type: "text", text: "row\n".repeat(100) };
  const content = await summaryIn("", {}, { content: [image, part, image, part] });
  assert.deepEqual(
    content.map((block) => block.type),
    ["image", "text", "image"],
  );
  assert.equal(content[0], image);
});

test("an excluded tool's results are never touched", async () => {
  assert.equal(await summaryIn("line\n".repeat(200), { excludeTools: ["read"] }), undefined);
});

const thought = { type: "thinking", thinking: "hm", thinkingSignature: '{"id":"rs_1"}' };

/** The rest of an old message's content when a newer one thinks too. */
async function contentBesideNewer(content, more) {
  const old = { role: "assistant", content: [thought, ...content], stopReason: "stop", ...more };
  const newer = { ...old, content: [thought, { type: "text", text: "done" }] };
  const question = { role: "user", content: "go" };
  const hook = createTransformContext({ schedule: "everyCall" });
  return (await hook([question, old, question, newer, question]))[1].content;
}

test("a text with an id keeps its reasoning on the Responses APIs", async () => {
  const signed = { type: "text", text: "said", textSignature: '{"v":1,"id":"msg_1"}' };
  const unsigned = { type: "text", text: "said" };
  for (const api of ["openai-responses", "azure-openai-responses", "openai-codex-responses"]) {
    assert.deepEqual(await contentBesideNewer([signed], { api }), [thought, signed]);
    assert.deepEqual(await contentBesideNewer([unsigned], { api }), [unsigned]);
  }
  assert.deepEqual(await contentBesideNewer([signed], { api: "google-generative-ai" }), [signed]);
});

test("the newest message is sent whatever the options say", async () => {
  const messages = [
    ...withOldResult(toolResult("ok")),
    { role: "custom", customType: "note", content: "and?" },
  ];
  for (const schedule of ["everyCall", "sticky"]) {
    const sent = await createTransformContext({ schedule, keepRecentMessages: 0, contextWindow: 20 })(
      messages,
    );
    assert.ok(sent.length < messages.length);
    assert.equal(sent.at(-1), messages.at(-1));
  }
});

test("the step of the tool loop under way keeps its thinking whatever the options say", async () => {
  const messages = withOldResult(toolResult("ok"));
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
