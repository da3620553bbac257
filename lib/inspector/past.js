// Numbers the messages of a conversation in the order they came, and notes where its past was rewritten. Holds sizes and
// weak references, no message.
"use strict";

class Past {
  role = [];
  tool = [];
  /** cl100k tokens. */
  tokens = [];
  /** As the report's page reads them: `{ cause, opening, from }`, the opening as runs of numbers. */
  stretches = [];
  #references = [];
  #numbers = new WeakMap();
  /** Numbers of the last transcript and what its messages are known by, for hosts that hand in copies. */
  #last = [];
  #lastKeys = [];
  #opening = [];

  get length() {
    return this.role.length;
  }

  /** The message of a number, while its host holds it. */
  message(number) {
    return this.#references[number]?.deref();
  }

  /** Columns from a number on. */
  columns(from) {
    return { role: this.role.slice(from), tool: this.tool.slice(from), tokens: this.tokens.slice(from) };
  }

  /** The numbers of a transcript, and the stretch it stands in. */
  enter(list) {
    const firstNew = this.length;
    const keys = list.map(keyOf);
    const numbers = list.map((message, i) => this.#numberOf(message, keys[i], i));
    if (!this.#goesOn(numbers)) this.#begin(numbers, firstNew);
    this.#last = numbers;
    this.#lastKeys = keys;
    return { numbers, stretch: this.stretches.length - 1 };
  }

  #numberOf(message, key, i) {
    const isObject = typeof message === "object" && message !== null;
    const known = isObject ? this.#numbers.get(message) : undefined;
    if (known !== undefined) return known;
    const isCopy = key !== undefined && this.#lastKeys[i] === key;
    const number = isCopy ? this.#last[i] : this.#add(message);
    if (isObject) {
      this.#numbers.set(message, number);
      this.#references[number] = new WeakRef(message);
    }
    return number;
  }

  #add(message) {
    this.role.push(named(message?.role));
    this.tool.push(message?.role === "toolResult" ? named(message.toolName) : "");
    this.tokens.push(0);
    return this.length - 1;
  }

  /** True if this is the last stretch with more at its end. */
  #goesOn(numbers) {
    const stretch = this.stretches.at(-1);
    if (stretch === undefined || numbers.length < this.#opening.length) return false;
    const rest = this.#opening.length;
    return numbers.every((number, i) =>
      i < rest ? number === this.#opening[i] : number === stretch.from + i - rest,
    );
  }

  #begin(numbers, firstNew) {
    let rest = numbers.length;
    while (rest > 0 && numbers[rest - 1] >= firstNew && isNext(numbers, rest)) rest -= 1;
    this.#opening = numbers.slice(0, rest);
    const hasSummary = numbers.slice(0, rest + 1).some((n) => this.role[n] === "compactionSummary");
    const rewritten = hasSummary ? "compaction" : "edit";
    this.stretches.push({
      cause: this.stretches.length === 0 ? "start" : rewritten,
      opening: runs(this.#opening),
      from: numbers[rest] ?? this.length,
    });
  }
}

/** True if the number before `at` is one less than the one at it, or there is none after it. */
function isNext(numbers, at) {
  return at === numbers.length || numbers[at - 1] === numbers[at] - 1;
}

/** The key that tells a copy of a message from another message; undefined where nothing does. */
function keyOf(message) {
  const { role, timestamp, toolCallId } = message ?? {};
  if (timestamp === undefined && toolCallId === undefined) return undefined;
  return `${String(role)}|${String(timestamp)}|${String(toolCallId)}`;
}

/** Longer names of roles and tools are cut. */
const MAX_NAME = 80;

function named(value) {
  return typeof value === "string" ? value.slice(0, MAX_NAME) : "?";
}

/** Ascending numbers as pairs, the first of a run and one more than its last. */
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
