// Other ways to keep a context small, written from their public descriptions, to measure ours against. Each is a
// maker of `(messages) => Promise<messages>` that remembers what it has cut, as those systems do.

import { Versions } from "./versions.mjs";

/** Tokens of the system prompt and the tools, as the thresholds of these systems reckon with them. */
const SYSTEM_TOKENS = 8000;

/** Over 0.75 of the window, drop the oldest whole rounds down to 0.5. */
export function wholeRounds({ contextWindow }) {
  const rounds = new Rounds();
  return async (messages) => {
    rounds.follow(messages);
    if (rounds.tokens(messages) > 0.75 * contextWindow) rounds.cutTo(messages, 0.5 * contextWindow);
    return rounds.kept(messages);
  };
}

/** Drop the oldest whole rounds down to a quarter of the window when the cache is cold, else only to fit. */
export function coldOnly({ contextWindow, prices }) {
  const rounds = new Rounds();
  return async (messages) => {
    rounds.follow(messages);
    const isCold = gapMs(messages) > 1000 * prices.ttlSeconds;
    if (isCold) rounds.cutTo(messages, 0.25 * contextWindow);
    else if (rounds.tokens(messages) > 0.95 * contextWindow) rounds.cutTo(messages, 0.5 * contextWindow);
    return rounds.kept(messages);
  };
}

/** Mask all tool results but the newest 20, whenever 40 more have gathered. */
export function maskBatches({ keep = 20, batch = 40 } = {}) {
  const results = new ClearedResults();
  return async (messages) => {
    const old = results.open(messages).slice(0, -keep);
    if (old.length >= batch) results.clear(old);
    return results.applyTo(messages);
  };
}

/** Over 100 000 tokens, clear all tool results but the newest 20, if that clears at least 12 500 tokens. */
export function clearOver100k() {
  const results = new ClearedResults();
  return async (messages) => {
    if (results.tokens(messages) > 100_000) {
      const old = results.open(messages).slice(0, -20);
      if (tokensOf(old.map((message) => results.versions.of(message))) >= 12_500) results.clear(old);
    }
    return results.applyTo(messages);
  };
}

/** Rounds (a user message and all up to the next) of which the oldest are gone. */
class Rounds {
  #versions = new Versions();
  #start = 0;
  #first;

  /** After a compaction of the host's own nothing of what was cut before is there. */
  follow([first]) {
    if (first !== this.#first) this.#start = 0;
    this.#first = first;
  }

  kept(messages) {
    return messages.slice(this.#start);
  }

  tokens(messages) {
    return SYSTEM_TOKENS + tokensOf(this.kept(messages).map((message) => this.#versions.of(message)));
  }

  cutTo(messages, tokens) {
    while (this.tokens(messages) > tokens) {
      const next = messages.findIndex((message, i) => i > this.#start && message.role === "user");
      if (next === -1) return;
      this.#start = next;
    }
  }
}

const CLEARED = [{ type: "text", text: "[Old tool result content cleared]" }];

/** Tool results whose content is gone for good. */
class ClearedResults {
  versions = new Versions();
  #cleared = new Map();

  open(messages) {
    return messages.filter((message) => message.role === "toolResult" && !this.#cleared.has(message));
  }

  clear(messages) {
    for (const message of messages) this.#cleared.set(message, { ...message, content: CLEARED });
  }

  applyTo(messages) {
    return messages.map((message) => this.#cleared.get(message) ?? message);
  }

  tokens(messages) {
    return SYSTEM_TOKENS + tokensOf(this.applyTo(messages).map((message) => this.versions.of(message)));
  }
}

/** Time between the last two requests, as the transcript tells it. */
function gapMs(messages) {
  const lastCall = messages.findLast((message) => message.role === "assistant");
  return (messages.at(-1)?.timestamp ?? 0) - (lastCall?.timestamp ?? Number.POSITIVE_INFINITY);
}

function tokensOf(versions) {
  return versions.reduce((sum, version) => sum + version.tokens, 0);
}
