// The messages of a conversation by number, and what happened to each over the calls: the edits of every call's plan, gathered into
// stretches of calls. Holds sizes and weak references, no message and no text. Sizes are the counter's tokens.
"use strict";

const { isObject } = require("../helpers.js");
const { editsByMessage, keptOf } = require("../hook/events.js");

/** Longest name of a role or a tool, in UTF-16 units. */
const MAX_NAME = 80;

class ChangeLog {
  /** The edits, each with the calls at which it was made: `from` to `to`, both included. */
  changes = [];
  #newest = new Map();

  /** Adds the edits of a call. `numbers` and `tokens` have an entry per message of the call. Moves are skipped. */
  watch(call, plan, numbers, tokens) {
    for (const edit of editsByMessage(plan, tokens)) {
      const { index, action, ranges, reason, tokensSaved } = edit;
      if (action === "moveAfter") continue;
      const form = `${action} ${ranges}`;
      const message = numbers[index];
      const newest = this.#newest.get(message);
      if (newest?.change.to === call - 1 && newest.form === form) {
        newest.change.to = call;
      } else {
        // Each field is named: spreading the edit would keep its message in memory.
        const change = { message, action, from: call, to: call, reason, kept: keptOf(edit) };
        change.saved = Math.round(tokensSaved / plan.scale);
        this.#newest.set(message, { change, form });
        this.changes.push(change);
      }
    }
  }
}

/** Numbers the messages, and records where the host rewrote the conversation. */
class Past {
  role = [];
  tool = [];
  tokens = [];
  /** By number of a message that left from after the last answer: how many messages there were. Such reminders last one request. */
  gone = {};
  /** The host rewrote the past between two: `{ cause, opening, from }`, the opening as runs of numbers. */
  stretches = [{ cause: "start", opening: [], from: 0 }];
  /** Number of runs in all openings. It grows fast where a host renews its first message at each call. */
  runs = 0;
  #references = [];
  #numbers = new WeakMap();
  /** Numbers of the last transcript. */
  #last = [];

  get length() {
    return this.role.length;
  }

  /** The message of a number, if its host still holds it. */
  message(number) {
    return this.#references[number]?.deref();
  }

  /**
   * Returns the numbers of the messages of a transcript: those `given`, else in order of arrival. `tokens` are their sizes. A
   * rewritten past begins a new stretch.
   */
  enter(list, tokens, given = []) {
    const firstNew = this.length;
    const last = this.#last;
    const numbers = list.map((message, i) => {
      const number = given[i] ?? this.#numbers.get(message) ?? this.length;
      if (this.role[number] === undefined) this.#add(number, message, tokens[i]);
      return number;
    });
    const isMore = (known) => {
      const isNext = (number, i) => (i < known.length ? number === known[i] : number >= firstNew);
      return numbers.length >= known.length && numbers.every(isNext);
    };
    if (!isMore(last)) {
      const there = new Set(numbers);
      const answered = last.findLastIndex((number) => this.role[number] === "assistant");
      const went = last.filter((number, i) => i > answered && !there.has(number));
      if (isMore(last.filter((number, i) => i <= answered || there.has(number))))
        for (const number of went) this.gone[number] = firstNew;
      else this.#begin(numbers, firstNew);
    }
    this.#last = numbers;
    return numbers;
  }

  #add(number, message, tokens) {
    this.role[number] = named(message?.role);
    this.tool[number] = message?.role === "toolResult" ? named(message.toolName) : "";
    this.tokens[number] = tokens;
    if (isObject(message)) {
      this.#numbers.set(message, number);
      this.#references[number] = new WeakRef(message);
    }
  }

  /** Begins a stretch with the messages that were known, and those between them. */
  #begin(numbers, firstNew) {
    const rest = numbers.findLastIndex((number) => number < firstNew) + 1;
    const isSummary = (number) => number >= firstNew && this.role[number] === "compactionSummary";
    const opening = runs(numbers.slice(0, rest));
    this.runs += opening.length;
    this.stretches.push({
      cause: numbers.some(isSummary) ? "compaction" : "edit",
      opening,
      from: numbers[rest] ?? this.length,
    });
  }
}

const named = (value) => (typeof value === "string" ? value.slice(0, MAX_NAME) : "?");

/** Numbers as pairs: the first of an ascending run, and one more than its last. */
function runs(numbers) {
  const found = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last?.[1] === number) last[1] += 1;
    else found.push([number, number + 1]);
  }
  return found;
}

module.exports = { ChangeLog, Past, runs };
