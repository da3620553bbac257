// pi from 0.87 on caps an answer by the usage of the newest answer in the list. After a batch the request is smaller than that
// usage says, and in a small window pi's margin alone would leave no answer. pi's own function says what it would ask for.

import assert from "node:assert/strict";
import { test } from "node:test";
import { scriptedModel } from "../examples/scripted/model.mjs";
import { createTransformContext } from "../index.js";
import { withAnswerRoom } from "../lib/hook/answer_room.js";
import { createExtension } from "../pi-extension/index.mjs";
import { agentSession } from "./support/agent-session.mjs";
import { runSession } from "./support/pi-session.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const NEWEST = "coding-agent/node_modules/pi-coding-agent-1.6/node_modules/@earendil-works/pi-ai/dist/";
const { clampMaxTokensToContext } = await import(new URL(`${NEWEST}api/simple-options.js`, import.meta.url));

const folder = temporaryFolder("answer-room");
process.env.PI_CODING_AGENT_DIR = folder;

/** Tokens that pi allows the answer to a request of these messages. */
const answerTokens = (messages, contextWindow, most) =>
  clampMaxTokensToContext({ contextWindow }, { messages }, most);

const lines = (count, of) =>
  Array.from(
    { length: count },
    (_, n) => `the reader finds another sentence here, number ${n} of ${of}`,
  ).join("\n");

test("after a batch pi leaves room for an answer, and only the usage of the newest answer differs", async () => {
  for (const contextWindow of [32_000, 64_000, 200_000]) {
    const steps = Array.from({ length: 12 }, (_, i) => [
      "read",
      { path: `${i}.txt` },
      lines(contextWindow / 500, i),
    ]);
    const used = Math.round(0.73 * contextWindow);
    const usage = { input: used, output: 50, cacheRead: 0, cacheWrite: 0, totalTokens: used + 50 };
    const messages = agentSession(steps, { answer: () => ({ usage }) });
    messages.at(-1).content = [{ type: "text", text: lines(contextWindow / 60, "all") }];
    const before = structuredClone(messages);
    let edits = 0;
    const onEvent = ({ type }) => {
      edits += Number(type === "toolResultSummarized" || type === "messagesDropped");
    };
    const sent = await createTransformContext({ contextWindow, onEvent })(messages);
    assert.deepEqual(messages, before);
    assert.ok(edits > 0);
    const reserve = Math.min(8_192, contextWindow / 4);
    assert.ok(answerTokens(messages, contextWindow, reserve) < 100, "what pi allows without it");
    assert.ok(answerTokens(sent, contextWindow, reserve) > reserve / 2, `${contextWindow}`);
    const at = sent.findLastIndex(({ role }) => role === "assistant");
    const own = messages.findLast(({ role }) => role === "assistant");
    assert.deepEqual({ ...sent[at], usage: 0 }, { ...own, usage: 0 });
  }
});

test("usage that is right stays the host's own, and so does one that cannot be read", async () => {
  const messages = agentSession([["read", { path: "a" }, "text"]], {
    answer: () => ({ usage: { input: 190_000n, totalTokens: 190_000n } }),
  });
  assert.equal(await createTransformContext({ contextWindow: 200_000 })(messages), messages);
});

test("the room is the same without usage, and behind an aborted answer", () => {
  const zero = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 };
  const session = agentSession(
    Array.from({ length: 12 }, (_, i) => ["read", { path: `${i}.txt` }, lines(60, i)]),
    { answer: () => ({ usage: zero }) },
  );
  const thinking = { type: "thinking", thinking: lines(100, "it") };
  const aborted = { ...session.at(-2), content: [thinking], stopReason: "aborted" };
  const counted = session.map((message, at) =>
    at === 9 ? { ...message, usage: { ...zero, totalTokens: 11_000 } } : message,
  );
  for (const messages of [session, counted, [...counted, aborted]]) {
    assert.ok(answerTokens(messages, 16_384, 4_096) < 1_500);
    const sent = withAnswerRoom(messages, { contextWindow: 16_384, tokens: 10_000, reserve: 4_096 });
    assert.equal(answerTokens(sent, 16_384, 4_096), 4_096);
  }
});

/** A session of reads whose server takes `real` tokens, and says so by `refusal(tokens)`; the refused and answered requests. */
async function session({ told, real = told, refusal, options, ...model }) {
  const [refused, answered] = [[], []];
  function* script(sent) {
    for (let n = 0; n < 40; ) {
      const request = sent().at(-1);
      const tokens = JSON.stringify(request?.messages ?? []).length / 4;
      const answer = answerTokens(request?.messages ?? [], told, model.maxTokens ?? 4_096);
      const isTooLong = refusal?.answers ? tokens + answer > real : tokens > real;
      if (request && isTooLong) {
        refused.push(tokens);
        yield { errorMessage: refusal.text(Math.ceil(tokens), answer) };
        continue;
      }
      n += 1;
      if (request) answered.push({ tokens, answer });
      yield {
        calls: [
          {
            name: "bash",
            arguments: { command: `for i in $(seq ${200 + 40 * (n % 9)}); do echo row $i of ${n}; done` },
          },
        ],
      };
    }
    yield { text: "done" };
  }
  const summarize = (pi) =>
    pi.on("session_before_compact", ({ preparation: { firstKeptEntryId, tokensBefore } }) => ({
      compaction: { summary: "a summary", firstKeptEntryId, tokensBefore },
    }));
  const { errors } = await runSession(
    folder,
    { extensionFactories: [createExtension(options), summarize] },
    {
      script,
      version: "1.6.0",
      settings: { compaction: { keepRecentTokens: 3000 } },
      model: { ...scriptedModel, contextWindow: told, ...model },
    },
  );
  assert.deepEqual(errors, []);
  return { refused, answered };
}

test("in pi 1.6 the extension leaves each answer of a small window a quarter of it", async () => {
  for (const told of [12_288, 16_384, 24_576]) {
    const { answered, refused } = await session({ told });
    assert.deepEqual([answered.length, refused], [40, []]);
    // The first requests have no usage that could be corrected, and are short.
    const least = Math.min(...answered.map(({ answer }) => answer));
    assert.ok(least >= Math.min(4_096, told / 4) - 8, `${told}: ${least}`);
  }
});

test("a smaller window in the user's settings caps no answer", async () => {
  const { answered } = await session({
    told: 200_000,
    maxTokens: 64_000,
    options: { contextWindow: 100_000 },
  });
  assert.ok(answered.every(({ answer }) => answer === 64_000));
});

test("in pi 1.6, which takes refusals out of the list, the extension learns from each kind", async () => {
  const kinds = {
    "no number": { text: () => "the request exceeds the available context size, try increasing it" },
    "a limit": { text: (tokens) => `prompt is too long: ${tokens} tokens > 24000 maximum` },
    "the answer counts": {
      answers: true,
      text: (tokens, answer) =>
        `This model's maximum context length is 24000 tokens. However, you requested ${tokens + answer} tokens (${tokens} in the messages, ${answer} in the completion).`,
    },
  };
  for (const [name, refusal] of Object.entries(kinds)) {
    const { refused, answered } = await session({ told: 128_000, real: 24_000, maxTokens: 8_192, refusal });
    assert.equal(answered.length, 40, name);
    assert.ok(refused.length <= 2, `${name}: ${refused.length} refusals`);
  }
});
