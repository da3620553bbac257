// The adapter in the AI SDK itself, versions 5 to 7: real agents with a scripted model, and streams of real providers with a
// scripted server. Then generated lists, and a recorded session against the same session in pi's shape.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import { createPrepareStep, pruneForBudget } from "pi-strata/ai-sdk";
import strata from "../index.js";
import { fieldsOf } from "./support/fields.mjs";
import { modelMessages, randomOf } from "./support/model-messages.mjs";
import { readRecorded } from "./support/recorded-models.mjs";
import { EXAMPLE } from "./support/recording.mjs";
import { scriptedServer } from "./support/scripted-server.mjs";

const nested = createRequire(new URL("./ai-sdk/package.json", import.meta.url));
const load = (name) => import(pathToFileURL(nested.resolve(name)).href);
const MAJORS = [5, 6, 7];
const sdk = Object.fromEntries(
  await Promise.all(
    MAJORS.map(async (major) => {
      const [ai, mocks, internal] = await Promise.all(
        ["", "/test", "/internal"].map((part) => load(`ai-${major}${part}`)),
      );
      return [major, { ai, mocks, internal }];
    }),
  ),
);
const { z } = await load("zod");
globalThis.AI_SDK_LOG_WARNINGS = false;

const ASKED = [{ role: "user", content: "read everything" }];
const STEPS = 60;
const WINDOW = 20_000;
const lines = (n) =>
  Array.from({ length: 60 }, (_, i) => `${n}.${i}: the value of entry_${n}_${i} is ${i * n}`).join("\n");
const DATA = "QUJD".repeat(50_000);
const promptTokens = (prompt) => Math.ceil(JSON.stringify(prompt).length / 4);

/** A model that calls the tool `STEPS` times and then answers; `seen` are the prompts it got. */
function scriptedModel(major, seen) {
  const usage = (prompt) => {
    const [inputTokens, outputTokens] = [promptTokens(prompt), 20];
    if (major === 5)
      return { inputTokens, outputTokens, totalTokens: inputTokens + outputTokens, cachedInputTokens: 0 };
    return {
      inputTokens: { total: inputTokens, noCache: inputTokens, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: outputTokens, text: outputTokens, reasoning: 0 },
    };
  };
  const next = (prompt) => {
    seen.push(structuredClone(prompt));
    const n = seen.length;
    const isLast = n > STEPS;
    const content = isLast
      ? [{ type: "text", text: "done" }]
      : [
          { type: "reasoning", text: `I need file ${n}` },
          { type: "tool-call", toolCallId: `c${n}`, toolName: "read", input: JSON.stringify({ n }) },
        ];
    const reason = isLast ? "stop" : "tool-calls";
    return {
      content,
      finishReason: major === 5 ? reason : { unified: reason, raw: reason },
      usage: usage(prompt),
      warnings: [],
    };
  };
  const Mock = sdk[major].mocks[`MockLanguageModelV${{ 5: 2, 6: 3, 7: 4 }[major]}`];
  return new Mock({
    provider: "anthropic.messages",
    modelId: "claude-test",
    doGenerate: async ({ prompt }) => next(prompt),
  });
}

function toolsOf(major) {
  const { tool } = sdk[major].ai;
  const read = tool({
    description: "reads",
    inputSchema: z.object({ n: z.number() }),
    execute: async ({ n }) => lines(n),
  });
  return { read };
}

const settingsOf = (major, model, prepareStep) => {
  const stopWhen = sdk[major].ai.stepCountIs(STEPS + 5);
  return { model, tools: toolsOf(major), stopWhen, prepareStep };
};

/** Runs the task in an agent; resolves with the messages that the SDK has in the end. */
async function run(major, model, prepareStep) {
  const { ai } = sdk[major];
  const agent = new (ai.ToolLoopAgent ?? ai.Experimental_Agent)(settingsOf(major, model, prepareStep));
  const { response, responseMessages } = await agent.generate({ messages: ASKED });
  return responseMessages ?? response.messages;
}

/** Text of all results in a prompt, by call. */
const resultsIn = (prompt) =>
  new Map(
    prompt
      .filter(({ role }) => role === "tool")
      .flatMap(({ content }) =>
        content.map(({ toolCallId, output }) => [toolCallId, JSON.stringify(output)]),
      ),
  );

/** The host's own messages still hold what the tools said. */
function checkWholeResults(messages) {
  const texts = messages.filter(({ role }) => role === "tool").map(({ content }) => content[0].output.value);
  for (const [i, text] of texts.entries()) assert.equal(text, lines(i + 1));
}

