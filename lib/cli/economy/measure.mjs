// What a policy costs and what it keeps, over one recorded session: dollars under both cache models, and how much of
// what the assistant went on to use was still in front of it.

import { callsOf } from "../replay.mjs";
import { BreakpointCache, dollars, PRICES, PrefixCache, SYSTEM_TOKENS, tokensOf } from "./caches.mjs";
import { Versions } from "./versions.mjs";

/** Positions of the calls: assistant messages whose prompt the provider counted; where it counted none, all of them. */
export function pricedCalls(messages) {
  const counted = messages.flatMap((message, index) => (promptTokens(message) > 0 ? [index] : []));
  return counted.length > 0 ? counted : callsOf(messages);
}

function promptTokens({ role, usage }) {
  if (role !== "assistant" || usage === undefined) return 0;
  return (usage.input ?? 0) + (usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0);
}

/**
 * Plays `messages` through `policy` (`(messages) => Promise<messages>`, called before each call with all that stands
 * before it) and adds everything up. `onCall` is told of each call: its position, tokens and dollars.
 */
export async function measure(messages, policy, { contextWindow, prices = PRICES, onCall }) {
  const versions = new Versions();
  const caches = { prefix: new PrefixCache(), breakpoint: new BreakpointCache() };
  const ttlMs = 1000 * prices.ttlSeconds;
  const visible = new Visible();
  const origins = new Origins(versions);
  const score = emptyScore();
  for (const at of pricedCalls(messages)) {
    const request = (await policy(messages.slice(0, at))).map((message) => versions.of(message));
    const tokens = SYSTEM_TOKENS + tokensOf(request);
    const timeMs = messages[at].timestamp;
    const cost = {};
    for (const [model, cache] of Object.entries(caches)) {
      const read = cache.read(request, timeMs, ttlMs);
      cost[model] = dollars(tokens, read, prices);
      score.dollars[model] += cost[model];
      score.readTokens[model] += read;
    }
    score.calls += 1;
    score.tokens += tokens;
    score.peak = Math.max(score.peak, tokens);
    score.overflows += tokens > contextWindow ? 1 : 0;
    onCall?.({ at, tokens, dollars: cost });
    visible.show(request);
    origins.addUpTo(messages, at);
    origins.score(versions.of(messages[at]), visible, score);
    score.userText +=
      origins.userTokens === 0 ? 1 : sum(request, (version) => version.userTokens) / origins.userTokens;
  }
  return score;
}

export function emptyScore() {
  return {
    calls: 0,
    tokens: 0,
    peak: 0,
    overflows: 0,
    dollars: { prefix: 0, breakpoint: 0 },
    readTokens: { prefix: 0, breakpoint: 0 },
    used: 0,
    usedVisible: 0,
    toolUsed: 0,
    toolUsedVisible: 0,
    userText: 0,
  };
}

/** The scores of several sessions as one. */
export function addScores(a, b) {
  return {
    ...Object.fromEntries(
      Object.keys(a).map((key) => [key, typeof a[key] === "number" ? a[key] + b[key] : undefined]),
    ),
    peak: Math.max(a.peak, b.peak),
    dollars: addModels(a.dollars, b.dollars),
    readTokens: addModels(a.readTokens, b.readTokens),
  };
}

/** Shares as the tables show them. */
export function ratesOf(score) {
  return {
    recall: share(score.usedVisible, score.used),
    toolRecall: share(score.toolUsedVisible, score.toolUsed),
    userText: share(score.userText, score.calls),
    hitRate: share(score.readTokens.prefix, score.tokens),
  };
}

/** How often each identifier stands in the request at hand. */
class Visible {
  #counts = new Map();
  #request = [];

  show(request) {
    let same = 0;
    while (same < request.length && request[same] === this.#request[same]) same += 1;
    for (const version of this.#request.slice(same)) this.#add(version, -1);
    for (const version of request.slice(same)) this.#add(version, 1);
    this.#request = request;
  }

  has(identifier) {
    return (this.#counts.get(identifier) ?? 0) > 0;
  }

  #add({ identifiers }, change) {
    for (const identifier of identifiers)
      this.#counts.set(identifier, (this.#counts.get(identifier) ?? 0) + change);
  }
}

/** Where identifiers occurred before: anywhere, or only in tool results. */
class Origins {
  userTokens = 0;
  #versions;
  #onlyInTools = new Map();
  #next = 0;

  constructor(versions) {
    this.#versions = versions;
  }

  addUpTo(messages, end) {
    for (; this.#next < end; this.#next += 1) {
      const message = messages[this.#next];
      const { identifiers, userTokens } = this.#versions.of(message);
      this.userTokens += userTokens;
      const isTool = message.role === "toolResult";
      for (const identifier of identifiers) {
        this.#onlyInTools.set(identifier, isTool && (this.#onlyInTools.get(identifier) ?? true));
      }
    }
  }

  score({ identifiers }, visible, score) {
    for (const identifier of identifiers) {
      const onlyInTools = this.#onlyInTools.get(identifier);
      if (onlyInTools === undefined) continue;
      const isVisible = visible.has(identifier) ? 1 : 0;
      score.used += 1;
      score.usedVisible += isVisible;
      score.toolUsed += onlyInTools ? 1 : 0;
      score.toolUsedVisible += onlyInTools ? isVisible : 0;
    }
  }
}

function addModels(a, b) {
  return { prefix: a.prefix + b.prefix, breakpoint: a.breakpoint + b.breakpoint };
}

function share(part, all) {
  return all > 0 ? part / all : 1;
}

function sum(values, of) {
  return values.reduce((total, value) => total + of(value), 0);
}
