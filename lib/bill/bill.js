// The bill of a conversation, call by call: dollars paid, cache misses with their causes, and what each move of the hook cost
// and saved. It is computed from the usage that the calls report and from the rows that say what was sent.
"use strict";

const { constants, verdicts } = require("../contract.js");
const { KINDS, Prices, billedOf, countsOf, familyOf, sumOf } = require("./prices.js");

/** Smallest number of unread tokens that counts as a miss: caches work in blocks, and providers have a least size. */
const MIN_MISSED_TOKENS = 1024;
/** Smallest share of the readable tokens that counts as a miss. */
const MIN_MISSED_SHARE = 0.05;
/** Seconds after which an unused entry may have expired, whatever its provider promises. */
const LEAST_LIFE = constants.cacheTtlSeconds.default;
const HOUR = 3600;
/** A call that read at least this share of the last prompt proves that the entry lived until then. */
const READ_SHARE = 0.5;
/** Error of an estimate, in tokens and as a share, above which the prompt held something else than the messages. */
const UNEXPLAINED_TOKENS = 600;
const UNEXPLAINED_SHARE = 0.02;
/** Number of reports of a list after which its estimates count as predictions. */
const REPORTS_TO_TEACH = 2;
/** Reasons that the schedule gives for a call at which it changed nothing. */
const WAITS = new Set(["wait", "unpaid", "turnOpen"].map((name) => verdicts[name].en));
/** Kinds of tokens in a prompt. */
const PROMPT = KINDS.filter((kind) => kind !== "output");

