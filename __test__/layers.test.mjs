// What layers 1 to 3 write and leave. properties.test.mjs holds what they choose against an oracle over generated transcripts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { createTransformContext } from "../index.js";
import { answer, call, result, text, thinking, user } from "./support/messages.mjs";
import { table } from "./support/tables.mjs";

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
  const [{ text: least }] = await summaryIn(long, { marker: () => "x" });
  const marked = (units) => summaryIn(long, { marker: () => "x".repeat(units) });
  assert.equal(await marked(long.length - least.length + 1), undefined);
  assert.equal((await marked(long.length - least.length))[0].text.length, long.length - 1);
  const [{ text: own }] = await summaryIn(long, { marker: (lines, chars) => `<${lines}/${chars}>` });
  assert.match(own, /\n<196\/1000>\n/);
  // A host's marker may neither break the text nor count more tokens than what it stands for.
  for (const marker of ["\ud800", "\u{1F9FF}".repeat(280)])
    assert.equal(await summaryIn("a line of output\n".repeat(40), { marker: () => marker }), undefined);
});

const thought = thinking("hm", '{"id":"rs_1"}');

/** The rest of an old message's content when a newer one thinks too. */
async function contentBesideNewer(content, more) {
  const old = answer([thought, ...content], more);
  const newer = answer([thought, text("done")], more);
  const hook = createTransformContext({ schedule: "everyCall" });
  return (await hook([user(), old, user(), newer, user()]))[1].content;
}

test("a call keeps its thinking where the provider refuses it alone", async () => {
  for (const [api, model, signature, stays] of table("kept-thinking.json")) {
    const [thought, made] = [thinking("hm", signature), call("a")];
    const old = answer([thought, made], { api, model });
    const messages = [user(), old, result("a"), answer([thinking()], { api, model }), user()];
    const sent = await createTransformContext({ schedule: "everyCall" })(messages);
    assert.deepEqual(sent[1].content, stays ? [thought, made] : [made], `${api} ${model}`);
  }
});

test("a text with an id keeps its reasoning on the Responses APIs", async () => {
  const signed = text("said", { textSignature: '{"v":1,"id":"msg_1"}' });
  const unsigned = text("said");
  for (const api of ["openai-responses", "azure-openai-responses", "openai-codex-responses"]) {
    assert.deepEqual(await contentBesideNewer([signed], { api }), [thought, signed]);
    assert.deepEqual(await contentBesideNewer([unsigned], { api }), [unsigned]);
  }
  assert.deepEqual(await contentBesideNewer([signed], { api: "google-generative-ai" }), [signed]);
});

test("a late result comes back with the call that the window hid", async () => {
  const hook = createTransformContext({
    schedule: "everyCall",
    contextWindow: 4000,
    keepRecentMessages: 4,
    keepRecentToolResults: 50,
    overflow: "keep",
  });
  const long = "some words ".repeat(600);
  const steps = ["1", "2", "3", "4", "5"].flatMap((id) => [answer(`:${id}`), result(id, long)]);
  const parallel = [user(), user(), answer(":a b"), result("a"), ...steps];
  assert.equal((await hook(parallel)).includes(parallel[2]), false);
  const late = result("b", "late");
  const sent = await hook([...parallel, late]);
  assert.ok(sent.includes(parallel[2]) && sent.includes(late));
});
