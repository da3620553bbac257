// Counting by other encodings than the default: of texts, messages and chats, and within limits.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countChatTokens, encodeChat, getEncoding } from "pi-strata/tokens";
import {
  countTokens,
  countTokensAsync,
  createTransformContext,
  getContextWindow,
  isWithinTokenLimit,
} from "../index.js";

import { answer, call, image, text, thinking, user } from "./support/messages.mjs";
import { table } from "./support/tables.mjs";

const TEXT = "An o200k text: 日本語 größer, don't.";

test("each block counts for what it is, and an image 1200", () => {
  const tokens = (block, more) => countTokens(answer([block], more));
  const own = countTokens("hello world");
  assert.deepEqual(
    [tokens(text("hello world")), tokens(thinking("hello world")), tokens(image)],
    [own, own, 1200],
  );
  const asks = call("a", { name: "bash", arguments: { a: 1 } });
  assert.equal(tokens(asks), countTokens("bash") + countTokens('{"a":1}'));
  assert.equal(tokens(image, { stopReason: "error" }), 0);
  const said = (more) =>
    countTokens({ role: "assistant", content: "", toolCalls: [{ id: "a", name: "bash", ...more }] });
  assert.equal(said({ thoughtSignature: "c2ln".repeat(500) }), said(), "a signature counts as nothing");
});

test("texts and messages count by a named encoding or a model's, and an unknown name is refused", async () => {
  const wanted = getEncoding("o200k_base").encode(TEXT).length;
  assert.notEqual(wanted, countTokens(TEXT));
  assert.equal(countTokens(TEXT, { encoding: "o200k_base" }), wanted);
  assert.equal(countTokens(TEXT, { model: "gpt-5-mini" }), wanted);
  assert.equal(countTokens([{ role: "user", content: TEXT }], { model: "gpt-4o" }), wanted);
  assert.equal(await countTokensAsync(TEXT, { model: "gpt-4o" }), wanted);
  assert.equal(await countTokensAsync([{ role: "user", content: TEXT }], { encoding: "o200k_base" }), wanted);
  assert.equal(countTokens(TEXT, {}), getEncoding("cl100k_base").encode(TEXT).length);
  assert.throws(() => countTokens(TEXT, { encoding: "o300k" }), /Unknown encoding "o300k".*loadEncoding/);
  assert.throws(() => countTokens(TEXT, { model: "claude" }), /Unknown model "claude".*--tokenizer/);
  assert.throws(
    () => countTokens(TEXT, "gpt-4o"),
    /^TypeError: countTokens: options must be an object, not "gpt-4o"/,
  );
  assert.throws(() => countTokens(TEXT, { encodng: "o200k_base" }), /there is no option encodng/);
  await assert.rejects(countTokensAsync(TEXT, "o200k_base"), TypeError);
  assert.throws(() => isWithinTokenLimit(TEXT, 9, "gpt-4o"), TypeError);
});

test("a window is a number above 0, or the default", () => {
  for (const model of [undefined, null, {}, { contextWindow: undefined }])
    assert.equal(getContextWindow(model), 200_000);
  assert.equal(getContextWindow({ contextWindow: 8_000 }), 8_000);
  for (const contextWindow of ["x", "8000", 0, -1, Number.NaN, Number.POSITIVE_INFINITY, {}, true])
    assert.throws(
      () => getContextWindow({ contextWindow }),
      /^TypeError: getContextWindow: contextWindow is/,
    );
  for (const model of ["gpt-4o", 7, []]) assert.throws(() => getContextWindow(model), /model is/);
});

test("what is no message is refused, instead of counted as nothing", async () => {
  const request = { model: "gpt-4o", messages: [user(TEXT)] };
  const texts = [Buffer.from(TEXT), Promise.resolve(TEXT), Object(TEXT), new Set([TEXT])];
  for (const odd of [...texts, request, {}, [user("a"), undefined]]) {
    for (const count of [countTokens, (input) => isWithinTokenLimit(input, 9)])
      assert.throws(() => count(odd), { name: "TypeError", message: /^countTokens.*message/ });
    await assert.rejects(countTokensAsync(odd), TypeError);
  }
  assert.throws(() => isWithinTokenLimit(new Array(1), 9), /^TypeError: countTokens: input must be/);
});

