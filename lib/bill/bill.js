// The bill of a conversation, call by call: dollars paid, cache misses with their causes, and the cost and savings of each
// batch. It is computed from reported usage and from the rows of what was sent.
"use strict";

const { cacheTtlSeconds, constants, verdicts } = require("../contract.js");
const { Prices, billedOf, costOf, countsOf } = require("./prices.js");

/** Smallest number of unread tokens that counts as a miss: caches work in blocks and have a minimum size. */
const MIN_MISSED_TOKENS = 1024;
/** Smallest share of the readable tokens that counts as a miss. */
const MIN_MISSED_SHARE = 0.05;
/** Seconds after which an unused entry may have expired: any, and one that was written for an hour. */
const LEAST_LIFE = cacheTtlSeconds;
const HOUR_LIFE = constants.hourSeconds.default;
/** A call that read at least this share of the last prompt proves that the entry lived until then. */
const READ_SHARE = 0.5;
/** Error of an estimate, in tokens and as a share, above which the host changed something beside the messages. */
const UNEXPLAINED_TOKENS = 600;
const UNEXPLAINED_SHARE = 0.02;
/** The schedule's reasons for a call without a batch. */
const WAITS = new Set(["wait", "unpaid", "turnOpen"].map((name) => verdicts[name].en));

/** The row of a call: its `transformed` event, if any, the assistant message that answered it, and when it was made (ms). */
function rowOf(event, answer, at) {
  const { tokensBefore, tokensAfter, firstChanged, reason } = event ?? {};
  const { usage, provider, model } = answer ?? {};
  const named = [provider, model].filter((name) => typeof name === "string").join("/");
  return { usage, model: named, tokensRaw: tokensBefore, tokensSent: tokensAfter, firstChanged, reason, at };
}

class Bill {
  #prices;
  #contextWindow;
  #ttlSeconds;
  #warmedAt;
  /** The cache of each model: the size and time of its last prompt, what changed since, how long entries lived. */
  #caches = new Map();
  #latest;
  /** The batches of the current list, the tokens they removed in all, and those its last call left out. */
  #list = { moves: [], tokens: 0, taken: 0 };
  #hasMoved = false;
  #dollars = { billed: 0, estimated: 0, saved: 0 };
  #misses = [];
  #moves = [];
  #counts = { calls: 0, unreportedCalls: 0, unpricedCalls: 0, editedCalls: 0, callsOverWindow: 0 };
  #tokens = { prompt: 0, cacheRead: 0, cacheWrite: 0, output: 0, saved: 0 };

