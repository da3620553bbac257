// A recorded session as the command-line tool plays it: every recorded call with the messages the model had before it.
// Large parts of messages are parsed again when they are wanted: natively a session takes no more than its size.

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SETTLED } from "../hook/values.js";

/** JSON that is read between two collections of garbage, in UTF-16 code units. */
const UNITS_PER_COLLECTION = 16 * 1024 * 1024;
/** Longer strings are read again when they are wanted. Lists and objects are too, but for the usage. */
const SHORT_CHARS = 200;

export class Recording {
  /** Every recorded call, in order: `{ number, at, stretch }`, its number from 1, its answer's, and where it stands. */
  calls;
  #file;
  #messages = new Map();
  /** The message read last: its large fields are asked for one after the other. */
  #last = { number: undefined, message: undefined };
  #unitsRead = 0;
  /** The messages of one stretch that were asked for so far: its next call has them before it, too. */
  #opened = { stretch: undefined, end: 0, numbers: [], messages: [] };

  /** `file` has the properties of `fileOf`: a native file and its index, or a list. */
  constructor(file) {
    this.#file = file;
    this.stretches = file.stretches;
    this.calls = callsIn(file.answers, this.stretches);
  }

  /** `messages` as a recording; one that is a recording already stays what it is. */
  static of(messages) {
    return messages instanceof Recording ? messages : new Recording(fileOf(messages));
  }

  get format() {
    return this.#file.format;
  }

  /** `{ line, message }` of each line that could not be read. */
  get problems() {
    return this.#file.problems;
  }

  /** Number of messages; theirs begin at 0. */
  get length() {
    return this.#file.length;
  }

  /** Recorded calls that are not played, in words, with how many there are. */
  get unplayed() {
    const { abandoned, subAgents } = this.#file.unplayed;
    return { "on branches that were left": abandoned, "made by sub-agents": subAgents };
  }

  /** The messages that the model would have before it next. */
  get messages() {
    const { opening, from, to } = this.stretches.at(-1);
    return this.#all([...opening, ...range(from, to)]);
  }

  /** Numbers of the messages before a call. */
  numbersBefore({ at, stretch }) {
    const { opening, from } = this.stretches[stretch];
    if (this.#opened.stretch !== stretch)
      this.#opened = { stretch, end: from, numbers: opening.slice(), messages: [] };
    const opened = this.#opened;
    for (; opened.end < at; opened.end += 1) opened.numbers.push(opened.end);
    return opened.numbers.slice(0, opening.length + at - from);
  }

  /** The messages before a call. Equal numbers are the same objects while calls of one stretch are asked for. */
  messagesBefore(call) {
    const { length } = this.numbersBefore(call);
    const { numbers, messages } = this.#opened;
    while (messages.length < length) messages.push(this.message(numbers[messages.length]));
    return messages.slice(0, length);
  }

  /** The messages of a whole stretch, those it opens with first. */
  messagesIn(stretch) {
    const { opening, from, to } = this.stretches[stretch];
    return this.#all([...opening, ...range(from, to)]);
  }

  message(number) {
    let message = this.#messages.get(number);
    if (message === undefined) {
      message = new RecordedMessage(this.#read(number), () => this.#read(number));
      this.#messages.set(number, message);
    }
    return message;
  }

  /** Lets go of all messages but those that `stretch` opens with. */
  leaveBefore(stretch) {
    const { opening } = this.stretches[stretch];
    this.#opened = { stretch: undefined, end: 0, numbers: [], messages: [] };
    this.#messages = new Map(
      opening.filter((number) => this.#messages.has(number)).map((n) => [n, this.#messages.get(n)]),
    );
  }

  #all(numbers) {
    return numbers.map((number) => this.message(number));
  }

  #read(number) {
    if (this.#last.number !== number) {
      const json = this.#file.message(number);
      this.#last = { number, message: JSON.parse(json) };
      this.#unitsRead += json.length;
      if (this.#unitsRead > UNITS_PER_COLLECTION) {
        this.#unitsRead = 0;
        collectGarbage();
      }
    }
    return this.#last.message;
  }
}

/** A message whose large fields are read when they are asked for. It never changes. */
class RecordedMessage {
  constructor(fields, read) {
    for (const [name, value] of Object.entries(fields)) {
      if (isSmall(name, value)) this[name] = value;
      else Object.defineProperty(this, name, { enumerable: true, get: () => read()[name] });
    }
  }

  get [SETTLED]() {
    return true;
  }
}

function isSmall(name, value) {
  if (typeof value === "string") return value.length <= SHORT_CHARS;
  return typeof value !== "object" || value === null || name === "usage";
}

/** Each answer, where something stands before it. */
function callsIn(answers, stretches) {
  const calls = [];
  let stretch = 0;
  for (const at of answers) {
    while (at >= stretches[stretch].to) stretch += 1;
    const { opening, from } = stretches[stretch];
    if (opening.length + at - from > 0) calls.push({ number: calls.length + 1, at, stretch });
  }
  return calls;
}

/** A list of messages, as if it had been recorded. */
function fileOf(messages) {
  return {
    format: "messages",
    problems: [],
    length: messages.length,
    stretches: [{ cause: "start", opening: [], from: 0, to: messages.length }],
    answers: messages.flatMap(({ role }, number) => (role === "assistant" ? [number] : [])),
    unplayed: { abandoned: 0, subAgents: 0 },
    message: (number) => JSON.stringify(messages[number]),
  };
}

function range(from, to) {
  return Array.from({ length: to - from }, (_, i) => from + i);
}

let collect;

/**
 * Frees the texts that were read and the engine's facts of messages that were let go. Left to itself, V8 waits until
 * its heap has grown to gigabytes, and knows nothing of what the engine holds.
 */
function collectGarbage() {
  if (collect === undefined) {
    setFlagsFromString("--expose-gc");
    collect = runInNewContext("gc");
  }
  collect();
}
