// The bill of a transcript. The hook runs over the list before each call and says what was sent; the usage says what that cost.
// Edits nothing.
"use strict";

const { Bill, rowOf } = require("../bill/bill.js");
const { checkPrices, countsOf } = require("../bill/prices.js");
const { Call, Hook, Layers } = require("../hook/hook.js");
const { checkHookOptions } = require("../hook/options.js");
const { record } = require("../options.js");
const { countTokens } = require("./count.js");

/** Smallest difference, in tokens and as a share of a prompt, that shows if the hook was at work. */
const TELLING_TOKENS = 100;
const TELLING_SHARE = 0.005;

/** The bill of a recorded conversation; a host that compacts it makes several lists. */
class Book {
  #hook;
  #bill;
  #entries = [];

  constructor(owner, options) {
    const { prices, ...ofHook } = record.accepts(options) ? options : {};
    const checked = checkHookOptions(owner, record.accepts(options) ? ofHook : options);
    this.#hook = new Hook(new Layers(checked));
    const { ttlSeconds } = typeof checked.cache === "function" ? {} : checked.cache;
    const { warmedAt } = checked;
    const contextWindow = this.#hook.contextWindow();
    this.#bill = new Bill({ prices: checkPrices(owner, prices), contextWindow, ttlSeconds, warmedAt });
  }

  /** Adds the calls of a list that were answered from position `from` on. */
  async enter(list, from = 0) {
    const first = this.#entries.length;
    let counted = 0;
    let tokens = 0;
    let newestInput = -Infinity;
    for (const [index, message] of list.entries()) {
      if (message?.role !== "assistant") {
        if (message?.role !== "toolResult")
          newestInput = Math.max(newestInput, message?.timestamp ?? -Infinity);
        continue;
      }
      if (index < Math.max(from, 1)) continue;
      const before = list.slice(0, index);
      tokens += countTokens(list.slice(counted, index).filter(isObject));
      counted = index;
      const at = before.findLast(({ timestamp } = {}) => timestamp !== undefined)?.timestamp;
      // An answer that is older than a message before it answered another list.
      if (message.timestamp < newestInput) {
        this.#entries.push({ index, row: rowOf({}, message, at), isStale: true });
        continue;
      }
      const sent = await this.#hook.sentAt(before, new Call());
      this.#entries.push({ index, tokens, scale: sent.scale, row: rowOf(sent, message, at) });
    }
    const fresh = this.#entries.slice(first).filter(({ isStale }) => isStale !== true);
    markAbsent(fresh);
    // Earlier calls had another list, so the host changed what stood there.
    const isRewritten = first > 0 || this.#entries[first]?.isStale === true;
    if (isRewritten && fresh.length > 0) Object.assign(fresh[0].row, { firstChanged: 0, reason: undefined });
    for (const { row } of this.#entries.slice(first)) this.#bill.enter(row);
  }

  report() {
    const { misses, moves, ...report } = this.#bill.report();
    const withIndex = (of) => ({ ...of, index: this.#entries[of.call - 1].index });
    return { ...report, misses: misses.map(withIndex), moves: moves.map(withIndex) };
  }
}

const isObject = (message) => typeof message === "object" && message !== null;

/**
 * Finds the calls at which the hook was not at work, and notes in their rows that everything was sent. The reported sizes show
 * it: from one report to the next the prompt grew by the new messages, or by that less what the hook would have removed. A call
 * that shows nothing is taken as the next one that does, else as the last.
 */
function markAbsent(entries) {
  let last;
  let isPresent;
  for (const entry of entries) {
    const prompt = countsOf(entry.row.usage)?.prompt;
    const taken = entry.row.tokensRaw - entry.row.tokensSent;
    if (prompt !== undefined) {
      if (last?.row.model === entry.row.model)
        isPresent = presence(last, entry, { prompt, taken }) ?? isPresent;
      last = { ...entry, prompt, taken, isPresent };
    }
    entry.isPresent = isPresent;
  }
  let next = entries.findLast((entry) => entry.isPresent !== undefined)?.isPresent ?? true;
  for (const entry of entries.toReversed()) {
    next = entry.isPresent ?? next;
    entry.isPresent = next;
  }
  for (const { row, isPresent: isAtWork } of entries) {
    if (isAtWork) continue;
    Object.assign(row, { tokensSent: row.tokensRaw, firstChanged: undefined, reason: undefined });
  }
}

/** True if the hook was at work from one report to the next; undefined if the sizes do not show it. */
function presence(last, { tokens, scale }, { prompt, taken }) {
  const telling = Math.max(TELLING_TOKENS, TELLING_SHARE * prompt);
  if (Math.abs(taken) < telling) return undefined;
  const grown = last.prompt + scale * (tokens - last.tokens);
  const offBy = (isAtWork) => {
    const wasAtWork = last.isPresent ?? isAtWork;
    return Math.abs(grown - (isAtWork ? taken : 0) + (wasAtWork ? last.taken : 0) - prompt);
  };
  const [edited, raw] = [offBy(true), offBy(false)];
  return Math.abs(edited - raw) > telling ? edited < raw : undefined;
}

module.exports = { Book };
