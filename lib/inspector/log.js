// The inspector's record of the calls: columns of numbers as the report's page reads them, and weak references to messages.
// Its size is bounded.
"use strict";

const { UNSENT_STOP_REASONS } = require("../contract.js");
const { Bill, rowOf: callRow } = require("../bill/bill.js");
const { ChangeLog, Past, editsIn, rowOf } = require("./changes.js");
const { textOf } = require("./text.js");

/** Share of the calls that is dropped, oldest first, when there are more than are kept. */
const TRIM_SHARE = 0.2;
/** Most messages and changes in the log; above that it begins anew. */
const MAX_MESSAGES = 50_000;
const MAX_CHANGES = 50_000;

class CallLog {
  #maxCalls;
  #prices;
  #bill;
  #past;
  #log;
  #calls;
  /** The edited copies that the last call sent, by message number. */
  #sent;
  /** Counts the changes that pages show. */
  #revision = 0;

  constructor({ prices, maxCalls }) {
    this.#maxCalls = maxCalls;
    this.#prices = prices;
    this.#beginAnew();
  }

  #beginAnew() {
    this.#bill = new Bill({ prices: this.#prices });
    this.#past = new Past();
    this.#log = new ChangeLog();
    this.#calls = [];
    this.#sent = new Map();
  }

  /** Adds a call of the hook. */
  called({ list, edited, plan, conversation }) {
    if (this.#past.length > MAX_MESSAGES || this.#log.changes.length > MAX_CHANGES) this.#beginAnew();
    const firstNew = this.#past.length;
    const tokens = conversation.tokens();
    const numbers = this.#past.enter(conversation.known, tokens);
    // A host that does not report answers hands them in with the next call.
    const answer = list.find((message, i) => numbers[i] >= firstNew && isReported(message));
    if (answer !== undefined) this.answered(answer);
    this.#add({
      at: this.#past.length,
      stretch: this.#past.stretches.length - 1,
      before: plan.tokensBefore,
      after: plan.tokensAfter,
      line: Math.round(plan.threshold),
      window: plan.contextWindow,
      reason: plan.reason,
      firstChanged: plan.firstChanged,
      madeAt: list.at(-1)?.timestamp,
      messagesBefore: list.length,
      messagesAfter: edited.length,
    });
    this.#log.watch(this.#calls.length, editsIn(plan, numbers, tokens));
    this.#sent.clear();
    for (const { index, copy } of plan.edits) if (copy !== undefined) this.#sent.set(numbers[index], copy);
  }

  /** Adds a call that failed: its messages were sent as they came. */
  failed(reason, window) {
    const { at = 0, stretch = 0, before = 0, line = 0, messagesBefore = 0 } = this.#calls.at(-1) ?? {};
    const sent = { after: before, messagesAfter: messagesBefore };
    this.#add({ at, stretch, before, line, window, reason, messagesBefore, ...sent });
  }

  #add(call) {
    if (this.#calls.length >= this.#maxCalls) {
      const gone = Math.ceil(this.#maxCalls * TRIM_SHARE);
      this.#calls.splice(0, gone);
      this.#log.forget(gone);
    }
    this.#calls.push({ ...call, reported: null });
    this.#revision += 1;
  }

  /** Adds the usage of the answer to the last call. Ignores anything else. */
  answered(message) {
    const call = this.#calls.at(-1);
    if (!isReported(message) || call === undefined || call.reported !== null) return;
    const sent = { ...call, tokensBefore: call.before, tokensAfter: call.after };
    const { prompt, cacheRead, input, saved, miss } = this.#bill.enter(callRow(sent, message, call.madeAt));
    if (prompt === undefined) return;
    const without = input === undefined || saved === undefined ? undefined : input + saved;
    const { model } = message;
    Object.assign(call, { model, reported: prompt, cacheRead, paid: input, without, miss: miss?.cause });
    this.#revision += 1;
  }

  /** The text of a message that its host still holds, and of the copy that the last call sent instead. */
  text(number) {
    return textOf(this.#past.message(number), this.#sent.get(number));
  }

  /** The whole record, `{ revision, calls, messages, stretches, changes }`; null if nothing is newer than that revision. */
  since(revision) {
    if (revision === this.#revision) return null;
    const now = this.#calls.length;
    // The end of a change that still holds is not known yet.
    const row = (change) => rowOf(change.to === now ? { ...change, to: null } : change);
    const { role, tool, tokens, stretches } = this.#past;
    return {
      revision: this.#revision,
      calls: this.#calls,
      messages: { role, tool, tokens },
      stretches,
      changes: this.#log.changes.map(row),
    };
  }
}

function isReported(message) {
  return message?.role === "assistant" && message.usage && !UNSENT_STOP_REASONS.has(message.stopReason);
}

module.exports = { CallLog };
