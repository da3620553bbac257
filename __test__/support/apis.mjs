// The two APIs that scripted servers speak, as far as pi uses them: what a request says, an answer as a stream, an error.

/** By the path of a request. An answer is `{ thinking, signature, text, calls: [{ id, name, arguments }] }`. */
export const APIS = {
  "/v1/messages": {
    read: readAnthropic,
    answer: answerAnthropic,
    error: errorAnthropic,
    name: "anthropic-messages",
  },
  "/v1/chat/completions": {
    read: readOpenai,
    answer: answerOpenai,
    error: errorOpenai,
    name: "openai-completions",
  },
};

/** The folder an agent of the experiment works in, as versions of pi tell it in one or another sentence. */
const FOLDER = /[^\s<>"']*session-\d+-\w+[\\/]work/;

/** `{ folder, pieces, text, results, tools, hasTools }`; `pieces` are what a cache compares, in order. */
function readAnthropic({ system, tools, messages }) {
  const results = new Map();
  for (const { content } of messages) {
    if (!Array.isArray(content)) continue;
    for (const block of content) {
      if (block.type === "tool_result") results.set(block.tool_use_id, stringsIn(block.content).join("\n"));
    }
  }
  return requestOf(stringsIn(system ?? "").join("\n"), tools, messages, results);
}

function readOpenai({ tools, messages }) {
  const isSystem = ({ role }) => role === "system" || role === "developer";
  const results = new Map();
  for (const { role, tool_call_id: id, content } of messages) {
    if (role === "tool") results.set(id, stringsIn(content).join("\n"));
  }
  const system = messages.filter(isSystem).flatMap(({ content }) => stringsIn(content));
  const rest = messages.filter((message) => !isSystem(message));
  return requestOf(system.join("\n"), tools, rest, results);
}

function requestOf(system, tools, messages, results) {
  const uncontrolled = (key, value) => (key === "cache_control" ? undefined : value);
  const pieces = [
    JSON.stringify([system, tools ?? []], uncontrolled),
    ...messages.map((m) => JSON.stringify(m, uncontrolled)),
  ];
  const names = new Set((tools ?? []).map((tool) => tool.name ?? tool.function?.name));
  const hasTools = names.size > 0;
  const text = stringsIn(messages).join("\n");
  // A summary is asked for without the agent's prompt, and belongs to no folder.
  const folder = hasTools ? (FOLDER.exec(system) ?? FOLDER.exec(text))?.[0] : undefined;
  return { folder, pieces, text, results, tools: names, hasTools };
}

function stringsIn(value) {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

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
