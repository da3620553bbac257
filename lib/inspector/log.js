// The record of a hook's calls, for the live page and for the report of a replay: a row per call, the edits, and weak references to
// messages.
"use strict";

const { UNSENT_STOP_REASONS } = require("../contract.js");
const { Bill, rowOf } = require("../bill/bill.js");
const { ChangeLog, Past } = require("./changes.js");
const { textOf } = require("./text.js");

/** Runs of message numbers that take the room of a call. */
const RUNS_PER_CALL = 10;
/** Stands in for the call before the first. */
const NO_CALL = { at: 0, stretch: 0, messagesBefore: 0, tokensBefore: 0, scale: 1, limit: 0 };

class CallLog {
  #most;
  #billing;
  #bill;
  #past;
  #log;
  #calls;
  /** Numbers of messages and changes that the first logged call brought. */
  #first;
  /** The edited copies that the last call sent, by message number. */
  #sent;
  /** Counts the changes that pages show. */
  #revision = 0;

  /** After `most` calls, new messages or new changes the log begins anew. `billing` are the options of its `Bill`. */
  constructor({ most = Infinity, ...billing } = {}) {
    this.#most = most;
    this.#billing = billing;
    this.#beginAnew();
  }

  #beginAnew() {
    this.#bill = new Bill(this.#billing);
    this.#past = new Past();
    this.#log = new ChangeLog();
    this.#calls = [];
    this.#first = undefined;
    this.#sent = new Map();
  }

  #makeRoom() {
    const { messages, changes } = this.#first ?? { messages: 0, changes: 0 };
    const came = [this.#calls.length, this.#past.length - messages, this.#log.changes.length - changes];
    const runs = this.#past.runs / RUNS_PER_CALL;
    if (Math.max(...came, runs) >= this.#most) this.#beginAnew();
  }

  /** Adds a call of the hook; returns its row. `given` are the numbers of its messages where a recording has them. */
  called({ list, edited, plan, conversation }, given) {
    this.#makeRoom();
    const firstNew = this.#past.length;
    const tokens = conversation.tokens();
    const numbers = this.#past.enter(conversation.known, tokens, given);
    // A host that does not report answers passes them with the next call.
    const answer = list.find((message, i) => numbers[i] >= firstNew && isReported(message));
    if (answer !== undefined) this.answered(answer);
    const { tokensBefore, tokensAfter, scale, contextWindow, schedule, reason, firstChanged } = plan;
    const row = this.#add({
      at: this.#past.length,
      stretch: this.#past.stretches.length - 1,
      messagesBefore: list.length,
      messagesAfter: edited.length,
      tokensBefore,
      tokensAfter,
      scale,
      limit: Math.round(plan.threshold),
      contextWindow,
      schedule,
      reason,
      firstChanged,
      madeAt: list.at(-1)?.timestamp,
    });
    this.#log.watch(this.#calls.length, plan, numbers, tokens);
    this.#first ??= { messages: this.#past.length, changes: this.#log.changes.length };
    this.#sent.clear();
    for (const { index, copy } of plan.edits) if (copy !== undefined) this.#sent.set(numbers[index], copy);
    return row;
  }

  /** Adds a call that failed: its messages were sent as they came. */
  failed(reason, contextWindow) {
    this.#makeRoom();
    const { at, stretch, messagesBefore, tokensBefore, scale, limit } = this.#calls.at(-1) ?? NO_CALL;
    const sent = { messagesAfter: messagesBefore, tokensAfter: tokensBefore };
    this.#add({ at, stretch, messagesBefore, tokensBefore, ...sent, scale, limit, contextWindow, reason });
  }

  #add(call) {
    const row = { ...call, reported: null };
    this.#calls.push(row);
    this.#revision += 1;
    return row;
  }

  /** Adds the usage of the answer to the last call. Ignores anything else. */
  answered(message) {
    const row = this.#calls.at(-1);
    if (!isReported(message) || row === undefined || row.reported !== null) return;
    const { prompt, cacheRead, input, saved, miss } = this.#bill.enter(rowOf(row, message, row.madeAt));
    if (prompt === undefined) return;
    // No provider takes a request over the window, so it has no cost.
    const isPriced = saved !== undefined && row.tokensBefore <= row.contextWindow;
    const without = isPriced ? input + saved : undefined;
    Object.assign(row, { reported: prompt, cacheRead, paid: input, without, miss: miss?.cause });
    this.#revision += 1;
  }

  /** The text of a message that its host still holds, and of the copy that the last call sent instead. */
  text(number) {
    return textOf(this.#past.message(number), this.#sent.get(number));
  }

  /** The whole record, `{ revision, calls, messages, stretches, changes }`; null if nothing is newer than that revision. */
  since(revision) {
    if (revision === this.#revision) return null;
    const { role, tool, tokens, gone, stretches } = this.#past;
    return {
      revision: this.#revision,
      calls: this.#calls,
      messages: { role, tool, tokens, gone },
      stretches,
      changes: this.#log.changes,
    };
  }
}

function isReported(message) {
  return message?.role === "assistant" && message.usage && !UNSENT_STOP_REASONS.has(message.stopReason);
}

module.exports = { CallLog };
