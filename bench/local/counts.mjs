// Counts what a server with one slot and a prefix cache evaluates, as llama.cpp's does, by the vocabulary alone.

import { getEncoding } from "../../lib/tokens/index.js";
import { commonestNames, identifiersIn } from "../economy/versions.mjs";
import { quantile } from "../shared.mjs";
import { ARMS } from "./arms.mjs";
import { chatOf, textOf } from "./stretches.mjs";

/** Tokens of the system prompt and the tools of a small agent. */
const BASE_TOKENS = 500;
/** pi's prompt for a summary, and the longest summary in a small window, as a share of it. */
const SUMMARY_PROMPT_TOKENS = 600;
const SUMMARY_SHARE = 1 / 16;
/** pi shows the model that summarises so many UTF-16 units of each result. */
const SUMMARY_RESULT_UNITS = 2_000;
/** Tries of a call, as an agent makes them. */
const TRIES = 2;
/** Calls before the hook's estimates count. */
const UNTAUGHT_CALLS = 3;

/** Encodes texts, each once. */
export function vocabularyOf(given) {
  const encoding = typeof given === "string" ? getEncoding(given) : given;
  const known = new Map();
  return (text) => {
    if (!known.has(text)) known.set(text, encoding.encode(text));
    return known.get(text);
  };
}

/** One arm over a stretch, by counting alone: what `playArm` returns, and `evaluated`, `summaries` and `reused` tokens. */
export async function countedRun(arm, stretch, { window, vocabulary }) {
  const server = new CountingServer(window, vocabulary);
  const run = await playArm(arm, stretch, { window, server });
  const { evaluated, summaries, reused } = server;
  return { arm, evaluated, summaries, reused, ...run };
}

/**
 * Plays one arm against a server: each recorded answer is one call, tried again once after a refusal. Returns what was
 * `refused`, the shares in view, the tokens evaluated up to each call, and the errors of the hook's estimates from the fourth
 * call on. `onCall` is called after each.
 */
export async function playArm(arm, { messages: recorded }, { window, server, onCall }) {
  const watched = { estimate: undefined, failure: undefined };
  const policy = ARMS[arm]({
    window,
    onEvent: (event) => watch(event, watched),
    tokensOf: (messages) => server.tokensOf(messages),
    summarize: (old) => server.summarize(old),
  });
  const messages = recorded.slice();
  const measure = new Measure();
  const [perCall, errors] = [[], []];
  let refused = 0;
  for (const [at, answer] of recorded.entries()) {
    if (at === 0 || answer.role !== "assistant") continue;
    const call = await tried(messages.slice(0, at), answer, { policy, server, watched });
    refused += call.refused;
    if (call.usage !== undefined) {
      measure.add(recorded, at, call.sent);
      const prompt = call.usage.input + call.usage.cacheRead;
      const { estimate } = watched;
      if (estimate !== undefined && perCall.length >= UNTAUGHT_CALLS)
        errors.push(Math.abs(estimate / prompt - 1));
      messages[at] = { ...answer, usage: server.answer(answer, call.usage) };
    }
    perCall.push(server.evaluated);
    onCall?.(perCall.length);
  }
  return { refused, ...measure.shares(), perCall, estimates: quantilesOf(errors) };
}

function watch({ type, tokensAfter, message }, watched) {
  if (type === "transformed") watched.estimate = tokensAfter;
  if (type === "failed") watched.failure = message;
}

/** One call, tried again after a refusal: `{ sent, usage, refused }`. */
async function tried(list, answer, { policy, server, watched }) {
  for (let refused = 0; refused < TRIES; refused += 1) {
    const sent = await policy(list);
    if (watched.failure !== undefined) throw new Error(`The hook failed: ${watched.failure}`);
    const { usage, error } = await server.request(sent);
    if (usage !== undefined) return { sent, usage, refused };
    const failed = { content: [], stopReason: "error", errorMessage: error };
    list.push({ ...answer, ...failed, timestamp: answer.timestamp - 1 });
  }
  return { refused: TRIES };
}

/** Median and 95th percentile; undefined where there is nothing. */
function quantilesOf(errors) {
  return errors.length === 0 ? undefined : { median: quantile(errors), p95: quantile(errors, 0.95) };
}

class CountingServer {
  evaluated = 0;
  reused = 0;
  summaries = 0;
  #window;
  #vocabulary;
  /** Pieces of the last request and its answer, each with its tokens. */
  #cached = [];

