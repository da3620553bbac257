// The bill read back from a transcript's own usage: what was paid, what the provider's cache missed and why, what the
// hook cost and saved. Edits nothing.
"use strict";

const { Call, Hook, Layers } = require("../hook/hook.js");
const { native } = require("../native/native.js");
const { amount, checkHookOptions, checkOptions, positive, record, show } = require("../hook/options.js");

/** Dollars per million tokens; the cache's prices follow that of the input, and so does the answer's. */
const PRICE_OPTIONS = {
  input: [undefined, positive],
  read: [undefined, amount],
  write: [undefined, amount],
  output: [undefined, amount],
};
const RELATIVE = { read: 0.1, write: 1.25, output: 5 };

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
    return JSON.parse(await this.#book.report(this.#prices));
  }
}

function pricesOf(owner, given) {
  if (given === undefined) return undefined;
  const { input, ...others } = checkOptions(`${owner}: prices`, given, PRICE_OPTIONS);
  if (input === undefined) {
    throw new TypeError(`${owner}: option prices is ${show(given)}; it must name the price of input`);
  }
  const prices = { input };
  for (const [name, share] of Object.entries(RELATIVE)) prices[name] = others[name] ?? share * input;
  return prices;
}

module.exports = { Book };
