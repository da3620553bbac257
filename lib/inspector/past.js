// Numbers the messages of a conversation in the order they came, and notes where the host rewrote it. Holds sizes and weak
// references, no message.
"use strict";

class Past {
  role = [];
  tool = [];
  tokens = [];
  /** As the report's page reads them: `{ cause, opening, from }`, the opening as runs of numbers. */
  stretches = [{ cause: "start", opening: [], from: 0 }];
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

  /** Numbers the messages of a transcript; `tokens` are theirs. A rewritten past begins a new stretch. */
  enter(list, tokens) {
    const firstNew = this.length;
    const last = this.#last;
    const numbers = list.map((message, i) => this.#numbers.get(message) ?? this.#add(message, tokens[i]));
    const isMore = (number, i) => (i < last.length ? number === last[i] : number >= firstNew);
    if (numbers.length < last.length || !numbers.every(isMore)) this.#begin(numbers, firstNew);
    this.#last = numbers;
    return numbers;
  }

  #add(message, tokens) {
    const number = this.length;
    this.role.push(named(message?.role));
    this.tool.push(message?.role === "toolResult" ? named(message.toolName) : "");
    this.tokens.push(tokens);
    if (typeof message === "object" && message !== null) {
      this.#numbers.set(message, number);
      this.#references[number] = new WeakRef(message);
    }
    return number;
  }

  /** Begins a stretch with the messages that were known, and those between them. */
  #begin(numbers, firstNew) {
    const rest = numbers.findLastIndex((number) => number < firstNew) + 1;
    const hasSummary = numbers.slice(0, rest + 1).some((n) => this.role[n] === "compactionSummary");
    this.stretches.push({
      cause: hasSummary ? "compaction" : "edit",
      opening: runs(numbers.slice(0, rest)),
      from: numbers[rest] ?? this.length,
    });
  }
}

/** Longest name of a role or a tool, in UTF-16 units. */
const MAX_NAME = 80;

const named = (value) => (typeof value === "string" ? value.slice(0, MAX_NAME) : "?");

/** Ascending numbers as pairs: the first of a run, and one more than its last. */
function runs(numbers) {
  const found = [];
  for (const number of numbers) {
    const last = found.at(-1);
    if (last?.[1] === number) last[1] += 1;
    else found.push([number, number + 1]);
  }
  return found;
}

module.exports = { Past, runs };
