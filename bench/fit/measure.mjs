// What the answers of one session need again of what was shown before: spans of text, names, and lines that edits quote.

import counting from "../../lib/tools/count.js";
import { changesOf, linesOf, stringsIn } from "../economy/lines.mjs";
import { SPAN, spansOf } from "../economy/spans.mjs";
import { identifiersIn } from "../economy/versions.mjs";
import { piecesOf } from "./pieces.mjs";
import { Shown } from "./shown.mjs";

/** Counts by class of a session of at most `maxCalls` answers: `{ calls, spans, names, lines, memory }`. */
export function measure(messages, maxCalls = 400) {
  const all = { spans: new Spans(), names: new Names(), lines: new Lines(), memory: new Memory() };
  const calls = new Map();
  let now = 0;
  for (const message of messages) {
    const isAnswer = message.role === "assistant";
    if (isAnswer && now === maxCalls) break;
    const pieces = piecesOf(message, calls);
    for (const items of Object.values(all)) {
      if (isAnswer) items.answer(message, pieces, now);
      else items.show(pieces, now);
    }
    if (isAnswer) now += 1;
  }
  const settled = Object.entries(all).map(([name, { shown }]) => [name, shown.settled(now)]);
  return { calls: now, ...Object.fromEntries(settled) };
}

/** Spans wherever they begin, weighed by tokens. */
class Spans {
  shown = new Shown();

  answer(message, pieces, now) {
    for (const span of spansOf(message)) this.shown.need(span, now);
    this.show(pieces, now + 1);
  }

  show(pieces, now) {
    for (const { kind, text } of pieces) {
      const weight = counting.countTokens(text) / text.length;
      for (let at = 0; at + SPAN <= text.length; at += 1)
        this.shown.show(text.slice(at, at + SPAN), kind, { now, weight });
    }
  }
}

/** Names of 8 characters or more: those nobody used age from when they were shown, others from their use. */
class Names {
  shown = new Shown();
  #mentioned = new Set();
  #lastUse = new Map();

  answer(_, pieces, now) {
    for (const name of new Set(pieces.flatMap(({ text }) => identifiersIn(text)))) {
      this.shown.need(name, now);
      this.#lastUse.set(name, now + 1);
      this.#show(name, (this.shown.uses(name) ?? 0) + 1, now + 1);
    }
  }

  show(pieces, now) {
    for (const { kind, text } of pieces) {
      for (const name of new Set(identifiersIn(text))) {
        if (kind === "user text") this.#mentioned.add(name);
        this.#show(name, this.shown.uses(name) ?? 0, now);
      }
    }
  }

  #show(name, uses, now) {
    const used = ["used once", "used more"][Math.min(uses, 2) - 1];
    const by = used ?? (this.#mentioned.has(name) ? "mentioned" : "only in results");
    this.shown.show(name, by, { now, uses, since: this.#lastUse.get(name) ?? now });
  }
}

/** Lines that edits must quote, by who brought them; what an edit replaces is gone. */
class Lines {
  shown = new Shown();

  answer(_, pieces, now) {
    quote(this.shown, changesIn(pieces), now);
    this.show(pieces, now + 1);
  }

  show(pieces, now) {
    for (const piece of pieces) {
      const changes = changesIn([piece]).map((change) => change.new);
      const given = piece.call === undefined ? [piece.text] : stringsIn(piece.call.arguments);
      for (const line of linesOf(...(changes.length > 0 ? changes : given)))
        this.shown.show(line, piece.kind, { now });
    }
  }
}

/** Lines of read results that edits must quote, by whether anything was edited since: their age counts from the first such edit. */
class Memory {
  shown = new Shown();
  #unedited = new Set();

  answer(_, pieces, now) {
    const changes = changesIn(pieces);
    if (changes.length === 0) return;
    for (const line of quote(this.shown, changes, now)) this.#unedited.delete(line);
    for (const line of this.#unedited) this.shown.show(line, "read result, edited since", { now: now + 1 });
    this.#unedited.clear();
    for (const line of linesOf(...changes.map((change) => change.new))) this.shown.hide(line, now + 1);
  }

  show(pieces, now) {
    const read = pieces.filter(({ kind }) => kind === "read result").map(({ text }) => text);
    for (const line of linesOf(...read)) {
      this.#unedited.add(line);
      this.shown.show(line, "read result, not edited since", { now });
    }
  }
}

/** Lines that edits replace: they were needed, and are gone. */
function quote(shown, changes, now) {
  const quoted = linesOf(...changes.map(({ old }) => old));
  for (const line of quoted) {
    shown.need(line, now);
    shown.hide(line, now + 1);
  }
  return quoted;
}

function changesIn(pieces) {
  return pieces.flatMap(({ call }) => (call === undefined ? [] : changesOf(call)));
}
