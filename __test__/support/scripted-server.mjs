// A server that speaks OpenAI's or Anthropic's streaming protocol: it calls the tool `read` for some steps, then answers. It
// counts each request as a provider would and notes what a provider would refuse.

import { once } from "node:events";
import { createServer } from "node:http";

/** As many as cl100k_base counts and a few more, as a provider does. */
const tokensOf = (body) => Math.ceil(JSON.stringify([body.system, body.messages]).length / 2);

/**
 * `tool(n)` names the call of step `n` and its arguments. After `begin()` the steps are counted anew.
 */
export async function scriptedServer(kind, { steps, tool = (n) => ({ name: "read", arguments: { n } }) }) {
  const requests = [];
  let begun = 0;
  const problems = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = JSON.parse(text);
    const tokens = tokensOf(body);
    requests.push({ body, tokens });
    problems.push(...(kind === "openai" ? brokenChat(body) : brokenMessages(body)));
    response.writeHead(200, { "content-type": "text/event-stream" });
    const n = requests.length;
    const call = n - begun <= steps ? { id: `c${n}`, ...tool(n) } : undefined;
    const answer = kind === "openai" ? chatEvents : messageEvents;
    for (const event of answer(call, tokens)) response.write(event);
    response.end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  const begin = () => {
    begun = requests.length;
  };
  return { url, requests, problems, begin, close: () => server.close() };
}

const data = (value) => `data: ${JSON.stringify(value)}\n\n`;
const event = (value) => `event: ${value.type}\n${data(value)}`;

function chatEvents(call, tokens) {
  const chunk = (delta, reason = null) =>
    data({
      id: "x",
      object: "chat.completion.chunk",
      created: 1,
      model: "gpt-test",
      choices: [{ index: 0, delta, finish_reason: reason }],
    });
  const asked = call && {
    index: 0,
    id: call.id,
    type: "function",
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  };
  const said =
    call === undefined ? { role: "assistant", content: "done" } : { role: "assistant", tool_calls: [asked] };
  const usage = {
    prompt_tokens: tokens,
    completion_tokens: 9,
    total_tokens: tokens + 9,
    prompt_tokens_details: { cached_tokens: Math.floor(tokens / 2) },
  };
  const last = {
    id: "x",
    object: "chat.completion.chunk",
    created: 1,
    model: "gpt-test",
    choices: [],
    usage,
  };
  return [chunk(said), chunk({}, call === undefined ? "stop" : "tool_calls"), data(last), "data: [DONE]\n\n"];
}

function messageEvents(call, tokens) {
  const [read, written] = [Math.floor(tokens / 2), Math.floor(tokens / 4)];
  const usage = {
    input_tokens: tokens - read - written,
    cache_read_input_tokens: read,
    cache_creation_input_tokens: written,
    output_tokens: 1,
  };
  const block =
    call === undefined
      ? { type: "text", text: "" }
      : { type: "tool_use", id: call.id, name: call.name, input: {} };
  const delta =
    call === undefined
      ? { type: "text_delta", text: "done" }
      : { type: "input_json_delta", partial_json: JSON.stringify(call.arguments) };
  return [
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "claude-test",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage,
      },
    },
    { type: "content_block_start", index: 0, content_block: block },
    { type: "content_block_delta", index: 0, delta },
    { type: "content_block_stop", index: 0 },
    {
      type: "message_delta",
      delta: { stop_reason: call === undefined ? "end_turn" : "tool_use", stop_sequence: null },
      usage: { output_tokens: 9 },
    },
    { type: "message_stop" },
  ].map(event);
}

/** Calls without a result and results without a call, as OpenAI refuses them. */
function brokenChat({ messages }) {
  const problems = [];
  let open = new Set();
  for (const [i, { role, tool_calls: calls = [], tool_call_id: id }] of messages.entries()) {
    if (role === "tool") {
      if (!open.delete(id)) problems.push(`message ${i}: no call ${id}`);
      continue;
    }
    if (open.size > 0) problems.push(`message ${i}: calls without results`);
    open = new Set(calls.map((call) => call.id));
  }
  return problems;
}

/** The same as Anthropic refuses them: each call is answered in the next message. */
function brokenMessages({ messages }) {
  const ids = (content, type, key) =>
    Array.isArray(content) ? content.filter((block) => block.type === type).map((block) => block[key]) : [];
  return messages.flatMap(({ content }, i) => {
    const calls = ids(content, "tool_use", "id");
    const results = ids(messages[i + 1]?.content, "tool_result", "tool_use_id");
    return String(calls) === String(results) ? [] : [`message ${i}: ${calls} answered by ${results}`];
  });
}
