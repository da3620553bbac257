// A model without a network: a `streamFn` for pi's Agent that answers from a script and keeps what it was sent. A
// step of the script is `{ thinking, text, calls: [{ name, arguments }] }`, or `{ errorMessage }` for a request that fails; a
// script is any iterable of steps, and a generator receives the newest tool results as an array of texts. Usage is reported as a provider with a prefix
// cache would; how tokens are counted and what time it is are up to the caller.

/** A model as pi describes one; nothing is ever sent to it. */
export const scriptedModel = {
  id: "scripted-1",
  name: "Scripted",
  api: "anthropic-messages",
  provider: "anthropic",
  baseUrl: "http://localhost:1/",
  reasoning: true,
  input: ["text"],
  cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  contextWindow: 200_000,
  maxTokens: 64_000,
};

/** The time that a provider keeps a prompt in its cache. Anthropic's default, in milliseconds. */
const CACHE_TTL_MS = 300_000;
/** Tokens after the last cache breakpoint, which no cache covers. As seen in Anthropic's usage. */
const UNCACHED_TOKENS = 3;

/** Rough size where no exact one is asked for: four characters a token. */
const roughTokens = (messages) => Math.ceil(JSON.stringify(messages).length / 4);

/**
 * @param script the steps, taken in order over all prompts of the agent
 * @param options.countTokens how a list of messages is counted
 * @param options.now the time, in milliseconds since 1970
 */
export function createScriptedModel(script, { countTokens = roughTokens, now = Date.now } = {}) {
  const steps = script[Symbol.iterator]();
  const cache = createPrefixCache(countTokens, now);
  const sent = [];
  let calls = 0;

  function answer(messages) {
    const { value } = steps.next(newestResults(messages));
    const step = value ?? { text: "The script has ended." };
    if (step.errorMessage) return { content: [], stopReason: "error", errorMessage: step.errorMessage };
    const blocks = (step.calls ?? []).map((call) => ({ type: "toolCall", id: `call_${++calls}`, ...call }));
    if (step.text) blocks.unshift({ type: "text", text: step.text });
    if (step.thinking) {
      blocks.unshift({
        type: "thinking",
        thinking: step.thinking,
        thinkingSignature: `signature-${sent.length}`,
      });
    }
    return { content: blocks, stopReason: step.calls ? "toolUse" : "stop" };
  }

  async function streamFn(model, context, options) {
    sent.push({ messages: [...context.messages], context });
    const aborted = { content: [], stopReason: "aborted", errorMessage: "Request was aborted" };
    const given = options?.signal?.aborted ? aborted : answer(context.messages);
    const { api, provider, id } = model;
    const usage = cache.usage(context, given.content);
    return streamOf({ role: "assistant", api, provider, model: id, ...given, usage, timestamp: now() });
  }
  return { streamFn, sent };
}

/** The texts of the results that end the messages. */
function newestResults(messages) {
  const texts = [];
  for (const message of [...messages].reverse()) {
    if (message.role !== "toolResult") break;
    texts.unshift(message.content.map((block) => block.text ?? "").join("\n"));
  }
  return texts;
}

/** The events pi's loop reads, for one message that arrives whole. */
export function streamOf(message) {
  const reason = message.stopReason;
  const hasFailed = reason === "aborted" || reason === "error";
  const end = hasFailed ? { type: "error", reason, error: message } : { type: "done", reason, message };
  return {
    async *[Symbol.asyncIterator]() {
      yield { type: "start", partial: { ...message, content: [] } };
      yield end;
    },
    result: async () => message,
  };
}

/** Usage of requests in a row: what is the same as in the request before is read from the cache, while it lasts. */
function createPrefixCache(countTokens, now) {
  let cached = [];
  let lastUse = Number.NEGATIVE_INFINITY;
  return {
    usage({ systemPrompt, tools, messages }, answer) {
      const system = { role: "user", content: JSON.stringify([systemPrompt, tools]) };
      const prompt = [system, ...messages];
      const texts = prompt.map((message) => JSON.stringify(message));
      const warm = now() - lastUse <= CACHE_TTL_MS;
      const changed = texts.findIndex((text, index) => text !== cached[index]);
      const same = warm ? prompt.slice(0, changed === -1 ? prompt.length : changed) : [];
      cached = texts;
      lastUse = now();
      const cacheRead = same.length === 0 ? 0 : countTokens(same);
      const cacheWrite = countTokens(prompt) - cacheRead;
      const output = countTokens([{ role: "assistant", content: answer }]);
      return priced({ input: UNCACHED_TOKENS, output, cacheRead, cacheWrite });
    },
  };
}

/** Adds the total and the cost, from the model's prices in dollars per million tokens. */
function priced(usage) {
  const { input, output, cacheRead, cacheWrite } = usage;
  const costs = Object.entries(scriptedModel.cost).map(([kind, price]) => [
    kind,
    (usage[kind] * price) / 1e6,
  ]);
  const total = costs.reduce((sum, [, dollars]) => sum + dollars, 0);
  return {
    ...usage,
    totalTokens: input + output + cacheRead + cacheWrite,
    cost: { ...Object.fromEntries(costs), total },
  };
}
