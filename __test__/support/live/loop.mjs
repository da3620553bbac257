// The closed loop: a host that sends what the hook hands back to a simulated provider and writes down what that one
// reports. Judges nothing.

import hook from "../../../lib/hook/hook.js";
import { recordingOf } from "../recordings.mjs";
import { commonRun } from "./same.mjs";
import { isSent } from "./sizes.mjs";

const NO_USAGE = Object.freeze({ input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0 });

/** One conversation. Its host may change `messages` between calls, as hosts do. */
export class Loop {
  messages = [];
  calls = 0;
  #provider;
  #transform;
  #events = [];
  #last = [];
  #tell;
  #view;
  #endsAtRefusal;
  #words;

  /**
   * @param provider a `Provider`
   * @param options those of `createTransformContext`
   * @param more.tell what is reported in place of the honest usage: `(usage, answer) => usage`
   * @param more.view what the hook is given in place of `messages` themselves
   * @param more.endsAtRefusal whether a refused request gets no answer, as in pi; else the conversation goes on as recorded
   * @param more.words of a refusal, by the tokens of the prompt and the window
   * @param more.makeHook what makes the hook, in place of `createTransformContext`
   */
  constructor(provider, options, more = {}) {
    const { tell = (usage) => usage, view = (messages) => messages } = more;
    const { endsAtRefusal = false, makeHook = hook.createTransformContext } = more;
    const { words = (tokens, window) => `prompt is too long: ${tokens} tokens > ${window} maximum` } = more;
    this.#endsAtRefusal = endsAtRefusal;
    this.#words = words;
    this.#provider = provider;
    this.#tell = tell;
    this.#view = view;
    const contextWindow = () => provider.contextWindow;
    const onEvent = (event) => this.#events.push(event);
    this.#transform = makeHook({ contextWindow, ...options, onEvent });
  }

  get provider() {
    return this.#provider;
  }

  /** Sends what there is and adds `answer`, an assistant message, with the usage of this request. */
  async call(answer) {
    const { messages } = this;
    this.#events = [];
    this.calls += 1;
    const given = this.#view(messages);
    const sent = await this.#transform(given);
    const { model } = answer;
    const timeMs = messages.at(-1)?.timestamp ?? answer.timestamp ?? 0;
    const isLost = !isSent(answer);
    const reply = this.#provider.receive(sent, { model, timeMs, isLost });
    const unchanged = commonRun(sent, this.#last);
    const record = this.#record({ model, given, sent, reply, unchanged, before: this.#last });
    this.#last = sent.slice();
    const added = this.#answered(answer, reply, isLost);
    messages.push(added);
    return { ...record, isLost, usage: added.usage };
  }

  #answered(answer, reply, isLost) {
    if (isLost || (reply.isRefused && !this.#endsAtRefusal)) return { ...answer, usage: NO_USAGE };
    if (reply.isRefused) {
      const errorMessage = this.#words(reply.tokens, this.#provider.contextWindow);
      return { ...answer, content: [], usage: NO_USAGE, stopReason: "error", errorMessage };
    }
    const usage = this.#provider.usageOf(answer, reply, answer.model);
    return { ...answer, usage: this.#tell(usage, answer) };
  }

  #record({ model, given, sent, reply, unchanged, before }) {
    const events = this.#events;
    const { tokensAfter, schedule, reason } = events.find(({ type }) => type === "transformed") ?? {};
    return {
      call: this.calls,
      model,
      given: given === this.messages ? given.slice() : given,
      sent: sent === this.messages ? sent.slice() : sent,
      before,
      /** Messages at the beginning that are the same as in the last request. */
      unchanged,
      prompt: reply.tokens,
      readTokens: reply.read,
      isRefused: reply.isRefused,
      estimate: tokensAfter,
      schedule,
      reason,
      saysOverflow: events.some(({ type }) => type === "contextOverflow"),
      failure: events.find(({ type }) => type === "failed")?.message,
      events,
    };
  }
}

/**
 * Plays a recording, or a list of messages: what was said is said again, its usage is not looked at. Where the list was
 * changed when it was recorded, by a compaction or a branch, it is changed so again. `beforeCall()` is the host's chance
 * to change it otherwise, `onChange()` is told of the changes that were recorded.
 */
export async function* play(session, loop, { beforeCall, onChange } = {}) {
  const recording = recordingOf(session);
  const said = new Map();
  for (const [stretch, { opening, from, to }] of recording.stretches.entries()) {
    if (stretch > 0) {
      loop.messages = opening.map((number) => said.get(number) ?? unheard(recording.all[number]));
      onChange?.();
    }
    for (let number = from; number < to; number += 1) {
      const message = copyOf(recording, number, to);
      if (message.role === "assistant" && loop.messages.length > 0) {
        beforeCall?.();
        yield await loop.call(message);
      } else loop.messages.push(unheard(message));
      said.set(number, loop.messages.at(-1));
    }
  }
}

/** A message as it stands in the live list although no call of the loop made it. */
function unheard(message) {
  return message.role === "assistant" ? { ...message, usage: NO_USAGE } : { ...message };
}

/** In a conversation that goes on live nothing is newer than what comes next, as the summary is that opens a recording. */
function copyOf(recording, number, end) {
  const message = { ...recording.all[number] };
  const next = number + 1 < end ? recording.all[number + 1].timestamp : undefined;
  return message.timestamp > next ? { ...message, timestamp: next } : message;
}
