// Generated sessions as a model's provider sees them: written by one author with turns of another, with signed and
// sealed thinking, parallel calls, images, failed, aborted, cut off and interrupted messages, and an app's own roles.
// What is generated is what pi leaves on disk at the moment of a request.

import fc from "fast-check";
import { authors } from "./authors.mjs";

const line = fc.oneof(
  fc.string({ maxLength: 80 }),
  fc.constantFrom("", "error: 未找到文件", "x".repeat(700), "😀".repeat(300), "  at run (src/a.js:1:2)"),
);
const shortText = fc.string({ minLength: 1, maxLength: 60 }).map((text) => `t${text}`);
const longText = fc.array(line, { minLength: 1, maxLength: 40 }).map((lines) => `>${lines.join("\n")}`);

const image = fc.constant({ type: "image", data: "AAAA", mimeType: "image/png" });
const textBlock = (text) => text.map((value) => ({ type: "text", text: value }));
const usage = fc.record(
  { input: fc.nat(1000), output: fc.nat(1000), cacheRead: fc.constant(0), cacheWrite: fc.nat(1000) },
  { noNullPrototype: true },
);

const userMessage = fc
  .oneof(shortText, fc.array(fc.oneof(textBlock(shortText), image), { minLength: 1, maxLength: 2 }))
  .map((content) => [{ role: "user", content }]);

const customMessage = shortText.map((content) => [
  { role: "custom", customType: "note", content, display: true },
]);

/** What an assistant message thinks and says, and what its calls bring. `undefined` is a sealed thought. */
const sketch = (calls) =>
  fc.record({
    thoughts: fc.array(fc.option(shortText, { nil: undefined, freq: 5 }), { maxLength: 2 }),
    says: fc.array(shortText, { maxLength: 1 }),
    results: fc.array(
      fc.array(fc.oneof({ weight: 6, arbitrary: textBlock(longText) }, image), {
        minLength: 1,
        maxLength: 2,
      }),
      calls,
    ),
    isError: fc.boolean(),
    usage: fc.tuple(usage, fc.nat(1000)).map(([paid, cacheRead]) => ({ ...paid, cacheRead })),
  });

/** How a turn ends: with a last word, failed or cut off in mid-word, or the user cut in while tools were running. */
const ending = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(fc.constant("stop"), sketch({ maxLength: 0 })) },
  fc.tuple(fc.constant("length"), sketch({ maxLength: 0 })),
  fc.tuple(fc.constantFrom("error", "aborted"), sketch({ maxLength: 2 })),
  fc.tuple(fc.constant("interrupted"), sketch({ minLength: 1, maxLength: 3 })),
);

const bashExecution = fc
  .record({ output: longText, excludeFromContext: fc.boolean() })
  .map((more) => [{ role: "bashExecution", command: "ls", exitCode: 0, cancelled: false, ...more }]);
const branchSummary = shortText.map((summary) => [{ role: "branchSummary", summary, fromId: "b" }]);

/** What an app puts in by itself, and pi sends as the user's words. */
const longNote = longText.map((content) => [{ role: "custom", customType: "note", content, display: true }]);

/** A turn as far as its last step, with at most so many messages of the user's side behind each. */
const openTurn = (maxLength) => ({
  question: userMessage,
  steps: fc.array(
    fc.record({
      step: sketch({ minLength: 1, maxLength: 4 }),
      steering: fc.array(fc.oneof(userMessage, customMessage, longNote), { maxLength }),
      handsOver: fc.boolean(),
    }),
    { maxLength: 8 },
  ),
  isForeign: fc.nat(5).map((n) => n === 0),
});
const closedTurn = {
  ...openTurn(1),
  ending,
  after: fc.array(fc.oneof(customMessage, branchSummary, bashExecution), { maxLength: 1 }),
};

/** The same where the user and the model speak in turn, mostly. */
const lastWord = sketch({ maxLength: 0 }).map((sketch) => ({
  ...sketch,
  says: ["It is done.", ...sketch.says],
}));
const orderlyTurn = {
  ...openTurn(0),
  ending: fc.oneof({ weight: 9, arbitrary: fc.tuple(fc.constant("stop"), lastWord) }, ending),
  after: fc.constant([]),
};

