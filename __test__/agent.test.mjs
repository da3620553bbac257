// What the hook must do in a real Agent of every pi: 40 tool calls from one user message, over this repository's own files.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createScriptedModel, scriptedModel } from "../examples/scripted/model.mjs";
import { createTools } from "../examples/scripted/tools.mjs";
import strata from "../index.js";
import { piVersions } from "./pi/versions.mjs";
import { forEachPi } from "./support/each-pi.mjs";
import { layers, MARKER } from "./support/oracle.mjs";
import { pairs } from "./support/request-rules.mjs";
import { ROOT } from "./support/root.mjs";

const { countTokens, createTransformContext } = strata;
const SYSTEM_PROMPT = "You are a careful engineer. Answer from the files you have read.";
const PROMPT = "Read the core and tell me how a transcript becomes a plan of edits.";

/** Every kind of call, and two at once every fourth step: 32 steps, 40 calls, then the answer. */
function fortyCalls() {
  const kinds = [
    (i) => ({ name: "read", arguments: { path: "Cargo.toml", offset: 1 + i } }),
    () => ({ name: "list", arguments: { path: "src" } }),
    () => ({ name: "search", arguments: { pattern: "pub (fn|struct)", path: "src" } }),
    () => ({ name: "read", arguments: { path: "src/lib.rs" } }),
    () => ({ name: "read", arguments: { path: "does/not/exist.rs" } }),
  ];
  const steps = [];
  for (let made = 0; made < 40; ) {
    const calls = Array.from({ length: steps.length % 4 === 3 ? 2 : 1 }, () => kinds[made % 5](made++));
    steps.push({
      thinking: `Step ${steps.length}: what do I know by now? ${"hm ".repeat(80)}`,
      text: "Next.",
      calls,
    });
  }
  return [...steps, { thinking: "That is all of it.", text: "It reads, measures, plans and applies." }];
}

const CALLS = 40;
const REQUESTS = fortyCalls().length;

/** Runs an agent of this pi: what went into the hook, what came out, what reached the model, and what the agent keeps. */
async function run(version, hook) {
  const { Agent } = await piVersions[version]();
  const [hookCalls, kept] = [[], []];
  const model = createScriptedModel(fortyCalls());
  const tools = createTools(ROOT);
  const agent = new Agent({
    initialState: { systemPrompt: SYSTEM_PROMPT, model: scriptedModel, tools, thinkingLevel: "off" },
    streamFn: model.streamFn,
    ...(hook && {
      async transformContext(messages, signal) {
        const given = { array: messages, messages: [...messages], signal };
        hookCalls.push(given);
        const returned = await hook(messages, signal);
        given.result = [...returned];
        return returned;
      },
    }),
  });
  agent.subscribe(({ type, message }) => {
    if (type === "message_end") kept.push({ message, copy: structuredClone(message) });
  });
  await agent.prompt(PROMPT);
  return { hookCalls, kept, sent: model.sent, messages: agent.state.messages };
}

function suite(version) {
  const everyCall = (options) => createTransformContext({ schedule: "everyCall", ...options });

  describe(`Agent ${version}`, () => {
    test("calls the hook before every request, and sends old results as summaries and old thinking not at all", async () => {
      const { hookCalls, sent, messages } = await run(version, everyCall());
      assert.deepEqual([sent.length, hookCalls.length], [REQUESTS, REQUESTS]);
      assert.equal(messages.filter((message) => message.role === "toolResult").length, CALLS);
      for (const [index, { messages: given, result, signal }] of hookCalls.entries()) {
        assert.deepEqual(unSystem(sent[index].messages), unSystem(result), `request ${index}`);
        assert.ok(signal instanceof AbortSignal);
        const expected = expectedOf(given);
        assert.deepEqual(result, expected, `request ${index}`);
        for (const [at, message] of expected.entries())
          if (message === given[at])
            assert.equal(result[at], message, "an unedited message is the same object");
      }
      const last = sent.at(-1).messages;
      const results = last.filter((message) => message.role === "toolResult");
      const marked = results.map((message) => MARKER.test(message.content[0].text));
      assert.ok(marked.filter(Boolean).length >= 15, `${marked.filter(Boolean).length} summaries`);
      assert.deepEqual(marked.slice(-6), Array(6).fill(false));
      const thinkers = last.filter((message) => message.role === "assistant" && hasThinking(message));
      assert.equal(thinkers.length, 1);
    });

    test("in a small window shrinks until the request fits, the prompt and the tools stay, and the agent's own transcript is as without the hook", async () => {
      const [contextWindow, reserveTokens] = [6_000, 500];
      const hooked = await run(version, everyCall({ contextWindow, reserveTokens, calibrate: false }));
      const plain = await run(version);
      assert.deepEqual(timeless(hooked.messages), timeless(plain.messages));
      const arrived = unSystem(hooked.kept.map(({ message }) => message));
      const own = unSystem(hooked.messages);
      assert.equal(own.length, 1 + CALLS + REQUESTS);
      assert.ok(
        own.every((message, index) => message === arrived[index]),
        "the same objects",
      );
      for (const { message, copy } of hooked.kept)
        assert.deepEqual(message, copy, "as it was when it arrived");
      const settled = ({ array, messages }) => messages.every((message, index) => message === array[index]);
      assert.ok(hooked.hookCalls.every(settled), "the loop's array has only grown");

      for (const [index, { messages, result }] of hooked.hookCalls.entries()) {
        assert.ok(countTokens(result) <= contextWindow - reserveTokens, `request ${index} fits`);
        assertEndsKept(messages, result);
        assert.deepEqual(pairs(hooked.sent[index].messages), []);
      }
      for (const { context, messages } of hooked.sent) {
        const text = JSON.stringify([context.systemPrompt, messages.filter(({ role }) => role === "system")]);
        assert.ok(text.includes(SYSTEM_PROMPT));
        const tools = context.tools ?? messages.flatMap((message) => message.toolsAdded ?? []);
        assert.deepEqual(tools.map(({ name }) => name).sort(), ["list", "read", "search"]);
      }
    });
  });
}

/** What the layers make of a transcript with the options at their defaults. */
function expectedOf(messages) {
  const limits = { keepRecentToolResults: 6, keepRecentThinking: 1, keepRecentMessages: 20 };
  return layers(messages, { ...limits, contextWindow: 200_000 }, countTokens);
}

/** The prompt and the tools, the question and the newest message are among what is sent. */
function assertEndsKept(messages, result) {
  const system = messages.filter((message) => message.role === "system");
  assert.deepEqual(result.slice(0, system.length), system);
  assert.equal(result[system.length], messages[system.length]);
  assert.equal(messages[system.length].content[0].text, PROMPT);
  assert.equal(result.at(-1).toolCallId, messages.at(-1).toolCallId);
}

const hasThinking = (message) => message.content.some((block) => block.type === "thinking");

/** pi may put system messages into a form of its own on the way to the model. */
const unSystem = (messages) => messages.filter((message) => message.role !== "system");

const timeless = (messages) => messages.map((message) => ({ ...message, timestamp: 0, usage: undefined }));

await forEachPi(suite);
