// Measures `createPrepareStep` beside the AI SDK's own `pruneMessages` on recorded sessions, played as `ModelMessage[]`:
// `npm run bench:ai-sdk [-- SESSION…]`. Prints the table of `npm run bench:economy`.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { toModelMessage } from "../__test__/support/recorded-models.mjs";
import { createPrepareStep } from "../lib/ai-sdk/index.js";
import aiSdk from "../lib/shapes/ai-sdk.js";
import { Shapes } from "../lib/shapes/index.js";
import { printComparison } from "./economy/compare.mjs";
import { CONTEXT_WINDOW } from "./shared.mjs";

const nested = createRequire(new URL("../__test__/ai-sdk/package.json", import.meta.url));
const { pruneMessages } = await import(pathToFileURL(nested.resolve("ai-7")).href);

/** A policy over pi's messages, from one over `ModelMessage[]`. */
function played(policy) {
  const converted = new WeakMap();
  const shapes = new Shapes(() => aiSdk);
  return () => async (messages) => {
    const list = messages.map((message) => {
      if (!converted.has(message)) converted.set(message, toModelMessage(message));
      return converted.get(message);
    });
    return shapes.read(await policy(list, messages));
  };
}

function pruned(settings) {
  return played((messages) => pruneMessages({ messages, ...settings }));
}

/** Each call happens when its last message came, with the usage of the step before it. */
function stepped(options) {
  return () => {
    const prepareStep = createPrepareStep({ contextWindow: CONTEXT_WINDOW, ...options });
    return played((messages, { length, ...list }) => {
      const last = list[length - 1];
      const answer = Object.values(list).findLast(({ role }) => role === "assistant");
      const realNow = Date.now;
      Date.now = () => last.timestamp;
      const step = answer && stepOf(answer);
      const sent = prepareStep({ messages, steps: step ? [step] : [], model: modelOf(answer) });
      Date.now = realNow;
      return sent.then(({ messages }) => messages);
    })();
  };
}

const modelOf = (answer) => answer && { provider: `${answer.provider}.messages`, modelId: answer.model };

function stepOf({ usage, model, timestamp }) {
  const { input = 0, cacheRead = 0, cacheWrite = 0, output = 0 } = usage ?? {};
  const inputTokenDetails = { cacheReadTokens: cacheRead, cacheWriteTokens: cacheWrite };
  const used = { inputTokens: input + cacheRead + cacheWrite, outputTokens: output, inputTokenDetails };
  return { usage: used, response: { modelId: model, timestamp: new Date(timestamp) } };
}

const policies = {
  "no pruning": played((messages) => messages),
  'pruneMessages, reasoning: "before-last-message"': pruned({ reasoning: "before-last-message" }),
  'pruneMessages, toolCalls: "before-last-20-messages"': pruned({ toolCalls: "before-last-20-messages" }),
  'pruneMessages, reasoning: "all", toolCalls: "before-last-message"': pruned({
    reasoning: "all",
    toolCalls: "before-last-message",
  }),
  createPrepareStep: stepped({}),
  'createPrepareStep, economy: "thrifty"': stepped({ economy: "thrifty" }),
};

await printComparison(process.argv.slice(2), { contextWindow: CONTEXT_WINDOW, policies });
