// The calls so far as the inspector knows them: columns of numbers as the report's page reads them, and weak references
// to messages. Bounded, however long it runs.
"use strict";

const { countTokensAsync, estimateTokens } = require("../tools/count.js");
const { UNSENT_STOP_REASONS } = require("../contract.js");
const { Bill } = require("./bill.js");
const { keptOf, scheduleOf } = require("../hook/events.js");
const { joinedText } = require("../hook/snapshot.js");
const { Past } = require("./past.js");

const MAX_CALLS = 10_000;
/** When there are more, the oldest of the calls go by this share. */
const TRIM_SHARE = 0.2;
/** Messages and changes that are known at once; beyond them the log begins anew. */
const MAX_MESSAGES = 50_000;
const MAX_CHANGES = 200_000;

/** The end of a change that still holds. */
const STILL = null;
/** Actions that put another text in place of a result's. */
const SHORTENING = new Set(["summarize", "keepLines"]);

class CallLog {
  #maxCalls;
  #prices;
  /** Changes that still hold, by message. */
  #open;
  /** Changes that ended after they began: `{ position, at }`, the call at which that was. */
  #updated;
  /** Copies the last call sent instead of messages, by message. */
  #sent;
  #bill;
  /** The call that is not answered yet. */
  #pending;
  /** Messages whose tokens are still to be counted. */
  #uncounted = [];

  constructor({ prices, maxCalls = MAX_CALLS }) {
    this.#maxCalls = maxCalls;
    this.#prices = prices;
    this.#beginAnew();
  }

