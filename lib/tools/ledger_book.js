// The bill read back from a transcript's own usage: what was paid, what the provider's cache missed and why, what the
// hook cost and saved. Edits nothing.
"use strict";

const { Call, Hook, Layers } = require("../hook/hook.js");
const { native } = require("../native/native.js");
const { checkHookOptions } = require("../hook/options.js");
const { amount, checkOptions, positive, record, show } = require("../options.js");

/** Dollars per million tokens; the cache's prices follow that of the input, and so does the answer's. */
const PRICE_OPTIONS = {
  input: [undefined, positive],
  read: [undefined, amount],
  write: [undefined, amount],
  output: [undefined, amount],
};
const RELATIVE = { input: 1, read: 0.1, write: 1.25, output: 5 };
const PER_MILLION = 1e-6;

/** The calls of one conversation, list after list where it was compacted. */
class Book {
  #hook;
  #prices;
  #book;

  constructor(owner, options) {
    const { prices, ...ofHook } = record.accepts(options) ? options : {};
    this.#prices = pricesOf(owner, prices);
    this.#hook = new Hook(new Layers(checkHookOptions(owner, record.accepts(options) ? ofHook : options)));
    this.#book = new (native().LedgerBook)();
  }

  /** Takes in a list; the calls answered before position `from` are in the book already. */
  async enter(list, from = 0) {
    const call = new Call();
    try {
      await this.#hook.enterInto(this.#book, list, from, call);
    } finally {
      call.end();
    }
  }

  async report() {
    const report = JSON.parse(await this.#book.report(this.#prices));
    // JSON has no undefined.
    const misses = report.misses.map((miss) => ({ ...miss, dollars: miss.dollars ?? undefined }));
    return { ...report, misses };
  }
}

/** The JSON of the prices of one token; undefined where the host gives none. */
function pricesOf(owner, given) {
  if (given === undefined) return undefined;
  const prices = checkOptions(`${owner}: prices`, given, PRICE_OPTIONS);
  if (prices.input === undefined) {
    throw new TypeError(`${owner}: option prices is ${show(given)}; it must name the price of input`);
  }
  const priceOf = ([name, share]) => [name, (prices[name] ?? share * prices.input) * PER_MILLION];
  return JSON.stringify(Object.fromEntries(Object.entries(RELATIVE).map(priceOf)));
}

module.exports = { Book };