/** Each prompt is within the window and whole; returns how often a result changed that an earlier prompt had. */
function checkPrompts(prompts) {
  let moves = 0;
  let before = new Map();
  for (const prompt of prompts) {
    assert.ok(promptTokens(prompt) < WINDOW, `${promptTokens(prompt)} tokens`);
    const said = prompt.flatMap(({ role, content }) => (role === "assistant" ? content : []));
    const calls = said.filter(({ type }) => type === "tool-call").map(({ toolCallId }) => toolCallId);
    const results = resultsIn(prompt);
    assert.deepEqual(calls, [...results.keys()], "each call has its result");
    if (![...before].every(([id, text]) => results.get(id) === text)) moves += 1;
    before = results;
  }
  return moves;
}

/**
 * From the fourth report on the estimate is near the provider's own count. After a batch it may miss more: these providers
 * count JSON, of which a shortened request has another share.
 */
function checkEstimates(events, reported) {
  const told = events.filter(({ type }) => type === "transformed");
  assert.equal(told.length, reported.length);
  for (const [i, { tokensAfter, firstChanged }] of told.entries()) {
    const most = firstChanged === undefined ? 0.03 : 0.2;
    const off = Math.abs(tokensAfter / reported[i] - 1);
    if (i > 3) assert.ok(off < most, `step ${i}: ${tokensAfter}, ${reported[i]}`);
  }
}

/** The results in each prompt, by the SDK's version. */
const prompts = {};
for (const major of MAJORS) {
  describe(`AI SDK ${major}`, () => {
    test(`${STEPS} steps stay within the window, edits stay, also in a second run, the host's messages stay whole`, async () => {
      const seen = [];
      const events = [];
      const onEvent = (event) => events.push(event);
      const prepareStep = createPrepareStep({ contextWindow: WINDOW, onEvent });
      const model = scriptedModel(major, seen);
      const held = await run(major, model, prepareStep);
      assert.equal(seen.length, STEPS + 1);
      assert.equal(events.filter(({ type }) => type === "failed" || type === "unknownShape").length, 0);
      if (major < 7) checkWholeResults(held);
      const moves = checkPrompts(seen);
      assert.ok(moves > 0 && moves < STEPS / 3, `${moves} batches`);
      checkEstimates(events, seen.map(promptTokens));
      // AI SDK 7 goes on from what was sent, 5 and 6 from what the host has.
      prompts[major] = seen.map((prompt) => [...resultsIn(prompt)]);
      assert.deepEqual(prompts[major], prompts[5]);

      const history = [...ASKED, ...held, { role: "user", content: "and now?" }];
      for (const messages of [history, structuredClone(history)]) {
        const { messages: sent } = await prepareStep({ messages, steps: [], model });
        const before = resultsIn(seen.at(-1));
        const after = resultsIn(sent);
        const same = [...before].filter(([id, text]) => after.get(id) === text).length;
        assert.ok(same >= before.size - 2, `${same} of ${before.size} results as they were sent`);
      }
    });

    for (const provider of ["openai", "anthropic"]) {
      test(`through the real ${provider} provider`, async (t) => {
        const server = await scriptedServer(provider, { steps: 30, result: lines });
        t.after(() => server.close());
        const { createOpenAI, createAnthropic } = await load(`${provider}-${major}`);
        const model =
          provider === "openai"
            ? createOpenAI({ apiKey: "none", baseURL: server.url }).chat("gpt-test")
            : createAnthropic({ apiKey: "none", baseURL: server.url })("claude-test");
        const events = [];
        const onEvent = (event) => events.push(event);
        const prepareStep = createPrepareStep({ contextWindow: 8_000, onEvent });
        const providerOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };
        const content = [{ type: "text", text: "read everything", providerOptions }];
        const settings = settingsOf(major, model, prepareStep);
        const messages = [{ role: "user", content }];
        const onError = ({ error }) => assert.fail(error);
        await sdk[major].ai.streamText({ ...settings, messages, onError }).consumeStream();
        assert.equal(server.requests.length, 31);
        assert.deepEqual(server.problems, []);
        if (provider === "anthropic")
          assert.ok(server.requests.every(({ body }) => JSON.stringify(body).includes("cache_control")));
        const tokens = fieldsOf(server.requests, "tokens");
        assert.ok(Math.max(...tokens) < 16_000);
        checkEstimates(events, tokens);
      });
    }

    for (const host of ["its own messages", "copies"]) {
      test(`a chat of single steps reports each of them, with ${host}`, async (t) => {
        const server = await scriptedServer("anthropic", { steps: 0, say: () => lines(1) });
        t.after(() => server.close());
        const { createAnthropic } = await load(`anthropic-${major}`);
        const model = createAnthropic({ apiKey: "none", baseURL: server.url })("claude-test");
        const events = [];
        const prepareStep = createPrepareStep({ onEvent: (event) => events.push(event) });
        let messages = [];
        for (let n = 0; n < 8; n += 1) {
          messages.push({ role: "user", content: lines(n) });
          const result = sdk[major].ai.streamText({ model, messages, prepareStep });
          await result.consumeStream();
          messages.push(...((await result.responseMessages) ?? (await result.response).messages));
          if (host === "copies") messages = structuredClone(messages);
        }
        checkEstimates(events, fieldsOf(server.requests, "tokens"));
      });
    }
  });
}

