// The closed loop: a host that sends what the hook hands back to a simulated provider and writes down what that one
// reports. Judges nothing.

import hook from "../../hook.js";
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

  /**
   * @param provider a `Provider`
   * @param options those of `createTransformContext`
   * @param more.tell what is reported in place of the honest usage: `(usage, answer) => usage`
   * @param more.view what the hook is given in place of `messages` themselves
   * @param more.endsAtRefusal whether a refused request gets no answer, as in pi; else the conversation goes on as recorded
   * @param more.makeHook what makes the hook, in place of `createTransformContext`
   */
  constructor(provider, options, more = {}) {
    const { tell = (usage) => usage, view = (messages) => messages } = more;
    const { endsAtRefusal = false, makeHook = hook.createTransformContext } = more;
    this.#endsAtRefusal = endsAtRefusal;
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
      const errorMessage = `prompt is too long: ${reply.tokens} tokens > ${this.#provider.contextWindow} maximum`;
      return { ...answer, content: [], usage: NO_USAGE, stopReason: "error", errorMessage };
    }
    const usage = this.#provider.usageOf(answer, reply, answer.model);
    return { ...answer, usage: this.#tell(usage, answer) };
  }

  #record({ model, given, sent, reply, unchanged, before }) {
    const events = this.#events;
    const { tokensBefore, tokensAfter, schedule, reason, blockedMs, totalMs } =
      events.find(({ type }) => type === "transformed") ?? {};
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
      estimateBefore: tokensBefore,
      schedule,
      reason,
      blockedMs,
      totalMs,
      saysOverflow: events.some(({ type }) => type === "contextOverflow"),
      failure: events.find(({ type }) => type === "failed")?.message,
      events,
    };
  }
}

/**
 * Plays a recorded conversation: its messages are what is said, its usage is not looked at. `beforeCall()` is
 * the host's chance to change the list.
 */
export async function* play(messages, loop, beforeCall) {
  for (const message of inTimesOrder(messages)) {
    if (message.role === "assistant" && loop.messages.length > 0) {
      await beforeCall?.();
      yield await loop.call(message);
    } else {
      loop.messages.push(message.role === "assistant" ? { ...message, usage: NO_USAGE } : message);
    }
  }
}

/** In a conversation that goes on live nothing is older than what came before: a summary that is, is as old as what follows. */
function inTimesOrder(messages) {
  let next = Number.POSITIVE_INFINITY;
  return messages
    .toReversed()
    .map((message) => {
      if (message.timestamp > next) return { ...message, timestamp: next };
      next = message.timestamp ?? next;
      return message;
    })
    .reverse();
}
