// Reads a recorded file line by line, and recognises its recorder by the content. A line that cannot be read is reported with its
// number and left out; its text is never quoted.

import { ClaudeReader } from "./claude.mjs";
import { PiReader } from "./pi.mjs";
import { Recording } from "./recording.mjs";

/** UTF-16 units. A longer line is no message: the longest string of JavaScript is not much longer. */
const LONGEST_LINE = 256 * 1024 * 1024;

/**
 * The recording in a file that comes as chunks of bytes: a session of pi's, any version, a transcript of Claude Code's, one
 * message a line, or a JSON array of messages.
 */
export async function readLines(chunks) {
  const reading = new Reading();
  let number = 0;
  for await (const line of linesOf(chunks)) {
    number += 1;
    reading.take(line, number);
  }
  return reading.finish();
}

class Reading {
  #problems = [];
  /** Objects before the first one that only one recorder writes. */
  #pending = [];
  #reader;
  /** The lines of a file that is one array, and the number of the first. */
  #array;
  #isBegun = false;

  take(line, number) {
    const text = line.trim();
    if (this.#array !== undefined) this.#array.lines.push(line);
    else if (!this.#isBegun && text.startsWith("[")) this.#array = { number, lines: [line] };
    else if (text !== "") this.#read("line", text, number);
    this.#isBegun ||= text !== "";
  }

  #read(what, text, number) {
    const { value, problem } = parsed(text, what);
    if (problem !== undefined) return this.#fail(number, problem);
    // The fourth version of pi's sessions writes the records of one transaction as one array.
    for (const object of Array.isArray(value) ? value : [value]) {
      if (isObject(object)) this.#add(object, number);
      else this.#fail(number, `The ${what} is JSON, but holds something that is not an object.`);
    }
  }

  #add(object, number) {
    this.#reader ??= readerOf(object);
    this.#pending.push([object, number]);
    if (this.#reader !== undefined) this.#flush();
  }

  #flush() {
    for (const [object, number] of this.#pending.splice(0)) {
      const problem = this.#reader.add(object);
      if (problem !== undefined) this.#fail(number, problem);
    }
  }

  #fail(line, message) {
    this.#problems.push({ line, message });
  }

  finish() {
    if (this.#array !== undefined) this.#read("array", this.#array.lines.join("\n"), this.#array.number);
    this.#reader ??= new BareReader();
    this.#flush();
    const recording = this.#reader.finish();
    recording.problems = this.#problems.sort((a, b) => a.line - b.line);
    return recording;
  }
}

/** Bare messages are taken as they are. */
class BareReader {
  #recording = new Recording("messages");

  add(message) {
    if (typeof message.role !== "string") return "This is not a message: it has no role.";
    this.#recording.push(message);
    return undefined;
  }

  finish() {
    return this.#recording;
  }
}

/** The reader of the only recorder that writes such a line; undefined if several do. */
function readerOf(line) {
  const { type, kind, message } = line;
  if (type === "session" || (type === "message" && isObject(message))) return new PiReader();
  if (kind === "header" && "v" in line) return new PiReader();
  if ((type === "user" || type === "assistant") && isObject(message)) return new ClaudeReader();
  if ("parentUuid" in line || "leafUuid" in line) return new ClaudeReader();
  return typeof line.role === "string" ? new BareReader() : undefined;
}

/** The lines of a file; broken UTF-8 becomes U+FFFD. */
async function* linesOf(chunks) {
  const decoder = new TextDecoder();
  let parts = [];
  let length = 0;
  for await (const chunk of chunks) {
    const lines = decoder.decode(chunk, { stream: true }).split("\n");
    const rest = lines.pop();
    for (const line of lines) {
      yield parts.join("") + line;
      parts = [];
      length = 0;
    }
    parts.push(rest);
    length += rest.length;
    if (length > LONGEST_LINE) throw new RangeError("a line is longer than 256 MiB; no message is");
  }
  yield parts.join("") + decoder.decode();
}

/** The value of a JSON text, or one sentence that says why there is none. */
function parsed(text, what) {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    const isCut = /end of JSON|Unterminated/.test(error.message);
    return { problem: isCut ? `The ${what} breaks off in a JSON value.` : `The ${what} is not valid JSON.` };
  }
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