/** The row of a call: its `transformed` event, the assistant message that answered it, and when it was made (ms). */
function rowOf({ tokensBefore, tokensAfter, firstChanged, reason }, answer, at) {
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
  /** Moves of the current list, the tokens they removed, and the dollars saved per removed token so far. */
  #list = { moves: [], tokens: 0, taken: 0, savedPerToken: 0, reports: 0 };
  #hasMoved = false;
  #isPriced = false;
  #errors = [];
  #sums = {
    calls: 0,
    unreportedCalls: 0,
    unpricedCalls: 0,
    editedCalls: 0,
    callsOverWindow: 0,
    tokens: { prompt: 0, cacheRead: 0, cacheWrite: 0, output: 0, saved: 0 },
    billed: 0,
    estimated: 0,
    saved: 0,
    misses: [],
    moves: [],
  };

  /**
   * `prices` are dollars per million tokens, or a function of the model, for calls without a cost. `ttlSeconds` is the life of a
   * cache entry if the host sets it. `warmedAt`, an array or a function, holds the times (ms) at which the host kept the cache
   * warm.
   */
  constructor({ prices, contextWindow = Infinity, ttlSeconds, warmedAt = [] } = {}) {
    this.#prices = new Prices(prices);
    this.#contextWindow = contextWindow;
    this.#ttlSeconds = ttlSeconds;
    this.#warmedAt = typeof warmedAt === "function" ? warmedAt : () => warmedAt;
  }

  /** Adds the next call. Returns its cost: `{ call, prompt, cacheRead, dollars, input, saved, miss }`. */
  enter(row) {
    const { usage, model = "", firstChanged, reason } = row;
    const sums = this.#sums;
    sums.calls += 1;
    if (firstChanged !== undefined) this.#change(reason !== undefined && !WAITS.has(reason));
    const counts = countsOf(usage);
    if (counts === undefined) {
      sums.unreportedCalls += 1;
      return { call: sums.calls };
    }
    const prices = this.#prices.of(model, usage, counts);
    const isTold = row.tokensRaw !== undefined && row.tokensSent !== undefined;
    const taken = isTold ? row.tokensRaw - row.tokensSent : 0;
    const cache = this.#caches.get(model);
    const miss = this.#missOf(row, counts, cache, prices);
    const saved = isTold ? this.#saved(row, counts, { taken, cache, miss, prices }) : 0;
    this.#note(row, counts, { isTold, taken });
    this.#remember(row, counts, cache, taken);
    if (miss !== undefined) sums.misses.push(miss);
    sums.saved += saved ?? 0;
    return { call: sums.calls, ...this.#paid(usage, counts, prices), saved, miss };
  }

  /** Notes that the hook or the host changed earlier messages of this request. */
  #change(isHooks) {
    for (const cache of this.#caches.values())
      cache.changedBy = isHooks ? (cache.changedBy ?? "hook") : "host";
    this.#hasMoved ||= isHooks;
    if (isHooks) return;
    // The host's new list no longer holds what the hook removed from the old one.
    this.#sums.moves.push(...this.#openMoves());
    this.#list = { moves: [], tokens: 0, taken: 0, savedPerToken: 0, reports: 0 };
    for (const cache of this.#caches.values()) cache.taken = 0;
  }

  /** The cache miss of a call: tokens that could have been read and were not. Undefined if they are too few. */
  #missOf(row, counts, cache, prices) {
    const last = cache ?? this.#latest;
    const isCached = counts.cacheRead > 0 || counts.cacheWrite > 0;
    if (last === undefined || !(last.hasCache || (cache === undefined && isCached))) return undefined;
    const readable = Math.min(last.prompt, counts.prompt);
    const tokens = readable - counts.cacheRead;
    if (tokens < Math.max(MIN_MISSED_TOKENS, MIN_MISSED_SHARE * readable)) return undefined;
    const dollars = prices && tokens * extraOf(prices, counts);
    return { call: this.#sums.calls, cause: this.#causeOf(row, counts, cache), tokens, dollars };
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

  /** Dollars that the hook saved at this call less what it cost; undefined without a price. */
  #saved({ reason }, counts, { taken, cache, miss, prices }) {
    const list = this.#list;
    if (this.#hasMoved || (taken >= 1 && list.tokens < 1)) this.#beginMove(reason, taken);
    const isHooks = miss?.cause === "hook" || this.#hasMoved;
    this.#hasMoved = false;
    list.taken = taken;
    const isHeld = cache?.hasCache === true && (miss === undefined || miss.cause === "hook");
    const kept = isHeld ? cache.prompt - (taken - cache.taken) : 0;
    const rewritten = isHooks ? Math.max(0, kept - counts.cacheRead) : 0;
    const cost = prices && rewritten * extraOf(prices, counts);
    const move = list.moves.at(-1) ?? {};
    move.rewritten += rewritten;
    move.cost += cost ?? 0;
    if (prices === undefined) return undefined;
    const uncached = counts.cacheWrite > 0 ? prices.cacheWrite : prices.input;
    const gross = taken * (isHeld ? prices.cacheRead : uncached);
    if (Math.abs(list.tokens) >= 1) list.savedPerToken += gross / list.tokens;
    return gross - cost;
  }

  /** Begins a move: the hook removed more than at the last call of the list. */
  #beginMove(reason, taken) {
    const list = this.#list;
    const tokens = taken - list.taken;
    const from = list.savedPerToken;
    list.moves.push({ call: this.#sums.calls, reason, tokens, rewritten: 0, cost: 0, saved: 0, from });
    list.tokens += tokens;
  }

  #note({ tokensSent }, counts, { isTold, taken }) {
    const sums = this.#sums;
    for (const kind of ["prompt", "cacheRead", "cacheWrite", "output"]) sums.tokens[kind] += counts[kind];
    sums.tokens.saved += taken;
    if (!isTold) return;
    sums.editedCalls += taken > 0 ? 1 : 0;
    sums.callsOverWindow += counts.prompt + taken > this.#contextWindow ? 1 : 0;
    if (this.#list.reports >= REPORTS_TO_TEACH)
      this.#errors.push(Math.abs(tokensSent - counts.prompt) / counts.prompt);
    this.#list.reports += 1;
  }

  #remember({ model = "", usage, at }, counts, cache, taken) {
    const { ttlSeconds } = familyOf(model);
    const gap = cache === undefined ? 0 : this.#gapSeconds(cache, at);
    const hasLived = counts.cacheRead >= READ_SHARE * (cache?.prompt ?? Infinity);
    const least = usage.cacheWrite1h > 0 ? HOUR : Math.min(ttlSeconds, LEAST_LIFE);
    const life = Math.max(cache?.life ?? 0, least, hasLived && gap > 0 ? gap : 0);
    const hasCache = cache?.hasCache === true || counts.cacheRead > 0 || counts.cacheWrite > 0;
    this.#latest = { prompt: counts.prompt, at, hasCache, life, taken, changedBy: undefined };
    this.#caches.set(model, this.#latest);
  }

  #paid(usage, counts, prices) {
    const sums = this.#sums;
    const { prompt, cacheRead } = counts;
    const billed = billedOf(usage.cost, counts);
    const dollars = billed ?? (prices && sumOf(counts, prices));
    if (dollars === undefined) sums.unpricedCalls += 1;
    else this.#isPriced = true;
    sums.billed += dollars ?? 0;
    sums.estimated += billed === undefined ? (dollars ?? 0) : 0;
    const told = PROMPT.reduce((sum, kind) => sum + (usage.cost?.[kind] ?? 0), 0);
    const input = billed !== undefined && told > 0 ? told : prices && sumOf(counts, prices, PROMPT);
    return { prompt, cacheRead, dollars, input };
  }

  /** The moves of the current list. Each has saved its tokens times the dollars saved per token since. */
  #openMoves() {
    const { moves, savedPerToken } = this.#list;
    return moves.map(({ from, ...move }) => ({ ...move, saved: move.tokens * (savedPerToken - from) }));
  }

  /** The bill so far, as `Ledger` in ledger.d.ts. Unknown dollars are undefined, never 0. */
  report() {
    const { billed, estimated, saved, misses, moves, tokens, ...counts } = this.#sums;
    const all = moves.concat(this.#openMoves());
    const isKnown = this.#isPriced || counts.unpricedCalls === 0;
    const known = (dollars) => (isKnown ? dollars : undefined);
    return {
      ...counts,
      tokens: { ...tokens },
      hitRate: tokens.prompt > 0 ? tokens.cacheRead / tokens.prompt : 0,
      dollars: {
        billed: known(billed),
        estimated: known(estimated),
        withoutHook: known(billed + saved),
        saved: known(saved),
      },
      misses: misses.slice(),
      moves: all.map((move) => ({ ...move, cost: known(move.cost), saved: known(move.saved) })),
      predicted: quantiles(this.#errors),
    };
  }
}

/** Extra dollars for a token that was not read from the cache. */
function extraOf(prices, { cacheWrite }) {
  return Math.max(0, (cacheWrite > 0 ? prices.cacheWrite : prices.input) - prices.cacheRead);
}

function quantiles(errors) {
  const sorted = errors.toSorted((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { count: sorted.length, median: at(0.5), p95: at(0.95) };
}

module.exports = { Bill, rowOf };
