// Answers of a real llama-server, recorded, through the real pi-ai: its usage teaches the hook how the model counts, and its
// refusal names the size that the next request has to fit in.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, test } from "node:test";
import { scriptedModel } from "../examples/scripted/model.mjs";
import { countTokens, createTransformContext } from "../index.js";
import { piAis } from "./pi/versions.mjs";
import { agentSession } from "./support/agent-session.mjs";

const RECORDED = JSON.parse(readFileSync(new URL("expected/llama-server.json", import.meta.url), "utf8"));
/** Who answered. */
const BY = { api: "openai-completions", provider: "llama.cpp", model: "SmolLM2-135M-Instruct.Q4_1.gguf" };
/** The context of the server that was recorded. */
const CONTEXT = 2_048;
const PROMPT = { messages: [{ role: "user", content: "Say hello.", timestamp: 1 }] };

/** The assistant message that pi makes of a recorded answer. */
async function answered({ status, contentType, body }) {
  const server = createServer((_request, response) => {
    response.writeHead(status, { "content-type": contentType });
    response.end(`${body}\n\n`);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  after(() => server.close());
  const { streamSimple } = await piAis["0.74.2"]();
  const baseUrl = `http://127.0.0.1:${server.address().port}/v1`;
  const model = { ...scriptedModel, ...BY, id: BY.model, baseUrl, reasoning: false };
  return streamSimple(model, PROMPT, { apiKey: "none", maxRetries: 0 }).result();
}

/** A session of reads, one call each, and the events of a hook over it. */
async function sent(messages, options = {}) {
  const events = [];
  const onEvent = (event) => events.push(event);
  const hook = createTransformContext({ contextWindow: 200_000, marker: "en", onEvent, ...options });
  const list = await hook(messages);
  return { list, transformed: events.find(({ type }) => type === "transformed"), events };
}

function reads(count) {
  const messages = agentSession(
    Array.from({ length: count }, (_, i) => {
      const lines = Array.from({ length: 30 }, (_, n) => `line ${n} of ${i}: value ${(n * 7919) % 997}`);
      return ["read", { path: `${i}.txt` }, lines.join("\n")];
    }),
    { ask: "Read all of it.", answer: () => BY },
  );
  for (const [at, message] of messages.entries()) {
    const input = Math.ceil(1.15 * countTokens(messages.slice(0, at)));
    if (message.role === "assistant") message.usage = { input, output: 20, cacheRead: 0, cacheWrite: 0 };
  }
  return messages;
}

test("pi reads the tokens that the server took from its cache, and the hook learns its count", async () => {
  const { stopReason, usage, content } = await answered(RECORDED.streamed);
  assert.equal(stopReason, "length");
  assert.equal(content[0].text, "Hello, and");
  const { input, cacheRead, cacheWrite, output } = usage;
  assert.deepEqual(
    { input, cacheRead, cacheWrite, output },
    { input: 1, cacheRead: 463, cacheWrite: 0, output: 3 },
  );
  const messages = reads(4).map((message) => ({ ...message, usage: undefined }));
  messages[3].usage = usage;
  const { transformed } = await sent(messages, { schedule: "everyCall" });
  const plain = await sent(messages, { schedule: "everyCall", calibrate: false });
  assert.notEqual(transformed.tokensBefore, plain.transformed.tokensBefore, "the report counts");
});

test("the size that a refusal names is what the next request fits in", async () => {
  const refusal = await answered(RECORDED.refused);
  assert.equal(refusal.stopReason, "error");
  assert.match(refusal.errorMessage, /5123 tokens.*2048 tokens/);
  const messages = reads(14);
  const before = await sent(messages);
  assert.ok(before.transformed.tokensAfter > CONTEXT, `${before.transformed.tokensAfter}`);
  const { list, transformed } = await sent([...messages, { ...refusal, timestamp: 2e12 }]);
  assert.ok(transformed.tokensAfter <= CONTEXT, `${transformed.tokensAfter} of ${CONTEXT}`);
  assert.ok(transformed.tokensAfter >= 0.85 * CONTEXT, `${transformed.tokensAfter} of ${CONTEXT}`);
  assert.deepEqual(list[0], messages[0], "the user's text stays");
});

for (const [name, when] of [
  ["full", "before the answer"],
  ["fullMidStream", "in the middle of the answer"],
]) {
  test(`a refusal without numbers, ${when}, makes the next request smaller`, async () => {
    const refusal = await answered(RECORDED[name]);
    assert.equal(refusal.stopReason, "error");
    assert.match(refusal.errorMessage, /Context size has been exceeded/);
    const messages = reads(14);
    const before = await sent(messages);
    const after = await sent([...messages, { ...refusal, timestamp: 2e12 }]);
    const share = after.transformed.tokensAfter / before.transformed.tokensAfter;
    assert.ok(share > 0.5 && share < 0.95, `${share}`);
  });
}

test("a chat template that leaves out the thinking of closed turns is learned within two turns", async () => {
  const words = (count) => "why it matters here ".repeat(count);
  let event;
  const onEvent = (told) => {
    if (told.type === "transformed") event = told;
  };
  const hook = createTransformContext({ contextWindow: 200_000, onEvent });
  const isThinking = ({ type }) => type === "thinking";
  /** Tokens of the prompt as the template writes it. */
  const read = (messages) => {
    const turn = messages.findLastIndex(({ role }) => role === "user");
    const seen = messages.map((message, at) =>
      at < turn && message.role === "assistant"
        ? { ...message, content: message.content.filter((block) => !isThinking(block)) }
        : message,
    );
    return 2_000 + countTokens(seen);
  };
  const list = [];
  for (let turn = 0; turn < 6; turn += 1) {
    list.push({ role: "user", content: words(50), timestamp: list.length });
    for (let step = 0; step < 5; step += 1) {
      const input = read(await hook(list));
      const error = Math.abs(event.tokensAfter / input - 1);
      if (turn > 2) assert.ok(error < 0.02, `turn ${turn}, step ${step}: ${event.tokensAfter} for ${input}`);
      const thinking = { type: "thinking", thinking: words(100), thinkingSignature: "reasoning_content" };
      const id = `c${list.length}`;
      const call = { type: "toolCall", id, name: "read", arguments: { path: id } };
      const usage = { input, output: 20, cacheRead: 0, cacheWrite: 0 };
      const more = { ...BY, usage, stopReason: "toolUse", timestamp: list.length };
      list.push({ role: "assistant", content: [thinking, call], ...more });
      const content = [{ type: "text", text: words(30) }];
      list.push({ role: "toolResult", toolCallId: id, toolName: "read", content, timestamp: list.length });
    }
    // pi does not send an answer that was aborted.
    const lost = { type: "thinking", thinking: words(400) };
    list.push({ role: "assistant", content: [lost], ...BY, stopReason: "aborted", timestamp: list.length });
  }
});