/**
 * A session at the moment of a request to `author`; it ends on the user's words or on results.
 *
 * @param options.prompt the messages of role `system` that open it, as pi has them from 0.86 on
 * @param options.promptChange those that come before the last turn
 */
export const conversation = (author, { prompt = [], promptChange = [] } = {}) =>
  fc
    .record({
      summary: fc.array(
        shortText.map((summary) => ({ role: "compactionSummary", summary, tokensBefore: 1 })),
        { maxLength: 1 },
      ),
      closed: fc.array(fc.record(author.speaksInTurn ? orderlyTurn : closedTurn), { maxLength: 4 }),
      open: fc.record(openTurn(author.speaksInTurn ? 0 : 1)),
      foreigner: fc.constantFrom(...authors.filter((other) => other !== author)),
    })
    .map(({ summary, closed, open, foreigner }) => {
      const scribe = new Scribe();
      scribe.add(...prompt, ...summary);
      const writers = ({ isForeign }) => (isForeign ? [foreigner, author] : [author, foreigner]);
      for (const turn of closed) {
        const last = scribe.addTurn(writers(turn), turn);
        scribe.addEnding(last, ...turn.ending);
        scribe.add(...turn.after.flat());
      }
      scribe.add(...promptChange);
      scribe.addTurn(writers(open), open);
      return scribe.messages;
    });

/** Writes sketches down as messages, with ids and times of their own. */
class Scribe {
  messages = [];
  #written = 0;

  add(...messages) {
    for (const message of messages) this.messages.push({ ...message, timestamp: this.#now() });
  }

  /**
   * The question, the calls with all that they bring, and what the user says meanwhile; then the next model may take
   * over. Returns the one that wrote last.
   */
  addTurn([author, next], { question, steps }) {
    this.add(...question);
    let writer = author;
    for (const { step, steering, handsOver } of steps) {
      const { content, answers } = this.#write(writer, step);
      this.#addAssistant(writer, content, step, "toolUse");
      this.add(...answers, ...steering.flat());
      if (handsOver && steering.length > 0) writer = next;
    }
    return writer;
  }

  addEnding(author, kind, sketch) {
    const { content, answers } = this.#write(author, sketch);
    if (kind !== "interrupted") return this.#addAssistant(author, content, sketch, kind);
    this.#addAssistant(author, content, sketch, "toolUse");
    this.add(...answers.slice(1));
  }

  #addAssistant({ api, provider, model }, content, { usage }, stopReason) {
    if (content.length === 0 && stopReason !== "error" && stopReason !== "aborted") return;
    this.add({ role: "assistant", content, api, provider, model, usage, stopReason });
  }

  #write(author, { thoughts, says, results, isError }) {
    const hasThought = thoughts.length > 0 || (author.thinks === "always" && results.length > 0);
    const thinking = author.thinks !== "never" && hasThought ? (thoughts.length > 0 ? thoughts : ["hm"]) : [];
    // A model that thought goes on to say or to do something.
    const words = says.length === 0 && results.length === 0 && thinking.length > 0 ? ["done"] : says;
    const calls = results.map((_, i) => {
      const name = i === 1 ? "bash" : "read";
      const n = this.#number();
      return author.call(n, name, { path: `src/file${n}.rs` }, i === 0);
    });
    const content = [
      ...thinking.map((text) =>
        text === undefined ? author.sealed(this.#number()) : author.thinking(text, this.#number()),
      ),
      ...words.map((text) => author.text(text, this.#number())),
      ...calls,
    ];
    const answers = calls.map(({ id, name }, i) => ({
      role: "toolResult",
      toolCallId: id,
      toolName: name,
      content: results[i],
      isError,
      details: { kept: i },
    }));
    return { content, answers };
  }

  #number() {
    this.#written += 1;
    return this.#written;
  }

  #now() {
    return 1_700_000_000_000 + 1000 * this.messages.length;
  }
}
