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
  #last;
  #hasCache = false;

  constructor(prices) {
    this.#prices = { ...PRICES, ...prices };
  }

  /**
   * The bill of a call. `call` has `tokensBefore`, `isSamePast`, `moved` (the schedule's words where it edited) and
   * `time` (ms); `message` is the answer.
   */
  of(call, { usage, model }) {
    const input = number(usage.input);
    const cacheRead = number(usage.cacheRead);
    const cacheWrite = number(usage.cacheWrite);
    const reported = input + cacheRead + cacheWrite;
    this.#hasCache ||= cacheRead > 0 || cacheWrite > 0;
    this.#learn(usage, { input, cacheRead, cacheWrite });
    const { input: perInput, read, write } = this.#prices;
    const paid = PER_MILLION * (input * perInput + cacheRead * read + cacheWrite * write);
    const without = PER_MILLION * this.#costWithout(call, model);
    const miss = this.#missOf(call, model, { reported, cacheRead });
    this.#last = { tokensBefore: call.tokensBefore, reported, model, time: call.time };
    return { reported, cacheRead, paid, without, miss };
  }

  /** Whoever reports costs tells prices. */
  #learn({ cost }, { input, cacheRead, cacheWrite }) {
    const priced = [
      ["input", cost?.input, input],
      ["read", cost?.cacheRead, cacheRead],
      ["write", cost?.cacheWrite, cacheWrite],
    ];
    for (const [name, dollars, tokens] of priced) {
      if (dollars > 0 && tokens > 0) this.#prices[name] = dollars / tokens / PER_MILLION;
    }
  }

  /** In millionths of a dollar: the whole transcript, what stood there at the last call from the cache. */
  #costWithout(call, model) {
    const { input, read, write } = this.#prices;
    if (!this.#hasCache) return call.tokensBefore * input;
    const cached = this.#isWarm(call, model) && call.isSamePast ? this.#last.tokensBefore : 0;
    const known = Math.min(cached, call.tokensBefore);
    return known * read + (call.tokensBefore - known) * write;
  }

  #isWarm({ time }, model) {
    const last = this.#last;
    return last !== undefined && last.model === model && time - last.time <= 1000 * this.#prices.ttlSeconds;
  }

  /** Why, as the hook's `cacheMiss` event says it, which knows more once the next call is made; undefined for a hit, and where there was nothing to hit. */
  #missOf(call, model, { reported, cacheRead }) {
    const last = this.#last;
    if (!this.#hasCache || last === undefined || reported === 0) return undefined;
    const expected = Math.min(last.reported, reported);
    if (cacheRead >= HIT_SHARE * expected) return undefined;
    if (last.model !== model) return "model";
    if (!this.#isWarm(call, model)) return "expired";
    if (!call.isSamePast) return "host";
    return call.moved ? "hook" : "provider";
  }
}

module.exports = { Bill, PRICES };