test("10 000 generated lists: valid in, valid out, approvals whole, nothing mutated, unedited messages the same objects", async () => {
  let edited = 0;
  for (let seed = 0; seed < 10_000; seed += 1) {
    const major = MAJORS[seed % 3];
    const messages = modelMessages(seed, major);
    const copy = structuredClone(messages);
    const random = randomOf(seed + 1);
    const options = { contextWindow: random.of([300, 1_000, 8_000]), reserveTokens: 0, minSummaryChars: 60 };
    const shape = {
      schedule: random.of(["everyCall", "sticky"]),
      keepRecentToolResults: random.below(3),
      keepRecentMessages: random.below(5),
    };
    const sent = await pruneForBudget(messages, sharedOptions({ ...options, ...shape }));
    assert.deepEqual(messages, copy, `seed ${seed} is as it was`);
    const { convertToLanguageModelPrompt } = sdk[major].internal;
    const convert = (list) => convertToLanguageModelPrompt({ prompt: { messages: list }, supportedUrls: {} });
    await convert(messages);
    await convert(sent);
    checkWhole(sent, `seed ${seed}`);
    if (sent !== messages) edited += 1;
    for (const message of sent) {
      const same = messages.find((one) => one === message);
      assert.ok(
        same !== undefined || !messages.some((one) => isEqual(one, message)),
        `seed ${seed}: a copy of an unedited message`,
      );
    }
  }
  assert.ok(edited > 3_000, `${edited} lists were edited`);
});

test("a host that pushes to one list gets the same as one with a new list for each call", async () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const [own, other] = Array.from({ length: 2 }, () => ({ contextWindow: 400, reserveTokens: 0 }));
    const list = [];
    for (const message of modelMessages(seed, MAJORS[seed % 3])) {
      // What is said again may be the same object.
      list.push(message, ...(message.role === "user" ? [message] : []));
      const sent = await pruneForBudget(list, own);
      assert.deepEqual(sent, await pruneForBudget(structuredClone(list), other), `seed ${seed}`);
    }
  }
});

test("images as bytes keep the provider's limit on the size of a request", async () => {
  const bytes = new Uint8Array(6 * 1024 * 1024);
  const base64 = Buffer.from(bytes).toString("base64");
  const { buffer } = bytes;
  const address = new URL(`data:image/png;base64,${base64}`);
  const own = [bytes, buffer, address].flatMap((data) => [
    { type: "image", image: data },
    { type: "file", data, mediaType: "image" },
  ]);
  const tagged = [
    { type: "data", data: bytes },
    { type: "url", url: address },
  ].map((data) => ({ type: "file", data, mediaType: "image/png" }));
  const sentOf = async (part) => {
    const talk = Array.from({ length: 6 }, (_, n) => [
      { role: "user", content: [{ type: "text", text: `photo ${n}` }, part] },
      { role: "assistant", content: "seen" },
    ]).flat();
    const sent = await pruneForBudget([...talk, ...ASKED], {}, { model: "anthropic/claude-test" });
    return sent.filter(({ content }) => content.includes(part)).length;
  };
  const few = await sentOf({ type: "image", image: base64, mediaType: "image/png" });
  assert.ok(few < 6);
  for (const part of [...own, ...tagged]) assert.equal(await sentOf(part), few);
});

