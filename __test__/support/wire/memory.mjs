// What a provider remembers of its own answers and holds a later request to: the thinking that it wrote.

import { isDeepStrictEqual } from "node:util";
import { BINDING_MODEL, blocksOf, callIds, isInToolLoop, isThinking, uncached } from "./anthropic.mjs";

/**
 * Anthropic's memory: thinking comes back as it was written, and at all while its tools run. Where a model binds it to what
 * stood before it, only as long as that is the same.
 */
export class MessagesMemory {
  /** `{ thinking, prefix, ids }` by signature: what stood before it, and the ids of the calls behind it. */
  #written = new Map();

  note({ messages }, { thinking, signature, calls }) {
    if (!thinking) return;
    const ids = String(calls.map(({ id }) => id));
    this.#written.set(signature, { thinking, prefix: messages.map(uncached), ids });
  }

  problems(body) {
    return [...this.#changed(body), ...this.#missing(body)];
  }

  #changed(body) {
    return body.messages.flatMap((message, at) =>
      blocksOf(message)
        .filter(isThinking)
        .flatMap(({ thinking, signature }) => {
          const written = this.#written.get(signature);
          if (written?.thinking !== thinking) return [`thinking ${signature} was changed`];
          return isBound(body, at, written) ? [] : [`what stood before thinking ${signature} was changed`];
        }),
    );
  }

  #missing(body) {
    const at = body.messages.findLastIndex(({ role }) => role === "assistant");
    const latest = body.messages[at];
    if (latest === undefined || !isInToolLoop(body, latest) || blocksOf(latest).some(isThinking)) return [];
    const ids = String(callIds(latest));
    const written = [...this.#written.values()].findLast((one) => one.ids === ids);
    const isDue = written !== undefined && isBound(body, at, written);
    return isDue ? ["the thinking of the step under way is missing"] : [];
  }
}

/** True if the first `end` messages are those that `written` was bound to. */
function isBound({ model, messages }, end, { prefix }) {
  return !BINDING_MODEL.test(model) || isDeepStrictEqual(messages.slice(0, end).map(uncached), prefix);
}

/** The memory of services that speak OpenAI's protocol: a call comes back with the reasoning it was written with. */
export class ChatMemory {
  #written = new Set();

  note(_body, { thinking, calls }) {
    if (thinking) this.#written.add(`${calls.map(({ id }) => id)} ${thinking}`);
  }

  problems({ messages }) {
    return messages.flatMap(({ tool_calls: calls = [], reasoning_content: thinking }) => {
      const ids = String(calls.map(({ id }) => id));
      const isKnown = calls.length === 0 || !thinking || this.#written.has(`${ids} ${thinking}`);
      return isKnown ? [] : [`the reasoning of ${ids} was changed`];
    });
  }
}
