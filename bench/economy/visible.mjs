// What stands in the request at hand, and where the things a call needs occurred before.

import { editsIn } from "./lines.mjs";
import { spansOf } from "./spans.mjs";

/** Counts how often each thing of a `kind` that versions name stands in the request at hand. */
export class Visible {
  #kind;
  #counts = new Map();
  #request = [];

  constructor(kind) {
    this.#kind = kind;
  }

  show(request) {
    let same = 0;
    while (same < request.length && request[same] === this.#request[same]) same += 1;
    for (const version of this.#request.slice(same)) this.#add(version, -1);
    for (const version of request.slice(same)) this.#add(version, 1);
    this.#request = request;
  }

  has(thing) {
    return (this.#counts.get(thing) ?? 0) > 0;
  }

  #add(version, change) {
    for (const thing of version[this.#kind]) this.#counts.set(thing, (this.#counts.get(thing) ?? 0) + change);
  }
}

/** Everything that occurred before a call: names (and whether only tools brought them), lines, copied spans, user text, calls. */
export class Origins {
  #versions;
  #onlyInTools = new Map();
  #lines = new Set();
  #spans = new Set();
  #sums = { userTokens: 0, calls: 0 };
  #next = 0;

  constructor(versions) {
    this.#versions = versions;
  }

  addUpTo(messages, end) {
    for (; this.#next < end; this.#next += 1) {
      const message = messages[this.#next];
      const { identifiers, lines, spans, userTokens, calls } = this.#versions.of(message);
      const isTool = message.role === "toolResult";
      for (const name of identifiers)
        this.#onlyInTools.set(name, isTool && (this.#onlyInTools.get(name) ?? true));
      for (const line of lines) this.#lines.add(line);
      for (const span of spans) this.#spans.add(span);
      this.#sums.userTokens += userTokens;
      this.#sums.calls += calls;
    }
  }

  /** The share of the user's tokens, or of the earlier calls, that stands in a request. */
  shareIn(request, what) {
    const before = this.#sums[what];
    return before === 0 ? 1 : request.reduce((sum, version) => sum + version[what], 0) / before;
  }

  /** Adds to `score` how many of the names and spans that an answer takes from before are in view. */
  scoreUses(answer, { identifiers: names, spans }, score) {
    for (const name of this.#versions.of(answer).identifiers) {
      const onlyInTools = this.#onlyInTools.get(name);
      if (onlyInTools === undefined) continue;
      const isVisible = names.has(name) ? 1 : 0;
      score.used += 1;
      score.visible += isVisible;
      score.toolUsed += onlyInTools ? 1 : 0;
      score.toolVisible += onlyInTools ? isVisible : 0;
    }
    const copied = spansOf(answer).filter((span) => this.#spans.has(span));
    score.copied += copied.length;
    score.copiedVisible += copied.filter((span) => spans.has(span)).length;
  }

  /** Number of edits in an answer, and of those that quote a line which occurred but is shown no more: `{ edits, lost }`. */
  editsOf(answer, { lines }) {
    const edits = editsIn(answer);
    const isLost = (line) => this.#lines.has(line) && !lines.has(line);
    return { edits: edits.length, lost: edits.filter((quoted) => [...quoted].some(isLost)).length };
  }
}