test("isWithinTokenLimit returns the count up to the limit, and false above it", () => {
  const wanted = countTokens(TEXT, { encoding: "o200k_base" });
  for (const input of [TEXT, [{ role: "user", content: [{ type: "text", text: TEXT }] }]]) {
    assert.equal(isWithinTokenLimit(input, wanted, { encoding: "o200k_base" }), wanted);
    assert.equal(isWithinTokenLimit(input, wanted - 1, { encoding: "o200k_base" }), false);
  }
  assert.equal(isWithinTokenLimit("", 0), 0);
  const withParts = [{ role: "user", content: "hello", parts: [{ type: "text", text: "hello" }] }];
  assert.equal(
    isWithinTokenLimit(withParts, 100),
    isWithinTokenLimit([{ role: "user", content: "hello" }], 100),
  );
  const calls = [{ id: "1", type: "function", function: { name: "write", arguments: TEXT } }];
  const image = { type: "image", data: "aGk=", mimeType: "image/png" };
  for (const beside of [
    { tool_calls: calls },
    { toolCalls: [{ id: "1", name: "write", arguments: { TEXT } }] },
    { blocks: [image] },
  ]) {
    const list = [{ role: "assistant", content: "", ...beside }];
    assert.equal(isWithinTokenLimit(list, countTokens(list)), countTokens(list));
    assert.equal(isWithinTokenLimit(list, countTokens(list) - 1), false);
  }
  assert.throws(() => isWithinTokenLimit(TEXT, -1), /limit is -1/);
});

/** The example of OpenAI's cookbook, and what the API reported for it. */
test("chats count as OpenAI's cookbook reports", () => {
  const chat = table("cookbook-chat.json");
  assert.equal(countChatTokens(chat, { model: "gpt-3.5-turbo" }), 129);
  assert.equal(countChatTokens(chat, { model: "gpt-4-0613" }), 129);
  assert.equal(countChatTokens(chat, { model: "gpt-4o" }), 124);
  assert.equal(isWithinTokenLimit(chat, 124, { model: "gpt-4o" }), 124);
  assert.equal(isWithinTokenLimit(chat, 123, { model: "gpt-4o" }), false);
  const unnamed = chat.map(({ role, content }) => ({ role, content }));
  for (const model of ["gpt-4", "gpt-4o"])
    assert.equal(encodeChat(unnamed, { model }).length, countChatTokens(unnamed, { model }));
  assert.throws(() => countChatTokens([{ role: "user" }]), /content of message 0 is undefined/);
  assert.throws(() => encodeChat([], { encoding: "gpt2" }), /gpt2 has no chats/);
});

/** A conversation with one model, without usage to learn from. */
const asked = (model) => [
  user(TEXT),
  answer(TEXT, { model, provider: "openai", api: "openai-responses" }),
  user(TEXT),
];

test("the hook counts as the model that answered first does", async () => {
  const events = [];
  const onEvent = (event) => event.type === "transformed" && events.push(event.tokensBefore);
  const auto = createTransformContext({ onEvent });
  const fixed = createTransformContext({ onEvent, encoding: "p50k_base" });
  const wanted = [];
  for (const model of ["claude-opus-4", "gpt-5-mini", "gpt-4-turbo", "openai/gpt-4o", "gpt-oss-20b"]) {
    const messages = asked(model);
    await auto(messages);
    await fixed(messages);
    const encoding = { "claude-opus-4": "cl100k_base", "gpt-4-turbo": "cl100k_base" }[model] ?? "o200k_base";
    wanted.push(countTokens(messages, { encoding }), countTokens(messages, { encoding: "p50k_base" }));
  }
  assert.deepEqual(events, wanted);
  assert.notEqual(wanted[0], wanted[2]);
  assert.throws(
    () => createTransformContext({ encoding: "o300k" }),
    /option encoding is "o300k"; it must be "auto"/,
  );
});
