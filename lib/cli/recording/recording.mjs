// A recorded session as the command line plays it: every recorded call with the messages that the model had before it. Messages
// are numbered from 0 in the order they came. The host rewrote the past between two stretches.

import { countsOf } from "../../bill/prices.js";
import counting from "../../tools/count.js";

export class Recording {
  /** Every recorded call, in order: `{ number, at, stretch }`, its number from 1, its answer's number, and its stretch. */
  calls = [];
  /** At least one. `opening` has the numbers of the messages it begins with; `from` to `to` came in it. */
  stretches = [{ cause: "start", opening: [], from: 0, to: 0 }];
  /** `{ line, message }` of each line that could not be read. */
  problems = [];
  #messages = [];
  #tokens = [];

  /** `abandoned` and `subAgents` are the numbers of recorded calls that are not played. */
  constructor(format, { abandoned = 0, subAgents = 0, times = { warmedAt: [], coldAt: [] } } = {}) {
    this.format = format;
    this.unplayed = { "on abandoned branches": abandoned, "made by sub-agents": subAgents };
    /** `warmedAt` and `coldAt`, in ms, as the hook takes them. */
    this.times = times;
  }

  /** Appends a message to the current stretch; returns its number. An answer with a message before it is a call. */
  push(message) {
    const stretch = this.stretches.length - 1;
    const at = this.pushAside(message);
    const { opening, from } = this.stretches[stretch];
    if (message.role === "assistant" && opening.length + at - from > 0)
      this.calls.push({ number: this.calls.length + 1, at, stretch });
    this.stretches[stretch].to = at + 1;
    return at;
  }

  /** Adds a message for the opening of the stretch that `cut` begins; returns its number. */
  pushAside(message) {
    return this.#messages.push(message) - 1;
  }

  /** Begins a stretch. An empty one before it is dropped. */
  cut(cause, opening) {
    const from = this.length;
    const last = this.stretches.at(-1);
    if (last.from === last.to) this.stretches.pop();
    this.stretches.push({ cause, opening, from, to: from });
  }

  /** Number of messages. */
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
    return this.messagesBefore({ stretch, at: this.stretches[stretch].to });
  }

  /** The messages before a call. */
  messagesBefore(call) {
    return this.numbersBefore(call).map((number) => this.message(number));
  }

  /** Numbers of the messages before a call. */
  numbersBefore({ at, stretch }) {
    const { opening, from } = this.stretches[stretch];
    return [...opening, ...Array.from({ length: at - from }, (_, i) => from + i)];
  }
}
