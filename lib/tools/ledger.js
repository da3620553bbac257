// `pi-strata/ledger`: the bill of a transcript, read back from its own usage, and the bill of a live conversation.
"use strict";

const { Bill, rowOf } = require("../bill/bill.js");
const { Book } = require("./ledger_book.js");

async function ledger(messages, options) {
  if (!Array.isArray(messages)) throw new TypeError("ledger: messages must be an array");
  const book = new Book("ledger", options);
  await book.enter(messages.slice());
  return book.report();
}

module.exports = { Bill, ledger, rowOf };
