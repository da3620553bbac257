// A model without a network: a `streamFn` for pi's Agent that answers from a script and keeps what it was sent. A
// step of the script is `{ thinking, text, calls: [{ name, arguments }] }`, or a function that makes one from the
// messages sent. Usage is reported as a provider with a prefix cache would; how tokens are counted is up to the
// caller.

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

/** Rough size where no exact one is asked for: four characters a token. */
const roughTokens = (value) => Math.ceil(JSON.stringify(value).length / 4);

/**
 * @param script steps, taken in order over all prompts of the agent
 * @param options.tokens how a list of messages is counted
 * @param options.onRequest called with each request's context, before the answer
 */
export function createScriptedModel(script, { tokens = roughTokens, onRequest } = {}) {
  const sent = [];
  const cache = createPrefixCache(tokens);
  let callIds = 0;
  async function streamFn(model, context, options) {
    const request = { messages: [...context.messages], context };
    const step = script[sent.length] ?? { text: "The script has ended." };
    sent.push(request);
    onRequest?.(request, sent.length - 1);
    const { thinking, text, calls = [] } = typeof step === "function" ? step(request.messages) : step;
    const content = [];
    if (thinking) content.push({ type: "thinking", thinking, thinkingSignature: `signature-${sent.length}` });
    if (text) content.push({ type: "text", text });
    for (const call of calls) content.push({ type: "toolCall", id: `call_${++callIds}`, ...call });
    const aborted = options?.signal?.aborted === true;
    const message = {
      role: "assistant",
      content: aborted ? [] : content,
      api: model.api,
      provider: model.provider,
      model: model.id,
      usage: cache.usage(request.messages, content),
      stopReason: aborted ? "aborted" : calls.length > 0 ? "toolUse" : "stop",
      ...(aborted ? { errorMessage: "Request was aborted" } : {}),
      timestamp: Date.now(),
    };
    return streamOf(message);
  }
  return { streamFn, sent };
}

/** The events pi's loop reads, as a stream of one message that arrives whole. */
function streamOf(message) {
  const failed = message.stopReason === "aborted";
  const end = failed
    ? { type: "error", reason: message.stopReason, error: message }
    : { type: "done", reason: message.stopReason, message };
  return {
    async *[Symbol.asyncIterator]() {
      yield { type: "start", partial: { ...message, content: [] } };
      yield end;
    },
    result: async () => message,
  };
}

/** Usage of requests in a row: what the request before had, in the same order, is read from the cache. */
export function createPrefixCache(tokens) {
  let before = [];
  return {
    usage(messages, answer) {
      const texts = messages.map((message) => JSON.stringify(message));
      let same = 0;
      while (same < before.length && before[same] === texts[same]) same++;
      before = texts;
      const read = same === 0 ? 0 : tokens(messages.slice(0, same));
      const usage = { input: 3, output: tokens([{ role: "assistant", content: answer }]), cacheRead: read };
      usage.cacheWrite = tokens(messages) - read;
      return withCost(usage);
    },
  };
}

/** Adds the totals pi computes from the model's prices (dollars per million tokens). */
export function withCost(usage) {
  const cost = {};
  let total = 0;
  for (const [kind, price] of Object.entries(scriptedModel.cost)) {
    cost[kind] = (usage[kind] * price) / 1e6;
    total += cost[kind];
  }
  const totalTokens = usage.input + usage.output + usage.cacheRead + usage.cacheWrite;
  return { ...usage, totalTokens, cost: { ...cost, total } };
}
