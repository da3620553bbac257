// The bill of each answered call: its cost by its own usage, its cost without the hook, and whether the provider's
// cache helped; if it did not, why not.
"use strict";

const PER_MILLION = 1e-6;
/** Dollars per million tokens and seconds: Claude Opus 4.5, five-minute cache. Where usage tells its cost, that counts. */
const PRICES = { input: 5, read: 0.5, write: 6.25, ttlSeconds: 300 };
/** A prompt of which less than this share came from the cache, though most of it was sent before, is a miss. */
const HIT_SHARE = 0.5;

const number = (value) => (Number.isFinite(value) ? value : 0);

class Bill {
  #prices;
  #hasCache = false;

  constructor(prices) {
    this.#prices = { ...prices };
  }

  /** The bill of `call`, a row of the log; `last` is the row of the last answered one, and `moved` is true if `call` edited anew. */
  of(call, last, moved, { usage, model }) {
    const [input, cacheRead, cacheWrite] = [usage.input, usage.cacheRead, usage.cacheWrite].map(number);
    const reported = input + cacheRead + cacheWrite;
    this.#hasCache ||= cacheRead > 0 || cacheWrite > 0;
    this.#learn(usage.cost, { input, cacheRead, cacheWrite });
    const prices = this.#prices;
    const isGone = this.#reasonOfLoss(call, last, model);
    // The whole transcript, what stood there at the last call from the cache.
    const known = last === undefined || isGone !== undefined ? 0 : Math.min(last.before, call.before);
    const without = this.#hasCache
      ? known * prices.read + (call.before - known) * prices.write
      : call.before * prices.input;
    const paid = input * prices.input + cacheRead * prices.read + cacheWrite * prices.write;
    const isMiss =
      this.#hasCache && last !== undefined && cacheRead < HIT_SHARE * Math.min(last.reported, reported);
    return {
      model,
      reported,
      cacheRead,
      paid: PER_MILLION * paid,
      without: PER_MILLION * without,
      // The hook's `cacheMiss` event knows more, once the next call is made.
      miss: isMiss ? (isGone ?? (moved ? "hook" : "provider")) : undefined,
    };
  }

  /** Whoever reports costs tells prices. */
  #learn(cost, { input, cacheRead, cacheWrite }) {
    const told = {
      input: cost?.input / input,
      read: cost?.cacheRead / cacheRead,
      write: cost?.cacheWrite / cacheWrite,
    };
    for (const [name, dollars] of Object.entries(told)) {
      if (dollars > 0 && dollars < Infinity) this.#prices[name] = dollars / PER_MILLION;
    }
  }

  /** Why nothing of the last call can be in the cache any more, by what the host did; undefined where it still can. */
  #reasonOfLoss(call, last, model) {
    if (last === undefined) return undefined;
    if (last.model !== model) return "model";
    if (call.time - last.time > 1000 * this.#prices.ttlSeconds) return "expired";
    return last.stretch === call.stretch ? undefined : "host";
  }
}

module.exports = { Bill, PER_MILLION, PRICES };
