// A server that speaks OpenAI's or Anthropic's streaming protocol and answers from a script. It counts each request as a
// provider would, and notes or refuses what a provider would refuse.

import { once } from "node:events";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { APIS } from "./apis.mjs";
import { judge } from "./wire/judge.mjs";
import { ChatMemory, MessagesMemory } from "./wire/memory.mjs";

/** As many as cl100k_base counts and a few more, as a provider does. */
const tokensOf = (body) => Math.ceil(JSON.stringify([body.system, body.messages]).length / 2);

const PROTOCOLS = { openai: APIS["/v1/chat/completions"], anthropic: APIS["/v1/messages"] };
/** Tokens of an answer. */
const OUTPUT = 9;

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
  const api = PROTOCOLS[kind];
  const memory = kind === "openai" ? new ChatMemory() : new MessagesMemory();
  const server = createServer(async (request, response) => {
    const body = await json(request);
    const tokens = tokensOf(body);
    requests.push({ body, tokens });
    const found = [...judge(api.name, body), ...memory.problems(body)];
    problems.push(...found.map((problem) => `request ${requests.length}: ${problem}`));
    if (refuses && found.length > 0) {
      response.writeHead(400, { "content-type": "application/json" });
      return response.end(JSON.stringify(api.error(found.join("; "))));
    }
    const n = requests.length;
    const said = { signature: `signature${n}`, calls: [], ...answer(n - begun, body) };
    memory.note(body, said);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const about = { id: `answer-${n}`, model: body.model };
    for (const event of api.answer(said, usageOf(kind, tokens), about)) response.write(event);
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

/** Half of a prompt is read from the cache, and Anthropic writes half of the rest to it. */
function usageOf(kind, tokens) {
  const cacheRead = Math.floor(tokens / 2);
  const cacheWrite = kind === "anthropic" ? Math.floor(tokens / 4) : 0;
  return { input: tokens - cacheRead - cacheWrite, output: OUTPUT, cacheRead, cacheWrite };
}
