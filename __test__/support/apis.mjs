// The two APIs that scripted servers speak, as far as pi uses them: an answer as a stream, an error.

/** By the path of a request. An answer is `{ thinking, signature, text, calls: [{ id, name, arguments }] }`. */
export const APIS = {
  "/v1/messages": { answer: answerAnthropic, error: errorAnthropic, name: "anthropic-messages" },
  "/v1/chat/completions": { answer: answerOpenai, error: errorOpenai, name: "openai-completions" },
};

function answerAnthropic(answer, { input, output, cacheRead, cacheWrite }, { id, model }) {
  const usage = {
    input_tokens: input,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens: 1,
  };
  const message = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
  const stop = answer.calls.length > 0 ? "tool_use" : "end_turn";
  return [
    { type: "message_start", message },
    ...anthropicBlocks(answer).flatMap(([block, ...deltas], index) => [
      { type: "content_block_start", index, content_block: block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    { type: "message_delta", delta: { stop_reason: stop }, usage: { output_tokens: output } },
    { type: "message_stop" },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}

/** Each block as it begins, and what is added to it. */
function anthropicBlocks({ thinking, signature, text, calls }) {
  const thought = [
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature },
  ];
  const said = [
    { type: "text", text: "" },
    { type: "text_delta", text },
  ];
  const called = calls.map(({ id, name, arguments: input }) => [
    { type: "tool_use", id, name, input: {} },
    { type: "input_json_delta", partial_json: JSON.stringify(input) },
  ]);
  return [...(thinking ? [thought] : []), ...(text ? [said] : []), ...called];
}

function answerOpenai(answer, { input, output, cacheRead, cacheWrite }, { id, model }) {
  const { thinking, text, calls } = answer;
  const of = { id, object: "chat.completion.chunk", model };
  const delta = (added, reason = null) => ({
    ...of,
    choices: [{ index: 0, delta: added, finish_reason: reason }],
  });
  const called = calls.map(({ id: callId, name, arguments: args }, index) => ({
    index,
    id: callId,
    type: "function",
    function: { name, arguments: JSON.stringify(args) },
  }));
  const prompt = input + cacheRead + cacheWrite;
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: output,
    total_tokens: prompt + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
  };
  const chunks = [
    delta({ role: "assistant", content: null }),
    ...(thinking ? [delta({ reasoning_content: thinking })] : []),
    ...(text ? [delta({ content: text })] : []),
    ...(called.length > 0 ? [delta({ tool_calls: called })] : []),
    delta({}, called.length > 0 ? "tool_calls" : "stop"),
    { ...of, choices: [], usage },
  ];
  return [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`);
}

function errorAnthropic(message) {
  return { type: "error", error: { type: "invalid_request_error", message } };
}

function errorOpenai(message) {
  return { error: { message, type: "invalid_request_error", code: "context_length_exceeded" } };
}
