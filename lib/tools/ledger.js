// `pi-strata/ledger`: the bill of a transcript, and the bill of a live conversation. For a transcript the hook replays each
// call to find what was sent; the usage shows the cost. Edits nothing.
"use strict";

const { Bill, rowOf } = require("../bill/bill.js");
const { checkPrices, countsOf } = require("../bill/prices.js");
const { isObject } = require("../helpers.js");
const { Hook } = require("../hook/hook.js");
const { anything } = require("../options.js");
const { countTokens } = require("./count.js");

/** Smallest difference, in tokens and as a share of a prompt, that shows whether the hook ran. */
const TELLING_TOKENS = 100;
const TELLING_SHARE = 0.005;

async function ledger(messages, options) {
  if (!Array.isArray(messages)) throw new TypeError("ledger: messages must be an array");
  const hook = new Hook("ledger", options, { prices: [undefined, anything] });
  const prices = checkPrices("ledger", hook.options.prices);
  const bill = hook.newBill({ prices, contextWindow: hook.contextWindow() });
  const calls = await answeredCalls(hook, messages.slice());
  let isRewritten = false;
  for (const { row, isPresent, isStale } of calls) {
    if (!isPresent)
      Object.assign(row, { tokensSent: row.tokensRaw, firstChanged: undefined, reason: undefined });
    // Earlier calls had another list, so the host changed old messages.
    if (isRewritten && !isStale) Object.assign(row, { firstChanged: 0, reason: undefined });
    isRewritten = isStale;
    bill.enter(row);
  }
  const { misses, moves, ...report } = bill.report();
  const withIndex = (of) => ({ ...of, index: calls[of.call - 1].index });
  return { ...report, misses: misses.map(withIndex), moves: moves.map(withIndex) };
}

/** The calls whose answers are in a list, each with its row and whether the hook ran. */
async function answeredCalls(hook, list) {
  const calls = [];
  let [counted, tokens, newestInput] = [0, 0, -Infinity];
  for (const [index, message] of list.entries()) {
    const { role, timestamp, usage } = message ?? {};
    if (role !== "assistant" && role !== "toolResult")
      newestInput = Math.max(newestInput, timestamp ?? -Infinity);
    if (role !== "assistant" || index === 0) continue;
    const before = list.slice(0, index);
    const at = before.findLast((each) => each?.timestamp !== undefined)?.timestamp;
    tokens += countTokens(before.slice(counted).filter(isObject));
    counted = index;
    // An answer older than a message before it belongs to another list.
    const isStale = timestamp < newestInput;
    const sent = isStale ? {} : (await hook.run(before)).plan;
    const taken = sent.tokensBefore - sent.tokensAfter;
    const prompt = countsOf(usage)?.prompt;
    calls.push({ index, row: rowOf(sent, message, at), isStale, tokens, scale: sent.scale, taken, prompt });
  }
  findPresence(calls.filter(({ isStale }) => !isStale));
  return calls;
}

/**
 * Finds the calls at which the hook ran, by the reported sizes: from one report to the next the prompt grew by the new
 * messages, or by these less what the hook would have removed. An unclear call counts like the one before it; those before
 * the first clear one count like that.
 */
function findPresence(calls) {
  let last;
  for (const call of calls) {
    const isComparable = call.prompt !== undefined && last?.row.model === call.row.model;
    call.isPresent = (isComparable ? presence(last, call) : undefined) ?? last?.isPresent;
    if (call.prompt !== undefined) last = call;
  }
  const first = calls.find(({ isPresent }) => isPresent !== undefined)?.isPresent ?? true;
  for (const call of calls) call.isPresent ??= first;
}

/** True if the hook ran from one report to the next; undefined if the sizes do not show it. */
function presence(last, { tokens, scale, prompt, taken }) {
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

module.exports = { Bill, ledger, rowOf };
