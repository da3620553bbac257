// A server that speaks OpenAI's or Anthropic's streaming protocol and answers from a script. It counts each request as a
// provider would, and notes or refuses what a provider would refuse.

import { once } from "node:events";
import { createServer } from "node:http";
import { judge } from "./wire/judge.mjs";
import { ChatMemory, MessagesMemory } from "./wire/memory.mjs";

/** As many as cl100k_base counts and a few more, as a provider does. */
const tokensOf = (body) => Math.ceil(JSON.stringify([body.system, body.messages]).length / 2);

const PROTOCOLS = {
  openai: { api: "openai-completions", eventsOf: chatEvents, refusal: (message) => ({ error: { message } }) },
  anthropic: {
    api: "anthropic-messages",
    eventsOf: messageEvents,
    refusal: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  },
};

/**
 * `answer(n)` is what answers request `n`: `{ thinking, text, calls: [{ id, name, arguments }] }`. Without it the server calls
 * `tool(n)` for some steps, then ends with `say(body)`. After `begin()` requests are counted anew. A server that `refuses` answers
 * a request with a problem by an error 400.
 */
export async function scriptedServer(kind, options) {
  const { steps, tool = (n) => ({ name: "read", arguments: { n } }), refuses = false } = options;
  const { say = () => "done" } = options;
  const requests = [];
  const problems = [];
  let begun = 0;
  const step = (n, body) => {
    const id = `c${requests.length}`;
    return n <= steps ? { calls: [{ id, ...tool(requests.length) }] } : { text: say(body) };
  };
  const { answer = step } = options;
  const { api, eventsOf, refusal } = PROTOCOLS[kind];
  const memory = kind === "openai" ? new ChatMemory() : new MessagesMemory();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text);
    const tokens = tokensOf(body);
    requests.push({ body, tokens });
    const found = [...judge(api, body), ...memory.problems(body)];
    problems.push(...found.map((problem) => `request ${requests.length}: ${problem}`));
    if (refuses && found.length > 0) {
      response.writeHead(400, { "content-type": "application/json" });
      return response.end(JSON.stringify(refusal(found.join("; "))));
    }
    const n = requests.length;
    const said = { signature: `signature${n}`, calls: [], ...answer(n - begun, body) };
    memory.note(body, said);
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of eventsOf(said, tokens)) response.write(event);
    return response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  const begin = () => {
    begun = requests.length;
  };
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `${url}/v1`, root: url, requests, problems, begin, close };
}

const data = (value) => `data: ${JSON.stringify(value)}\n\n`;
const event = (value) => `event: ${value.type}\n${data(value)}`;

function chatEvents({ thinking, text, calls }, tokens) {
  const of = { id: "x", object: "chat.completion.chunk", created: 1, model: "gpt-test" };
  const chunk = (delta, reason = null) =>
    data({ ...of, choices: [{ index: 0, delta, finish_reason: reason }] });
  const asked = calls.map(({ id, name, arguments: input }, index) => ({
    index,
    id,
    type: "function",
    function: { name, arguments: JSON.stringify(input) },
  }));
  const usage = {
    prompt_tokens: tokens,
    completion_tokens: 9,
    total_tokens: tokens + 9,
    prompt_tokens_details: { cached_tokens: Math.floor(tokens / 2) },
  };
  return [
    ...(thinking ? [chunk({ role: "assistant", reasoning_content: thinking })] : []),
    ...(text ? [chunk({ role: "assistant", content: text })] : []),
    ...(calls.length > 0 ? [chunk({ role: "assistant", tool_calls: asked })] : []),
    chunk({}, calls.length > 0 ? "tool_calls" : "stop"),
    data({ ...of, choices: [], usage }),
    "data: [DONE]\n\n",
  ];
}

function messageEvents({ thinking, signature, text, calls }, tokens) {
  const [read, written] = [Math.floor(tokens / 2), Math.floor(tokens / 4)];
  const usage = {
    input_tokens: tokens - read - written,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens: 1,
  };
  const message = {
    id: "m",
    type: "message",
    role: "assistant",
    model: "claude-test",
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage,
  };
  const thought = [
    { type: "thinking", thinking: "", signature: "" },
    { type: "thinking_delta", thinking },
    { type: "signature_delta", signature },
  ];
  const blocks = [
    ...(thinking ? [thought] : []),
    ...(text
      ? [
          [
            { type: "text", text: "" },
            { type: "text_delta", text },
          ],
        ]
      : []),
    ...calls.map(({ id, name, arguments: input }) => [
      { type: "tool_use", id, name, input: {} },
      { type: "input_json_delta", partial_json: JSON.stringify(input) },
    ]),
  ];
  return [
    { type: "message_start", message },
    ...blocks.flatMap(([block, ...deltas], index) => [
      { type: "content_block_start", index, content_block: block },
      ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: calls.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: 9 },
    },
    { type: "message_stop" },
  ].map(event);
}
