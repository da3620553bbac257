// A model without a network for the example: it answers at some length, so that a small window fills soon. Your own
// model goes here; then leave `streamFn` out.

/** As pi describes a model. The window is small enough that a few questions show what happens when it is full. */
export const model = {
  id: "talkative-1",
  name: "Talkative",
  api: "anthropic-messages",
  provider: "anthropic",
  baseUrl: "http://localhost:1/",
  reasoning: false,
  input: ["text"],
  cost: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  contextWindow: 4_000,
  maxTokens: 1_000,
};

const COST = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
const USAGE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost: COST };

/** A `streamFn` that answers without end. */
export function answers() {
  let turn = 0;
  return ({ api, provider, id }) => {
    turn += 1;
    const text = `Answer ${turn}. ${"A sentence that fills the window a little more. ".repeat(60)}`;
    return streamOf({
      role: "assistant",
      content: [{ type: "text", text }],
      api,
      provider,
      model: id,
      usage: USAGE,
      stopReason: "stop",
      timestamp: Date.now(),
    });
  };
}

/** One message as the stream pi reads. */
function streamOf(message) {
  return {
    async *[Symbol.asyncIterator]() {
      yield { type: "start", partial: { ...message, content: [] } };
      yield { type: "done", reason: message.stopReason, message };
    },
    result: async () => message,
  };
}
