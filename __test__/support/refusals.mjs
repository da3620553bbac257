// What endpoints say of a request that is too long.

/** Words of endpoints, by the tokens of the prompt and the limit. */
export const REFUSALS = {
  Writer: (n, l) =>
    `{"errors":[{"description":"Input exceeds token limit of ${l} (got ${n})","key":"fail.badrequest"}]}`,
  Chrome: (n, l) => `QuotaExceededError: The input is too large. Requested ${n} tokens, context window ${l}`,
  Anthropic: (n, l) => `400 prompt is too long: ${n} tokens > ${l} maximum`,
  OpenAI: (n, l) =>
    `400 This model's maximum context length is ${l} tokens. However, your messages resulted in ${n} tokens. Please reduce the length of the messages.`,
  Gemini: (n, l) => `The input token count (${n}) exceeds the maximum number of tokens allowed (${l}).`,
  Bedrock: (n, l) =>
    `ValidationException: Too many input tokens. Max input tokens: ${l}, request input token count: ${n}`,
  vLLM: (n, l) =>
    `The decoder prompt (length ${n}) is longer than the maximum model length of ${l}. Make sure that \`max_model_len\` is no smaller than the number of text tokens plus multimodal tokens. For image inputs, the number of image tokens depends on the number of images.`,
  "llama.cpp": (n, l) =>
    `{"error":{"code":400,"message":"request (${n} tokens) exceeds the available context size (${l} tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":${n},"n_ctx":${l}}}`,
  "llama-cpp-python": (n, l) => `Requested tokens (${n}) exceed context window of ${l}`,
  "LM Studio": (n, l) =>
    `Trying to keep the first ${n} tokens when context the overflows. However, the model is loaded with context length of only ${l} tokens, which is not enough.`,
  LiteLLM: (n, l) =>
    `litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's maximum context length is ${l} tokens. However, your messages resulted in ${n} tokens (${n - 1000} in the messages, 1000 in the functions).`,
  OpenRouter: (n, l) =>
    `400 This endpoint's maximum context length is ${l} tokens. However, you requested about ${n} tokens (${n - 1000} of text input, 1000 of tool input).`,
  Groq: (n, l) =>
    `400 Please reduce the length of the messages or completion. Current length is ${n} while limit is ${l}`,
  Mistral: (n, l) =>
    `400 Prompt contains ${n} tokens and 0 draft tokens, too large for model with ${l} maximum context length`,
  Moonshot: (n, l) => `Invalid request: Your request exceeded model token limit: ${l} (requested: ${n})`,
  xAI: (n, l) => `This model's maximum prompt length is ${l} but the request contains ${n} tokens.`,
  SGLang: (n, l) => `The input (${n} tokens) is longer than the model's context length (${l} tokens).`,
  Copilot: (n, l) => `400 prompt token count of ${n} exceeds the limit of ${l}`,
  Cohere: (n, l) =>
    `too many tokens: total number of tokens in the prompt cannot exceed ${l} - received ${n}. Try using a shorter prompt`,
  SiliconFlow: (n, l) => `400 length of prompt_tokens (${n}) must be less than max_seq_len (${l}).`,
  Cloudflare: (n, l) =>
    `413 5021: AiError: Ai: The estimated number of input and maximum output tokens (${n}) exceeded this model context window limit (${l}).`,
  Qwen: (_, l) => `400 InternalError.Algo.InvalidParameter: Range of input length should be [1, ${l}]`,
  GitHub: (_, l) => `Request body too large for gpt-4o-2024-08-06 model. Max size: ${l} tokens.`,
  Ollama: (n, l) => `400 prompt too long; exceeded max context length by ${n - l} tokens`,
  "nested JSON": (n, l) =>
    JSON.stringify({
      error: {
        message: JSON.stringify({ error: { message: `prompt is too long: ${n} tokens > ${l} maximum` } }),
      },
    }),
  Chinese: (_, l) => `输入内容超过模型最大长度限制 ${l}`,
};