test("Claude has Anthropic's limits behind every name of its provider", async () => {
  const talk = Array.from({ length: 6 }, (_, n) => [
    { role: "user", content: [{ type: "image", image: `${n}`.repeat(7e6), mediaType: "image/jpeg" }] },
    { role: "assistant", content: "seen" },
  ]).flat();
  const names = ["", "vertex.", "googleVertex.", "bedrock."].map((owner) => `${owner}anthropic.messages`);
  const sent = names.map((provider) =>
    pruneForBudget([...talk, ...ASKED], {}, { model: { provider, modelId: "claude-test" } }),
  );
  const [first, ...others] = await Promise.all(sent);
  for (const other of others) assert.deepEqual(other, first);
  const few = await pruneForBudget([...talk, ...ASKED], {}, { model: "google/gemini-test" });
  assert.notDeepEqual(few, first);
});

test("usage that sums up the prompts of a provider's own tool is not taken for the size of the request", async () => {
  const estimateAfter = async (usageOf) => {
    const events = [];
    const prepareStep = createPrepareStep({ onEvent: (event) => events.push(event) });
    const search = { toolCallId: "s", toolName: "web_search" };
    const call = { type: "tool-call", ...search, input: {}, providerExecuted: true };
    const found = { type: "tool-result", ...search, output: { type: "json", value: {} } };
    const messages = [];
    let steps = [];
    for (let n = 0; n < 8; n += 1) {
      messages.push({ role: "user", content: lines(n) });
      const sent = await prepareStep({ messages: [...messages], steps, model: "anthropic/claude-test" });
      messages.push({ role: "assistant", content: [call, found, { type: "text", text: `found ${n}` }] });
      steps = [{ usage: usageOf(strata.countTokens(sent.messages)) }];
    }
    return events.at(-1).tokensAfter;
  };
  const prompt = (tokens) => ({ type: "message", input_tokens: tokens });
  const none = await estimateAfter(() => undefined);
  assert.equal(await estimateAfter((tokens) => ({ inputTokens: tokens * 3 })), none);
  const told = await estimateAfter((tokens) => {
    const iterations = [
      prompt(tokens * 2),
      { type: "advisor_message", input_tokens: 9 },
      prompt(tokens * 2 + 9),
    ];
    return { inputTokens: tokens * 6, raw: { iterations } };
  });
  const honest = await estimateAfter((tokens) => ({
    inputTokens: tokens * 2,
    raw: { iterations: [prompt(tokens * 2)] },
  }));
  assert.equal(told, honest);
  assert.ok(told > none * 1.5 && told < none * 2.5, `${told} of ${none}`);
});

test("pruneForBudget believes the usage of an answer to its own call only", async () => {
  const model = "google/gemini-test";
  const history = Array.from({ length: 6 }, (_, n) => [
    { role: "user", content: lines(n) },
    { role: "assistant", content: `read ${n}` },
  ]).flat();
  const mark = (message) => ({ ...message, providerOptions: { anthropic: { cacheControl: {} } } });
  const marked = (list) => [...list.slice(0, -1), mark(list.at(-1))];
  for (const handed of [(list) => [...list], structuredClone, marked]) {
    const events = [];
    const options = { onEvent: (event) => events.push(event) };
    const list = [...history, ...ASKED];
    const ask = (told) =>
      pruneForBudget(handed(list), options, { model, usage: told && { inputTokens: told } });
    const tokens = strata.countTokens(list);
    await ask(tokens * 2);
    assert.equal(events.at(-1).tokensAfter, tokens, "another process sent that request");
    const read = { toolCallId: "c", toolName: "read" };
    list.push({ role: "assistant", content: [{ type: "tool-call", ...read, input: {} }] });
    list.push({
      role: "tool",
      content: [{ type: "tool-result", ...read, output: { type: "text", value: "a" } }],
    });
    list.push({ role: "assistant", content: "answered here" }, ...ASKED);
    await ask(tokens * 2);
    assert.ok(events.at(-1).tokensAfter > tokens * 1.9, `${events.at(-1).tokensAfter} of ${tokens}`);
    list.push({ role: "assistant", content: "so" }, ...ASKED);
    list.push({ role: "assistant", content: "answered elsewhere" }, ...ASKED);
    const before = events.at(-1).tokensAfter;
    await ask(tokens * 3);
    assert.ok(events.at(-1).tokensAfter < before * 1.1, `${events.at(-1).tokensAfter} after ${before}`);
  }
});

