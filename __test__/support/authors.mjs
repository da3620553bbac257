// The models that generated conversations are written by, one or two per wire protocol, and how each signs its
// thinking, its texts and its calls: in the forms pi keeps them in.

const base64 = (text) => Buffer.from(text.padEnd(12, "-")).toString("base64");
const thinking = (text, thinkingSignature, more) => ({
  type: "thinking",
  thinking: text,
  thinkingSignature,
  ...more,
});
const call = (id, name, args, more) => ({ type: "toolCall", id, name, arguments: args, ...more });

const anthropic = {
  api: "anthropic-messages",
  provider: "anthropic",
  model: "claude-sonnet-4-5",
  thinks: "maybe",
  thinking: (text, n) => thinking(text, `sig${n}==`),
  /** Thinking that only its author can read. */
  sealed: (n) => thinking("[Reasoning redacted]", `data${n}`, { redacted: true }),
  text: (text) => ({ type: "text", text }),
  call: (n, name, args) => call(`toolu_${n}`, name, args),
};

const openai = {
  ...anthropic,
  api: "openai-responses",
  provider: "openai",
  model: "gpt-5",
  thinking: (text, n) => thinking(text, reasoningItem(n, [{ type: "summary_text", text }])),
  sealed: (n) => thinking("", reasoningItem(n, [])),
  text: (text, n) => ({ type: "text", text, textSignature: JSON.stringify({ v: 1, id: `msg_x${n}` }) }),
  call: (n, name, args) => call(`call_${n}|fc_x${n}`, name, args),
};

function reasoningItem(n, summary) {
  return JSON.stringify({
    type: "reasoning",
    id: `rs_x${n}`,
    summary,
    encrypted_content: base64(`sealed ${n}`),
  });
}

const chat = {
  ...anthropic,
  api: "openai-completions",
  provider: "openai",
  model: "gpt-4o",
  thinks: "never",
  call: (n, name, args) => call(`call_${n}`, name, args),
};

const deepseek = {
  ...chat,
  provider: "deepseek",
  model: "deepseek-reasoner",
  thinks: "always",
  thinking: (text) => thinking(text, "reasoning_content"),
  sealed: () => thinking("hm", "reasoning_content"),
};

/** DeepSeek's own endpoint for Anthropic's protocol. */
const deepseekMessages = {
  ...anthropic,
  provider: "deepseek",
  model: "deepseek-v4-pro",
  thinks: "always",
  thinking: (text, n) => thinking(text, `0198-${n}`),
  sealed: (n) => thinking("hm", `0198-${n}`),
};

/** Gemini through OpenRouter: pi keeps its `reasoning_details` as the signature, from 0.87 on. */
const openRouter = {
  ...chat,
  provider: "openrouter",
  model: "google/gemini-3-pro-preview",
  thinks: "always",
  thinking: (text, n) =>
    thinking(
      text,
      JSON.stringify([{ type: "reasoning.encrypted", data: base64(`sealed ${n}`), id: `call_${n}` }]),
    ),
};
openRouter.sealed = (n) => openRouter.thinking("hm", n);

const mistral = {
  ...chat,
  api: "mistral-conversations",
  provider: "mistral",
  model: "devstral-medium-latest",
  /** Its provider refuses two messages of one side in a row. */
  speaksInTurn: true,
  call: (n, name, args) => call(`c${String(n).padStart(8, "0")}`, name, args),
};

const nova = {
  ...anthropic,
  api: "bedrock-converse-stream",
  provider: "amazon-bedrock",
  model: "amazon.nova-pro-v1:0",
  thinks: "never",
  speaksInTurn: true,
  call: (n, name, args) => call(`tooluse_${n}`, name, args),
};

const gemini = {
  ...anthropic,
  api: "google-generative-ai",
  provider: "google",
  model: "gemini-3-pro-preview",
  thinking: (text, n) => thinking(text, base64(`thought ${n}`)),
  sealed: (n) => thinking("hm", base64(`thought ${n}`)),
  // Gemini signs the first of parallel calls.
  call: (n, name, args, isFirst) =>
    call(`${name}_17_${n}`, name, args, isFirst && { thoughtSignature: base64(`call ${n}`) }),
};

const olderGemini = {
  ...gemini,
  model: "gemini-2.5-pro",
  thinks: "never",
  call: (n, name, args) => call(`${name}_17_${n}`, name, args),
};

export const authors = [
  ...[anthropic, openai, chat, deepseek, gemini, olderGemini],
  ...[deepseekMessages, openRouter, mistral, nova],
];