  /**
   * `prices` are dollars per million tokens, or a function of the model, for calls without a cost. `ttlSeconds` is the life of a
   * cache entry if the host sets it. `warmedAt`, an array or a function, holds the times (ms) at which the host kept the cache
   * warm. `after` is a bill whose caches this one continues with; both go on.
   */
  constructor({ prices, contextWindow = Infinity, ttlSeconds, warmedAt = [], after } = {}) {
    this.#prices = new Prices(prices);
    this.#contextWindow = contextWindow;
    this.#ttlSeconds = ttlSeconds;
    this.#warmedAt = typeof warmedAt === "function" ? warmedAt : () => warmedAt;
    if (after !== undefined) [this.#caches, this.#latest] = structuredClone([after.#caches, after.#latest]);
  }

  /** Adds the next call. Returns its cost: `{ call, prompt, cacheRead, dollars, input, saved, miss }`. */
  enter({ usage, model = "", ...row }) {
    this.#counts.calls += 1;
    const call = this.#counts.calls;
    if (row.firstChanged !== undefined) this.#change(row.reason !== undefined && !WAITS.has(row.reason));
    const counts = countsOf(usage);
    if (counts === undefined) {
      this.#counts.unreportedCalls += 1;
      return { call };
    }
    const prices = this.#prices.of(model, usage, counts);
    const cache = this.#caches.get(model);
    const missed = this.#missedTokens(counts, cache);
    const miss = missed && {
      call,
      cause: this.#causeOf(row, counts, cache),
      tokens: missed,
      dollars: prices && missed * extraOf(prices, counts),
    };
    if (miss !== undefined) this.#misses.push(miss);
    const { tokensRaw, tokensSent } = row;
    const isKnown = Number.isFinite(tokensRaw) && Number.isFinite(tokensSent);
    const taken = isKnown ? tokensRaw - tokensSent : 0;
    const saved = this.#saved(row.reason, counts, { taken, cache, miss, prices });
    if (taken > 0) this.#counts.editedCalls += 1;
    if (counts.prompt + taken > this.#contextWindow) this.#counts.callsOverWindow += 1;
    this.#remember({ model, usage, at: row.at }, counts, cache, taken);
    for (const kind of ["prompt", "cacheRead", "cacheWrite", "output"]) this.#tokens[kind] += counts[kind];
    this.#tokens.saved += taken;
    this.#dollars.saved += saved ?? 0;
    return { call, ...this.#paid(usage, counts, prices), saved, miss };
  }

  /** Records that the hook or the host changed earlier messages of this request. */
  #change(isHooks) {
    for (const cache of this.#caches.values())
      cache.changedBy = isHooks ? (cache.changedBy ?? "hook") : "host";
    this.#hasMoved ||= isHooks;
    if (isHooks) return;
    // The host's new list no longer holds what the hook removed from the old one.
    this.#list = { moves: [], tokens: 0, taken: 0 };
    for (const cache of this.#caches.values()) cache.taken = 0;
  }

  /** Tokens that could have been read from the cache and were not; undefined if too few for a miss. */
  #missedTokens({ prompt, cacheRead, cacheWrite }, cache) {
    const last = cache ?? this.#latest;
    const hasCache = last?.hasCache || (cache === undefined && cacheRead + cacheWrite > 0);
    if (last === undefined || !hasCache) return undefined;
    const readable = Math.min(last.prompt, prompt);
    const tokens = readable - cacheRead;
    return tokens < Math.max(MIN_MISSED_TOKENS, MIN_MISSED_SHARE * readable) ? undefined : tokens;
  }

  #causeOf({ tokensSent, at }, { prompt }, cache) {
    if (cache === undefined) return "model";
    if (this.#gapSeconds(cache, at) > (this.#ttlSeconds ?? cache.life)) return "expired";
    if (cache.changedBy !== undefined) return cache.changedBy;
    const off = Math.abs(tokensSent - prompt);
    return off > UNEXPLAINED_TOKENS && off > UNEXPLAINED_SHARE * prompt ? "host" : "provider";
  }

  /** Seconds since the entry of a model was last read. The host warms the cache of the latest model only. */
  #gapSeconds(cache, at) {
    const warmed = cache === this.#latest ? this.#warmedAt().findLast((time) => time <= at) : undefined;
    return (at - Math.max(cache.at, warmed ?? -Infinity)) / 1000;
  }

  /**
   * Dollars that the hook saved at this call minus its cost; undefined without a price. The batches of the list share the
   * saving by the tokens that each removed; the last one bears the cost.
   */
  #saved(reason, counts, { taken, cache, miss, prices }) {
    const list = this.#list;
    const isHooks = miss?.cause === "hook" || this.#hasMoved;
    if (this.#hasMoved || (taken >= 1 && list.tokens < 1)) {
      const tokens = taken - list.taken;
      const move = { call: this.#counts.calls, reason, tokens, rewritten: 0, cost: 0, saved: 0 };
      list.moves.push(move);
      this.#moves.push(move);
      list.tokens += tokens;
    }
    this.#hasMoved = false;
    list.taken = taken;
    const isHeld = cache?.hasCache === true && (miss === undefined || miss.cause === "hook");
    const kept = isHeld ? cache.prompt - (taken - cache.taken) : 0;
    const rewritten = isHooks ? Math.max(0, kept - counts.cacheRead) : 0;
    const move = list.moves.at(-1) ?? {};
    move.rewritten += rewritten;
    if (prices === undefined) return undefined;
    const cost = rewritten * extraOf(prices, counts);
    move.cost += cost;
    const saved = taken * (isHeld ? prices.cacheRead : uncachedOf(prices, counts));
    if (Math.abs(list.tokens) >= 1)
      for (const each of list.moves) each.saved += (saved * each.tokens) / list.tokens;
    return saved - cost;
  }

  #remember({ model, usage, at }, { prompt, cacheRead, cacheWrite }, cache, taken) {
    const gap = cache === undefined ? 0 : this.#gapSeconds(cache, at);
    const hasLived = cacheRead >= READ_SHARE * (cache?.prompt ?? Infinity);
    const least = usage.cacheWrite1h > 0 ? HOUR_LIFE : LEAST_LIFE;
    const life = Math.max(cache?.life ?? 0, least, hasLived && gap > 0 ? gap : 0);
    const hasCache = cache?.hasCache === true || cacheRead + cacheWrite > 0;
    this.#latest = { prompt, at, hasCache, life, taken, changedBy: undefined };
    this.#caches.set(model, this.#latest);
  }

  #paid({ cost }, counts, prices) {
    const billed = billedOf(cost, counts);
    const dollars = billed ?? (prices && costOf(counts, prices));
    if (dollars === undefined) this.#counts.unpricedCalls += 1;
    this.#dollars.billed += dollars ?? 0;
    this.#dollars.estimated += billed === undefined ? (dollars ?? 0) : 0;
    const input = prices && costOf({ ...counts, output: 0 }, prices);
    return { prompt: counts.prompt, cacheRead: counts.cacheRead, dollars, input };
  }

  /** The bill so far, as `Ledger` in ledger.d.ts. Unknown dollars are undefined, never 0. */
  report() {
    const { billed, estimated, saved } = this.#dollars;
    const { calls, unreportedCalls, unpricedCalls } = this.#counts;
    const isKnown = unpricedCalls === 0 || unpricedCalls < calls - unreportedCalls;
    const known = (dollars) => (isKnown ? dollars : undefined);
    const { prompt, cacheRead } = this.#tokens;
    return {
      ...this.#counts,
      tokens: { ...this.#tokens },
      hitRate: prompt > 0 ? cacheRead / prompt : 0,
      dollars: {
        billed: known(billed),
        estimated: known(estimated),
        withoutHook: known(billed + saved),
        saved: known(saved),
      },
      misses: this.#misses.slice(),
      moves: this.#moves.map((move) => ({ ...move, cost: known(move.cost), saved: known(move.saved) })),
    };
  }
}

/** Dollars of a token that is not read from the cache. */
const uncachedOf = (prices, { cacheWrite }) => (cacheWrite > 0 ? prices.cacheWrite : prices.input);

/** Extra dollars for a token that was not read from the cache. */
const extraOf = (prices, counts) => Math.max(0, uncachedOf(prices, counts) - prices.cacheRead);

module.exports = { Bill, rowOf };
