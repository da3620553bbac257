// A recorded session as the command line plays it: every recorded call with the messages that the model had before it.

import { countsOf } from "../../bill/prices.js";
import counting from "../../tools/count.js";

export class Recording {
  /** Every recorded call, in order: `{ number, at, stretch }`, its number from 1, its answer's number, and its stretch. */
  calls;
  #messages;
  #tokens = [];

  /** What `readLines` returns. */
  constructor({ timeline, format, problems, unplayed, times }) {
    this.#messages = timeline.messages;
    this.format = format;
    /** `{ line, message }` of each line that could not be read. */
    this.problems = problems;
    this.stretches = timeline.stretches;
    /** Recorded calls that are not played, in words, with how many there are. */
    this.unplayed = {
      "on branches that were left": unplayed.abandoned ?? 0,
      "made by sub-agents": unplayed.subAgents ?? 0,
    };
    /** `warmedAt` and `coldAt`, in ms, as the hook takes them. */
    this.times = { warmedAt: times.warmedAt ?? [], coldAt: times.coldAt ?? [] };
    this.calls = callsIn(timeline.answers, timeline.stretches);
  }

  /** Number of messages; theirs begin at 0. */
  get length() {
    return this.#messages.length;
  }

  message(number) {
    return this.#messages[number];
  }

  /** cl100k tokens of a message, counted once. */
  tokens(number) {
    this.#tokens[number] ??= counting.countTokens(this.message(number));
    return this.#tokens[number];
  }

  /** Prompt tokens that the provider reported for a call; undefined if it did not. */
  reported({ at }) {
    return countsOf(this.message(at).usage)?.prompt;
  }

  /** The messages that the next call would have. */
  get messages() {
    return this.messagesIn(this.stretches.length - 1);
  }

  /** The messages of a whole stretch, its opening first. */
  messagesIn(stretch) {
    return this.#upTo(stretch, this.stretches[stretch].to).map((number) => this.message(number));
  }

  /** Numbers of the messages before a call. */
  numbersBefore({ at, stretch }) {
    return this.#upTo(stretch, at);
  }

  /** The messages before a call. */
  messagesBefore(call) {
    return this.numbersBefore(call).map((number) => this.message(number));
  }

  #upTo(stretch, end) {
    const { opening, from } = this.stretches[stretch];
    return [...opening, ...Array.from({ length: end - from }, (_, i) => from + i)];
  }
}

/** One call per answer that has a message before it. */
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
