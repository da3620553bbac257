// `pi-strata/ledger`: the bill of a transcript, and the bill of a live conversation.
"use strict";

const { Bill, rowOf } = require("../bill/bill.js");
const { isAnswer, ledgerOf } = require("./ledger_book.js");

async function ledger(messages, options) {
  if (!Array.isArray(messages)) throw new TypeError("ledger: messages must be an array");
  const list = messages.slice();
  const { misses, moves, ...report } = await ledgerOf("ledger", [{ list, from: 0 }], options);
  const answers = list.flatMap((message, index) => (isAnswer(message, index) ? [index] : []));
  const withIndex = (of) => ({ ...of, index: answers[of.call - 1] });
  return { ...report, misses: misses.map(withIndex), moves: moves.map(withIndex) };
}

module.exports = { Bill, ledger, rowOf };