  /** A new `generation` tells pages that what they have seen is no longer so. */
  #beginAnew() {
    this.generation = (this.generation ?? 0) + 1;
    this.calls = [];
    this.past = new Past();
    /** `[message, action, from, to, tokensSaved, reason, kept]`, calls counted from 1; `kept` holds `[lines, why]`. */
    this.changes = [];
    this.#open = new Map();
    this.#updated = [];
    this.#sent = new Map();
    this.#bill = new Bill(this.#prices);
    this.#pending = undefined;
  }

  /** A call of the hook, with its plan or why it failed. `miss` is how the call before it missed the cache, if it did. */
  called({ list, edited, plan, failure, contextWindow, line, ms = 0, miss }) {
    if (this.past.length > MAX_MESSAGES || this.changes.length > MAX_CHANGES) this.#beginAnew();
    if (this.calls.length >= this.#maxCalls) this.#trim();
    const firstNew = this.past.length;
    const { numbers, stretch } = this.past.enter(list);
    this.#count(firstNew);
    this.#answerFrom(list, numbers, firstNew);
    const call = this.calls.length + 1;
    const last = this.calls.at(-1);
    if (miss !== undefined && last?.reported > 0) last.miss = miss.cause;
    const schedule = plan && scheduleOf(plan);
    const row = {
      at: this.past.length,
      stretch,
      before: plan?.tokensBefore ?? 0,
      after: plan?.tokensAfter ?? 0,
      line: Math.round(line),
      window: contextWindow,
      schedule: schedule?.mode ?? "",
      reason: schedule?.why ?? failure,
      messagesBefore: list.length,
      messagesAfter: edited.length,
      ms,
      time: Date.now(),
      reported: null,
    };
    this.#pending = {
      row,
      tokensBefore: row.before,
      isSamePast: last === undefined || last.stretch === stretch,
      moved: this.#compare(call, numbers, list, edited, plan?.edits ?? []),
      time: row.time,
    };
    this.calls.push(row);
  }

  /** Notes the fate of each message at this call: changes begin, go on, or end. True if any began. */
  #compare(call, numbers, list, edited, edits) {
    const ofIndex = new Map(edits.map((edit) => [edit.index, edit]));
    const before = this.changes.length;
    this.#sent = new Map();
    let at = 0;
    for (const [index, message] of numbers.entries()) {
      const edit = ofIndex.get(index);
      const sent = edit?.action === "drop" ? undefined : edited[at++];
      if (sent === list[index]) this.#close(message, call);
      else this.#note(call, message, edit, sent);
    }
    const seen = new Set(numbers);
    for (const message of this.#open.keys()) if (!seen.has(message)) this.#close(message, call);
    return this.changes.length > before;
  }

  /** A message that was edited or left out at this call, as at the last one or anew. */
  #note(call, message, edit, sent) {
    if (sent !== undefined) this.#sent.set(message, sent);
    const { action, tokensSaved, reason } = edit;
    const text = SHORTENING.has(action) ? joinedText(sent.content).length : undefined;
    const open = this.#open.get(message);
    if (open?.action === action && open.text === text) return;
    this.#close(message, call);
    const kept = (keptOf(edit) ?? []).map(({ lines, why }) => [lines, why]);
    const change = [message, action, call, STILL, Math.round(tokensSaved), reason, kept];
    const position = this.changes.push(change) - 1;
    this.#open.set(message, { change, position, action, text });
  }

  #close(message, call) {
    const open = this.#open.get(message);
    if (open === undefined) return;
    open.change[3] = call - 1;
    this.#open.delete(message);
    this.#updated.push({ position: open.position, at: call });
  }

  /** The answer to the last call, with what the provider counted. */
  answered(message) {
    const pending = this.#pending;
    if (pending === undefined) return;
    this.#pending = undefined;
    const isSent = !UNSENT_STOP_REASONS.has(message.stopReason);
    const bill = this.#bill.of(pending, message);
    if (isSent && bill.reported > 0) Object.assign(pending.row, bill);
  }

  /** Without a host that tells of answers, the next call's transcript holds them. */
  #answerFrom(list, numbers, firstNew) {
    const answer = list.find(
      (message, i) => numbers[i] >= firstNew && message?.role === "assistant" && message.usage !== undefined,
    );
    if (answer !== undefined && this.calls.length > 0) this.answered(answer);
  }

  /** Sizes of new messages: at once by their length, soon after by their tokens, counted on a worker. */
  #count(from) {
    const { past } = this;
    const isIdle = this.#uncounted.length === 0;
    for (let number = from; number < past.length; number += 1) {
      past.tokens[number] = sizeOf(past.message(number));
      this.#uncounted.push({ past, number });
    }
    if (isIdle) this.#countNext();
  }

  /** One after the other: a first call may bring thousands, and the workers are the host's too. */
  #countNext() {
    const next = this.#uncounted[0];
    if (next === undefined) return;
    const done = () => {
      this.#uncounted.shift();
      this.#countNext();
    };
    const message = next.past.message(next.number);
    const counted = message === undefined ? Promise.resolve(0) : countTokensAsync(message);
    counted.then((tokens) => {
      next.past.tokens[next.number] = tokens;
      done();
    }, done);
  }

  #trim() {
    const gone = Math.ceil(this.#maxCalls * TRIM_SHARE);
    this.calls.splice(0, gone);
    this.changes = this.changes.filter(([, , , to]) => to === STILL || to > gone);
    for (const [position, change] of this.changes.entries()) {
      change[2] = Math.max(1, change[2] - gone);
      if (change[3] !== STILL) change[3] -= gone;
      const open = this.#open.get(change[0]);
      if (open?.change === change) open.position = position;
    }
    this.#updated = [];
    this.generation += 1;
  }

  /** The message, while its host holds it. */
  message(number) {
    return this.past.message(number);
  }

  /** The message that was sent in its place at the last call, if it was another one. */
  sent(number) {
    return this.#sent.get(number);
  }

  /** Everything after what a page has seen (`{ generation, calls, messages, changes }`). */
  since({ generation, calls = 0, messages = 0, changes = 0 } = {}) {
    const isNew = generation !== this.generation;
    const from = isNew ? { calls: 0, messages: 0, changes: 0 } : { calls, messages, changes };
    const { past } = this;
    // The last row may have been answered since.
    const firstCall = Math.max(0, from.calls - 1);
    const firstMessage = Math.max(0, from.messages - RECOUNTED);
    return {
      generation: this.generation,
      isNew,
      firstCall,
      calls: this.calls.slice(firstCall),
      firstMessage,
      messages: past.columns(firstMessage),
      stretches: past.stretches,
      firstChange: from.changes,
      changes: this.changes.slice(from.changes),
      updated: isNew
        ? []
        : this.#updated
            .filter(({ position, at }) => position < from.changes && at >= from.calls)
            .map(({ position }) => [position, this.changes[position]]),
    };
  }
}

/** Messages whose exact counts may have come after a page saw them. */
const RECOUNTED = 64;

function sizeOf(message) {
  try {
    return typeof message === "object" && message !== null ? estimateTokens(message) : 0;
  } catch {
    return 0;
  }
}

module.exports = { CallLog };
