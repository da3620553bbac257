// A local server with the scripted model behind both APIs. It counts and caches what it is really sent.

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { APIS } from "../../../__test__/support/apis.mjs";
import { sessionOf } from "../tasks/index.mjs";
import { ScriptedModel } from "./model.mjs";

/** Its prices in dollars per million tokens: those of Claude Opus 4.5, as in the other benches. */
export const SCRIPTED_PRICES = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };

/** Code units of one of its tokens. */
const UNITS_PER_TOKEN = 4;
/** Tokens that Anthropic's API reports as uncached beside a prompt that is written to the cache. */
const UNCACHED_TOKENS = 3;

/** A server for the run with this seed and these languages. */
export async function startScripted({ seed, languages }) {
  const sessions = new Map();
  const model = new ScriptedModel((cwd) => {
    const number = /session-(\d+)-\w+/.exec(cwd ?? "")?.[1];
    if (number === undefined) return undefined;
    if (!sessions.has(number)) sessions.set(number, sessionOf(`${seed}-${number - 1}`, languages));
    return sessions.get(number);
  });
  const cache = new Map();
  let answers = 0;
  const server = createServer(async (request, response) => {
    const api = APIS[new URL(request.url, "http://localhost").pathname];
    if (api === undefined) return response.writeHead(404).end();
    const body = JSON.parse((await buffer(request)).toString("utf8"));
    const read = api.read(body);
    const answer = model.answer(read);
    const usage = usageOf(read, answer, api.name, cache);
    answers += 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of api.answer(answer, usage, { id: `answer-${answers}`, model: body.model }))
      response.write(event);
    return response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { baseUrl: `http://127.0.0.1:${server.address().port}`, close };
}

/** The tokens of a request and its answer. `cache` holds what was sent last from each folder that an agent works in. */
function usageOf({ folder, pieces, hasTools }, answer, api, cache) {
  const tokensOf = (texts) => texts.reduce((sum, text) => sum + Math.ceil(text.length / UNITS_PER_TOKEN), 0);
  const last = (hasTools && cache.get(folder)) || [];
  const changed = pieces.findIndex((piece, i) => piece !== last[i]);
  const cacheRead = tokensOf(pieces.slice(0, changed === -1 ? pieces.length : changed));
  if (hasTools) cache.set(folder, pieces);
  const fresh = tokensOf(pieces) - cacheRead;
  // OpenAI's caches cost nothing to write.
  const input = api === "openai-completions" ? fresh : Math.min(fresh, UNCACHED_TOKENS);
  return { input, output: tokensOf([JSON.stringify(answer)]), cacheRead, cacheWrite: fresh - input };
}
