// What stands in the request at hand, and where the things a call needs occurred before.

import { editsIn } from "./lines.mjs";
import { kindOf } from "./versions.mjs";

/** Counts how often each thing stands in the request at hand; `of(version)` names the things a version shows. */
export class Visible {
  #of;
  #counts = new Map();
  #request = [];

  constructor(of) {
    this.#of = of;
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
    for (const thing of this.#of(version)) this.#counts.set(thing, (this.#counts.get(thing) ?? 0) + change);
  }
}

/** Everything that occurred before a call: identifiers (and whether only tools brought them), lines, the user's text. */
export class Origins {
  userTokens = 0;
  /** Every line so far, short ones too. */
  bareLines = new Set();
  #versions;
  #onlyInTools = new Map();
  #lines = new Set();
  #next = 0;

  constructor(versions) {
    this.#versions = versions;
  }

  addUpTo(messages, end) {
    for (; this.#next < end; this.#next += 1) {
      const message = messages[this.#next];
      const version = this.#versions.of(message);
      version.isRecorded = true;
      this.userTokens += version.userTokens;
      const isTool = message.role === "toolResult";
      for (const identifier of version.identifiers) {
        this.#onlyInTools.set(identifier, isTool && (this.#onlyInTools.get(identifier) ?? true));
      }
      for (const line of version.lines) this.#lines.add(line);
      for (const line of version.bareLines()) this.bareLines.add(line);
    }
  }

  /** Adds to `kinds` how much of what `version` uses is still in front of the model, by kind of identifier. */
  scoreUses({ identifiers }, visible, inRealLines, kinds) {
    for (const identifier of identifiers) {
      const onlyInTools = this.#onlyInTools.get(identifier);
      if (onlyInTools === undefined) continue;
      const score = kinds[kindOf(identifier)];
      const isVisible = visible.has(identifier) ? 1 : 0;
      score.used += 1;
      score.visible += isVisible;
      score.inRealLines += inRealLines.has(identifier) ? 1 : 0;
      score.toolUsed += onlyInTools ? 1 : 0;
      score.toolVisible += onlyInTools ? isVisible : 0;
    }
  }

  /**
   * Edit calls in `message`, and for each that quotes lines which occurred but are shown no more, those of all its lines:
   * `{ edits, lost: [{ lines, of }] }`.
   */
  editsOf(message, visibleLines) {
    const edits = editsIn(message);
    const isLost = (line) => this.#lines.has(line) && !visibleLines.has(line);
    const lost = edits.map((lines) => ({ lines: [...lines].filter(isLost), of: lines.size }));
    return { edits: edits.length, lost: lost.filter(({ lines }) => lines.length > 0) };
  }
}
