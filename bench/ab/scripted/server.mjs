// A local server with the scripted model behind both APIs: it counts, caches, bills and refuses what it is really sent,
// and keeps its own books, for the bench's to be checked against.

import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { APIS } from "../../../__test__/support/apis.mjs";
import { sessionOf } from "../tasks/index.mjs";
import { dollarsOf } from "../usage.mjs";
import { ScriptedModel } from "./model.mjs";

/** Its prices in dollars per million tokens: those of Claude Opus 4.5, as in the other benches. */
export const SCRIPTED_PRICES = { input: 5, output: 25, cacheRead: 0.5, cacheWrite: 6.25 };

/** Code units of one of its tokens. */
const UNITS_PER_TOKEN = 4;
/** Tokens that Anthropic's API reports as uncached beside a prompt that is written to the cache. */
const UNCACHED_TOKENS = 3;

/**
 * A server for the run with this seed and these languages, refusing what is over `window` tokens. `onRequest` may hold
 * an answer back.
 */
export async function startScripted({ seed, languages, window = Number.POSITIVE_INFINITY, onRequest }) {
  const sessions = new Map();
  const sessionFor = (cwd) => {
    const number = /session-(\d+)-\w+/.exec(cwd ?? "")?.[1];
    if (number === undefined) return undefined;
    if (!sessions.has(number)) sessions.set(number, sessionOf(`${seed}-${number - 1}`, languages));
    return sessions.get(number);
  };
  const model = new ScriptedModel(sessionFor);
  const books = new Books(window);
  const server = createServer(async (request, response) => {
    const api = APIS[new URL(request.url, "http://localhost").pathname];
    if (api === undefined) return response.writeHead(404).end();
    const body = JSON.parse((await buffer(request)).toString("utf8"));
    const read = api.read(body);
    const sent = books.receive({ ...read, seed: body.seed }, api.name);
    if (sent.isRefused) {
      response.writeHead(400, { "content-type": "application/json" });
      return response.end(JSON.stringify(api.refuse(sent.tokens, window)));
    }
    await onRequest?.(books.calls.length);
    const answer = model.answer(read);
    const usage = books.bill(sent, answer);
    response.writeHead(200, { "content-type": "text/event-stream" });
    const about = { id: `answer-${books.calls.length}`, model: body.model };
    for (const event of api.answer(answer, usage, about)) response.write(event);
    return response.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    baseUrl: `http://127.0.0.1:${server.address().port}`,
    decisions: model.decisions,
    calls: books.calls,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The tokens that were sent, cached and billed, by the folder the agent works in. */
class Books {
  calls = [];
  #window;
  #cached = new Map();

  constructor(window) {
    this.#window = window;
  }

  receive({ folder: cwd, pieces, hasTools, seed }, api) {
    const sizes = pieces.map((piece) => Math.ceil(piece.length / UNITS_PER_TOKEN));
    const tokens = sum(sizes);
    const sent = { cwd, api, hasTools, seed, tokens, isRefused: tokens > this.#window };
    if (sent.isRefused) {
      this.calls.push(sent);
      return sent;
    }
    const last = (hasTools && this.#cached.get(cwd)) || [];
    const changed = pieces.findIndex((piece, i) => piece !== last[i]);
    const cacheRead = sum(sizes.slice(0, changed === -1 ? pieces.length : changed));
    if (hasTools) this.#cached.set(cwd, pieces);
    return { ...sent, cacheRead };
  }

  bill({ cwd, api, hasTools, seed, tokens, cacheRead }, answer) {
    const output = Math.ceil(JSON.stringify(answer).length / UNITS_PER_TOKEN);
    const fresh = tokens - cacheRead;
    // OpenAI's caches cost nothing to write.
    const input = api === "openai-completions" ? fresh : Math.min(fresh, UNCACHED_TOKENS);
    const usage = { input, output, cacheRead, cacheWrite: fresh - input };
    const dollars = dollarsOf({ usage }, SCRIPTED_PRICES);
    this.calls.push({ cwd, api, hasTools, seed, tokens, usage, dollars });
    return usage;
  }
}

function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}
