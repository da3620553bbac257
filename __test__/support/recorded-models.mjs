// A recorded session of pi's, and the same calls as the AI SDK would have made them.
import { loadSession } from "../../lib/cli/session.mjs";

/**
 * `piMessages` of a session file, and `modelLists`: for each call of the model the number of pi's messages before it, the same
 * list as `ModelMessage[]` (each message one object through all lists), the step before it, the model, and the time.
 */
export async function readRecorded(file) {
  const { messages: piMessages } = await loadSession(file);
  const converted = piMessages.map(toModelMessage);
  const answers = piMessages.flatMap(({ role }, i) => (role === "assistant" ? [i] : []));
  const modelLists = answers.map((at, call) => {
    const last = piMessages[answers[call - 1]];
    return {
      length: at,
      messages: converted.slice(0, at),
      step: last === undefined ? undefined : stepOf(last),
      model: modelOf(piMessages[at]),
      at: piMessages[at - 1].timestamp,
    };
  });
  return { piMessages, modelLists };
}

const modelOf = ({ provider, model }) => ({ provider: `${provider}.messages`, modelId: model });

function stepOf({ usage, model, timestamp }) {
  const { input, cacheRead, cacheWrite, output } = usage;
  const total = input + cacheRead + cacheWrite;
  const inputTokenDetails = {
    noCacheTokens: input,
    cacheReadTokens: cacheRead,
    cacheWriteTokens: cacheWrite,
  };
  return {
    usage: { inputTokens: total, inputTokenDetails, outputTokens: output },
    response: { modelId: model, timestamp: new Date(timestamp) },
  };
}

export function toModelMessage({ role, content, toolCallId, toolName, isError }) {
  if (role === "toolResult") {
    const value = content.map(({ text }) => text ?? "").join("\n");
    const output = { type: isError ? "error-text" : "text", value };
    return { role: "tool", content: [{ type: "tool-result", toolCallId, toolName, output }] };
  }
  if (typeof content === "string") return { role, content };
  return { role, content: content.map((block) => PARTS[block.type](block)) };
}

/** Parts by the types of pi's blocks. */
const PARTS = {
  text: ({ text }) => ({ type: "text", text }),
  thinking: ({ thinking: text, thinkingSignature: signature }) => ({
    type: "reasoning",
    text,
    providerOptions: { anthropic: { signature } },
  }),
  toolCall: ({ id: toolCallId, name: toolName, arguments: input }) => ({
    type: "tool-call",
    toolCallId,
    toolName,
    input,
  }),
  image: ({ data: image, mimeType: mediaType }) => ({ type: "image", image, mediaType }),
};
