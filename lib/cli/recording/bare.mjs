// Bare messages: one JSON array, or one message a line. They are taken as they are.

import { isObject, parsed } from "./json.mjs";
import { Timeline } from "./timeline.mjs";

export class BareReader {
  #timeline = new Timeline();

  /** Takes in a message; returns what is wrong with it. */
  add(message) {
    if (typeof message.role !== "string") return "This is not a message: it has no role.";
    this.#timeline.push(message);
    return undefined;
  }

  /** Takes in the messages of an array; of one that is cut, those before the end. Returns the problems. */
  addArray(text) {
    const { value, problem } = parsed(text, "file");
    if (Array.isArray(value) && value.every((message) => typeof message?.role === "string")) {
      for (const message of value) this.#timeline.push(message);
      return [];
    }
    const problems = [];
    let end = 0;
    for (const [from, to] of elementsOf(text)) {
      const element = parsed(text.slice(from, to), "message");
      const wrong =
        element.problem ??
        (isObject(element.value) ? this.add(element.value) : "This is not a message: it has no role.");
      if (wrong !== undefined) problems.push({ line: lineAt(text, from), message: wrong });
      end = to;
    }
    const isCut = problem !== undefined && !problems.some(({ line }) => line === lineAt(text, end));
    if (isCut) problems.push({ line: lineAt(text.trimEnd(), Infinity), message: problem });
    return problems;
  }

  finish() {
    return { format: "messages", timeline: this.#timeline, unplayed: {}, times: {} };
  }
}

const lineAt = (text, at) => text.slice(0, at).split("\n").length;

const DEPTH = { "[": 1, "{": 1, "]": -1, "}": -1 };

/** Where the elements of an array begin and end, as far as it goes. */
function* elementsOf(text) {
  let depth = 0;
  let from;
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"?|[[\]{},]|[^\s"[\]{},]+/gs)) {
    const before = depth;
    depth += DEPTH[token] ?? 0;
    const isEnd = (before === 1 && token === ",") || depth === 0;
    if (!isEnd && before === 1) from ??= index;
    if (isEnd && from !== undefined) {
      yield [from, index];
      from = undefined;
    }
    if (depth === 0) return;
  }
  if (from !== undefined) yield [from, text.length];
}
