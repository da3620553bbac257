// The two APIs the scripted server speaks, as far as pi uses them: what a request says, and an answer as a stream.

/** By the path of a request. */
export const APIS = {
  "/v1/messages": {
    read: readAnthropic,
    answer: answerAnthropic,
    refuse: refuseAnthropic,
    name: "anthropic-messages",
  },
  "/v1/chat/completions": {
    read: readOpenai,
    answer: answerOpenai,
    refuse: refuseOpenai,
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

function* answerAnthropic({ text, calls }, { input, output, cacheRead, cacheWrite }, { id, model }) {
  const event = (data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  const usage = {
    input_tokens: input,
    cache_read_input_tokens: cacheRead,
    cache_creation_input_tokens: cacheWrite,
    output_tokens: 1,
  };
  const message = { id, type: "message", role: "assistant", model, content: [], stop_reason: null, usage };
  yield event({ type: "message_start", message });
  const blocks = [
    ...(text === ""
      ? []
      : [
          [
            { type: "text", text: "" },
            { type: "text_delta", text },
          ],
        ]),
    ...calls.map(({ id: callId, name, arguments: args }) => [
      { type: "tool_use", id: callId, name, input: {} },
      { type: "input_json_delta", partial_json: JSON.stringify(args) },
    ]),
  ];
  for (const [index, [block, delta]] of blocks.entries()) {
    yield event({ type: "content_block_start", index, content_block: block });
    yield event({ type: "content_block_delta", index, delta });
    yield event({ type: "content_block_stop", index });
  }
  const stop = calls.length > 0 ? "tool_use" : "end_turn";
  yield event({ type: "message_delta", delta: { stop_reason: stop }, usage: { output_tokens: output } });
  yield event({ type: "message_stop" });
}

function* answerOpenai({ text, calls }, { input, output, cacheRead, cacheWrite }, { id, model }) {
  const chunk = (more) =>
    `data: ${JSON.stringify({ id, object: "chat.completion.chunk", model, ...more })}\n\n`;
  const delta = (of, reason = null) => chunk({ choices: [{ index: 0, delta: of, finish_reason: reason }] });
  yield delta({ role: "assistant", content: null });
  if (text !== "") yield delta({ content: text });
  for (const [index, { id: callId, name, arguments: args }] of calls.entries()) {
    const called = { name, arguments: JSON.stringify(args) };
    yield delta({ tool_calls: [{ index, id: callId, type: "function", function: called }] });
  }
  yield delta({}, calls.length > 0 ? "tool_calls" : "stop");
  const prompt = input + cacheRead + cacheWrite;
  yield chunk({
    choices: [],
    usage: {
      prompt_tokens: prompt,
      completion_tokens: output,
      total_tokens: prompt + output,
      prompt_tokens_details: { cached_tokens: cacheRead },
    },
  });
  yield "data: [DONE]\n\n";
}

function refuseAnthropic(tokens, window) {
  const message = `prompt is too long: ${tokens} tokens > ${window} maximum`;
  return { type: "error", error: { type: "invalid_request_error", message } };
}

function refuseOpenai(tokens, window) {
  const message = `This model's maximum context length is ${window} tokens. However, your messages resulted in ${tokens} tokens.`;
  return { error: { message, type: "invalid_request_error", code: "context_length_exceeded" } };
}
