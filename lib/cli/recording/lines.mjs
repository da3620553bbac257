// Reads a recorded file line by line, and tells by its content who wrote it. A line that cannot be read is reported with its
// number and left out; nothing of its text is quoted.

import { BareReader } from "./bare.mjs";
import { ClaudeReader } from "./claude.mjs";
import { isObject, parsed } from "./json.mjs";
import { PiReader } from "./pi.mjs";

/** Code units. A longer line is no message: the longest string of JavaScript is not much longer. */
const LONGEST_LINE = 256 * 1024 * 1024;

/**
 * What a file holds, given as chunks of bytes: `{ format, timeline, problems, unplayed, times }`. Recorders are pi's sessions
 * of every version, Claude Code, a JSON array of messages, and one message a line.
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
  /** Objects before the first that tells who wrote the file. */
  #pending = [];
  #reader;
  /** The lines of a file that is one array. */
  #array;
  #isBegun = false;

  take(line, number) {
    const text = line.trim();
    if (this.#array !== undefined) this.#array.push(line);
    else if (!this.#isBegun && text.startsWith("[")) this.#array = [...Array(number - 1).fill(""), line];
    else if (text !== "") this.#read(text, number);
    this.#isBegun ||= text !== "";
  }

  #read(text, number) {
    const { value, problem } = parsed(text, "line");
    if (problem !== undefined) return this.#fail(number, problem);
    // The fourth version of pi's sessions writes the records of one transaction as one array.
    for (const object of Array.isArray(value) ? value : [value]) {
      if (isObject(object)) this.#add(object, number);
      else this.#fail(number, "The line is JSON, but not an object.");
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
    this.#reader ??= new BareReader();
    this.#flush();
    if (this.#array !== undefined) this.#problems.push(...this.#reader.addArray(this.#array.join("\n")));
    const problems = this.#problems.sort((a, b) => a.line - b.line);
    return { ...this.#reader.finish(), problems };
  }
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

/** The reader of the only recorder that writes such a line; undefined where several do. */
function readerOf(line) {
  const { type, kind, message } = line;
  if (type === "session" || (type === "message" && isObject(message))) return new PiReader();
  if (kind === "header" && "v" in line) return new PiReader();
  if ((type === "user" || type === "assistant") && isObject(message)) return new ClaudeReader();
  if ("parentUuid" in line || "leafUuid" in line) return new ClaudeReader();
  return typeof line.role === "string" ? new BareReader() : undefined;
}