  constructor(window, vocabulary) {
    this.#window = window;
    this.#vocabulary = vocabulary;
  }

  tokensOf(messages) {
    return BASE_TOKENS + this.#piecesOf(messages).reduce((sum, { length }) => sum + length, 0);
  }

  #piecesOf(messages) {
    return chatOf(messages).map(({ role, content }) =>
      this.#vocabulary(`<|im_start|>${role}\n${content}<|im_end|>\n`),
    );
  }

  /** What the server reports of a request, or its refusal in its own words. */
  request(messages) {
    const pieces = this.#piecesOf(messages);
    const prompt = BASE_TOKENS + pieces.reduce((sum, { length }) => sum + length, 0);
    if (prompt >= this.#window)
      return {
        error: `400 request (${prompt} tokens) exceeds the available context size (${this.#window} tokens), try increasing it`,
      };
    const cached = this.#cached.length === 0 ? 0 : BASE_TOKENS + commonPrefix(pieces, this.#cached);
    this.#cached = pieces;
    this.evaluated += prompt - cached;
    this.reused += cached;
    return { usage: { input: prompt - cached, cacheRead: cached, cacheWrite: 0 } };
  }

  /** The answer's tokens are in the cache, too. */
  answer(message, usage) {
    const [tokens] = this.#piecesOf([message]);
    this.#cached = [...this.#cached, tokens];
    return { ...usage, output: tokens.length, totalTokens: usage.input + usage.cacheRead + tokens.length };
  }

  /** A summary by the same server: its prompt has no prefix in common with the conversation, and takes its slot. */
  summarize(messages) {
    const text = shownToSummarize(messages);
    const room = summaryTokens(this.#window);
    const prompt = SUMMARY_PROMPT_TOKENS + this.#vocabulary(text).length;
    this.#cached = [];
    this.evaluated += prompt + room;
    this.summaries += prompt + room;
    // The names that were said most often: more than a summary of this length has.
    return commonestNames([text], room, (line) => this.#vocabulary(line).length) || " ";
  }
}

/** A conversation as pi shows it to the model that summarises. */
export function shownToSummarize(messages) {
  const shown = messages.map((message) => {
    const text = textOf(message);
    return message.role === "toolResult" ? text.slice(0, SUMMARY_RESULT_UNITS) : text;
  });
  return shown.join("\n\n");
}

/** The longest summary in a window. */
export function summaryTokens(window) {
  return Math.floor(SUMMARY_SHARE * window);
}

/** Tokens that two requests begin with alike. */
function commonPrefix(pieces, cached) {
  let tokens = 0;
  for (const [i, piece] of pieces.entries()) {
    const other = cached[i] ?? [];
    if (other === piece) {
      tokens += piece.length;
      continue;
    }
    for (let at = 0; at < piece.length && piece[at] === other[at]; at += 1) tokens += 1;
    break;
  }
  return tokens;
}

const names = new Map();

/** Names in a message, worked out once per text. */
function namesIn(message) {
  const text = textOf(message);
  if (!names.has(text)) names.set(text, identifiersIn(text));
  return names.get(text);
}

/** What of the user's text, and of the names that answers take from tools, is in view. */
class Measure {
  #user = [0, 0];
  #names = [0, 0];

  add(recorded, at, sent) {
    const before = recorded.slice(0, at);
    const isTool = ({ role }) => role === "toolResult";
    const visible = new Set(sent.flatMap(namesIn));
    const known = new Set(before.filter((message) => !isTool(message)).flatMap(namesIn));
    const fromTools = new Set(
      before
        .filter(isTool)
        .flatMap(namesIn)
        .filter((name) => !known.has(name)),
    );
    for (const name of new Set(namesIn(recorded[at]))) {
      if (!fromTools.has(name)) continue;
      this.#names[1] += 1;
      if (visible.has(name)) this.#names[0] += 1;
    }
    this.#user[1] += 1;
    this.#user[0] += Math.min(1, userUnits(sent) / Math.max(1, userUnits(before)));
  }

  shares() {
    const share = ([seen, all]) => (all === 0 ? 1 : seen / all);
    return { userText: share(this.#user), toolNames: share(this.#names) };
  }
}

/** UTF-16 units of the user's texts. */
function userUnits(messages) {
  return messages.reduce((sum, message) => sum + (message.role === "user" ? textOf(message).length : 0), 0);
}