test("an image of a result counts as text where the provider sends it as text", async () => {
  const value = [
    { type: "text", text: "the screen" },
    { type: "image-data", data: DATA, mediaType: "image/png" },
  ];
  const shot = (n) => ({ toolCallId: `c${n}`, toolName: "shot" });
  const messages = Array.from({ length: 8 }, (_, n) => [
    { role: "assistant", content: [{ type: "tool-call", ...shot(n), input: {} }] },
    { role: "tool", content: [{ type: "tool-result", ...shot(n), output: { type: "content", value } }] },
  ]).flat();
  const sentBy = async (provider, config) => {
    const events = [];
    const options = { contextWindow: 1e6, onEvent: (event) => events.push(event) };
    const model = { provider, modelId: "test", config };
    const sent = await pruneForBudget([...ASKED, ...messages, ...ASKED], options, { model });
    const outputs = sent.filter(({ role }) => role === "tool").map(({ content }) => content[0].output);
    return { outputs, tokens: events.at(-1).tokensBefore };
  };
  const size = strata.countTokens(JSON.stringify(value));
  for (const provider of ["openai.chat", "openrouter.chat"]) {
    const { outputs, tokens } = await sentBy(provider);
    assert.ok(Math.abs(tokens / (8 * size) - 1) < 0.01, `${tokens} of ${8 * size}`);
    assert.deepEqual(outputs.at(-1).value, value);
    const [{ type, text }, ...others] = outputs[0].value;
    assert.deepEqual([type, others], ["text", []]);
    assert.match(text, /^the screen\n.*\[\.\.\. /s);
  }
  const events = [];
  const options = { contextWindow: 1e6, onEvent: (event) => events.push(event) };
  for (const provider of ["anthropic.messages", "openai.chat"])
    await pruneForBudget(messages, options, { model: { provider, modelId: "test" } });
  const [before, after] = events.flatMap(({ tokensBefore = [] }) => tokensBefore);
  assert.ok(after > 5 * before, `${before}, then ${after} after a switch of the provider`);
  const parts = { supportsMultiPartToolContent: true };
  for (const as of [
    ["openai.responses"],
    ["anthropic.messages"],
    ["deepseek.chat"],
    ["openrouter.chat", parts],
  ]) {
    const { outputs, tokens } = await sentBy(...as);
    assert.ok(tokens < 8 * 1300, `${as[0]}: ${tokens}`);
    assert.deepEqual(outputs.at(-1).value, value);
  }
});

test("before any report a Claude model counts as Claude usually does, by any provider", async () => {
  const tokens = strata.countTokens(ASKED);
  const claudes = [
    "anthropic/claude-test",
    { provider: "amazon-bedrock", modelId: "us.anthropic.claude-test" },
  ];
  const others = ["openai/gpt-test", { provider: "anthropic.messages", modelId: "other-test" }, undefined];
  for (const [models, scale] of [
    [claudes, 1.27],
    [others, 1],
  ]) {
    for (const model of models) {
      const events = [];
      await pruneForBudget(ASKED, { onEvent: (event) => events.push(event) }, { model });
      assert.equal(events[0].tokensAfter, Math.round(tokens * scale));
    }
  }
});

const own = (itemId) => ({ providerOptions: { openai: { itemId } } });

test("OpenAI's items keep their reasoning, whatever the model is called", async () => {
  const read = (n) => ({ toolCallId: `c${n}`, toolName: "read" });
  const list = Array.from({ length: 6 }, (_, n) => {
    const reasoning = { type: "reasoning", text: "so far so good ".repeat(300), ...own(`rs_${n}`) };
    const call = { type: "tool-call", ...read(n), input: { n }, ...own(`fc_${n}`) };
    const said = { type: "text", text: `answer ${n}`, ...own(`msg_${n}`) };
    const result = { type: "tool-result", ...read(n), output: { type: "text", value: "fine" } };
    return [
      { role: "assistant", content: [reasoning, call] },
      { role: "tool", content: [result] },
      { role: "assistant", content: [{ ...reasoning, ...own(`rs_${n}b`) }, said] },
      { role: "user", content: `question ${n}` },
    ];
  }).flat();
  const gateway = { provider: "gateway", modelId: "openai/gpt-5" };
  const messages = [...ASKED, ...list];
  for (const model of [undefined, "openai/gpt-5", gateway, { provider: "other", modelId: "gpt-5" }])
    assert.equal(await pruneForBudget(messages, {}, { model }), messages);
  const strangers = JSON.parse(
    JSON.stringify(messages).replaceAll(',"providerOptions":{"openai"', ',"was":{"openai"'),
  );
  const sent = await pruneForBudget(strangers, {}, { model: "some/model" });
  assert.notEqual(sent, strangers);
});

test("results that the provider package parses stay whole, and so does a denial", async () => {
  const long = "a line of what was printed\n".repeat(200);
  const shell = { output: [{ stdout: long, stderr: "", outcome: { type: "exit", exitCode: 0 } }] };
  const screen = { output: { type: "computer_screenshot", imageUrl: `data:image/png;base64,${DATA}` } };
  const outputs = [
    ["lsh_", { type: "json", value: { output: long } }],
    ["sh_", { type: "json", value: shell }],
    ["cu_", { type: "json", value: screen }],
    ["fc_", { type: "execution-denied", reason: long }],
  ];
  for (const [start, output] of outputs) {
    const list = Array.from({ length: 9 }, (_, n) => {
      const call = { toolCallId: `c${n}`, toolName: "run" };
      return [
        { role: "assistant", content: [{ type: "tool-call", ...call, input: {}, ...own(`${start}${n}`) }] },
        { role: "tool", content: [{ type: "tool-result", ...call, output }] },
      ];
    }).flat();
    const messages = [...ASKED, ...list, ...ASKED];
    assert.equal(await pruneForBudget(messages, { contextWindow: 100_000 }), messages, start);
    // Even where the window is too small: then old ones go with their calls.
    const sent = await pruneForBudget(messages, { contextWindow: 3000 });
    for (const message of sent) assert.ok(messages.includes(message), start);
  }
});

const shared = new Map();
/** One object for equal options: then one hook sees many conversations. */
function sharedOptions(options) {
  const key = JSON.stringify(options);
  if (!shared.has(key)) shared.set(key, options);
  return shared.get(key);
}

function isEqual(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Every result has its call before it and every call its result, every approval its request; no message is empty. */
function checkWhole(messages, where) {
  const parts = messages.flatMap(({ content }) => (Array.isArray(content) ? content : []));
  const ids = (type, key) =>
    parts
      .filter((part) => part.type === type)
      .map((part) => part[key])
      .toSorted();
  assert.deepEqual(ids("tool-call", "toolCallId"), ids("tool-result", "toolCallId"), where);
  assert.deepEqual(
    ids("tool-approval-request", "approvalId"),
    ids("tool-approval-response", "approvalId"),
    where,
  );
  assert.ok(
    messages.every(({ content }) => content.length > 0),
    where,
  );
}

test("a recorded session gets the same edits as in pi", async (t) => {
  const { piMessages, modelLists } = await readRecorded(EXAMPLE);
  const options = { contextWindow: 60_000, marker: "en" };
  const hook = strata.createTransformContext(options);
  const prepareStep = createPrepareStep(options);
  let compared = 0;
  let now;
  t.mock.method(Date, "now", () => now);
  for (const { length, messages, step, model, at } of modelLists) {
    now = at;
    const inPi = await hook(piMessages.slice(0, length));
    const { messages: sent } = await prepareStep({
      messages,
      steps: step === undefined ? [] : [step],
      model,
    });
    const texts = inPi
      .filter(({ role }) => role === "toolResult")
      .map(({ content }) => content.map(({ text }) => text ?? "").join("\n"));
    const own = sent
      .filter(({ role }) => role === "tool")
      .flatMap(({ content }) => content.map(({ output }) => output.value));
    assert.deepEqual(own, texts);
    compared += 1;
  }
  assert.ok(compared > 50);
});

describe("bad input", () => {
  test("a list of another shape comes back as it is, with one warning", async () => {
    const events = [];
    const prepareStep = createPrepareStep({ onEvent: (event) => events.push(event) });
    for (const messages of [
      [{ role: "toolResult", content: [] }],
      [{ role: "user", parts: [] }],
      [null],
      "text",
      undefined,
    ]) {
      assert.equal((await prepareStep({ messages, steps: [] })).messages, messages);
    }
    assert.deepEqual(fieldsOf(events, "type"), ["unknownShape"]);
    assert.match(events[0].message, /ModelMessage/);
    await pruneForBudget([{ role: "user", parts: [] }], { onEvent: (event) => events.push(event) });
    assert.equal(events[1].mark, 'field "parts"');
  });

  test("options that are off are refused by name", async () => {
    assert.throws(
      () => createPrepareStep({ contextWindows: 1 }),
      /^TypeError: createPrepareStep: there is no option contextWindows/,
    );
    await assert.rejects(pruneForBudget([], { economy: "mean" }), /option economy/);
  });
});
