// How large messages are to a provider, in cl100k tokens and images. It knows nothing of how the hook estimates.

import contract from "../../../lib/contract.js";
import counting from "../../../lib/tools/count.js";

const isImage = (block) => block?.type === "image";

/** True for messages that pi hands to the provider at all. */
export function isSent(message) {
  return !contract.UNSENT_STOP_REASONS.has(message.stopReason) && message.excludeFromContext !== true;
}

/** Sizes of messages, each counted once. */
export class Sizes {
  #ofMessage = new WeakMap();

  /** `{ tokens, images }` of a message; nothing for one that pi does not send. */
  of(message) {
    let size = this.#ofMessage.get(message);
    if (size === undefined) {
      const blocks = Array.isArray(message.content) ? message.content : [];
      const text = { ...message, ...(blocks.length > 0 && { content: blocks.filter((b) => !isImage(b)) }) };
      const images = isSent(message) ? blocks.filter(isImage).length : 0;
      size = { tokens: counting.countTokens(text), images };
      this.#ofMessage.set(message, size);
    }
    return size;
  }

  /** To be called after a message was changed in place. */
  forget(message) {
    this.#ofMessage.delete(message);
  }
}
