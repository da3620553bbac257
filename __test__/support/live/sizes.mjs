// How large messages are to a provider: every kind of block by itself, in cl100k tokens and images. It counts what it is
// handed and knows nothing of how the hook estimates.

import contract from "../../../lib/contract.js";
import counting from "../../../lib/tools/count.js";

const NOTHING = Object.freeze({ tokens: 0, images: 0 });

/** True for messages that pi hands to the provider at all. */
export function isSent(message) {
  return !contract.UNSENT_STOP_REASONS.has(message.stopReason) && message.excludeFromContext !== true;
}

/** Sizes of messages, each text counted once. */
export class Sizes {
  #ofMessage = new WeakMap();
  #ofBlock = new WeakMap();
  #ofText = new Map();

  /** `{ tokens, images }` of a message; nothing for one that pi does not send. */
  of(message) {
    let size = this.#ofMessage.get(message);
    if (size === undefined) {
      size = isSent(message) ? this.#count(message) : NOTHING;
      this.#ofMessage.set(message, size);
    }
    return size;
  }

  /** To be called after a message was changed in place. */
  forget(message) {
    this.#ofMessage.delete(message);
    if (Array.isArray(message.content)) for (const block of message.content) this.#ofBlock.delete(block);
  }

  #count({ role, content, sections, toolsAdded, command, output, summary }) {
    let tokens = 0;
    let images = 0;
    if (typeof content === "string") tokens += this.#text(content);
    else if (Array.isArray(content)) {
      for (const block of content) {
        if (block?.type === "image") images += 1;
        else tokens += this.#block(block);
      }
    }
    if (role === "system") tokens += this.#json(sections) + this.#json(toolsAdded);
    if (role === "bashExecution") tokens += this.#text(command) + this.#text(output);
    if (role === "compactionSummary" || role === "branchSummary") tokens += this.#text(summary);
    return { tokens, images };
  }

  #block(block) {
    if (typeof block !== "object" || block === null) return 0;
    let tokens = this.#ofBlock.get(block);
    if (tokens === undefined) {
      tokens = this.#countBlock(block);
      this.#ofBlock.set(block, tokens);
    }
    return tokens;
  }

  #countBlock(block) {
    if (block.type === "text") return this.#text(block.text);
    if (block.type === "thinking") return this.#text(block.thinking);
    if (block.type === "toolCall") return this.#text(block.name) + this.#json(block.arguments);
    return 0;
  }

  #json(value) {
    if (value === undefined) return 0;
    return this.#text(typeof value === "string" ? value : JSON.stringify(value));
  }

  #text(text) {
    if (typeof text !== "string" || text === "") return 0;
    let tokens = this.#ofText.get(text);
    if (tokens === undefined) {
      tokens = counting.countTokens(text);
      this.#ofText.set(text, tokens);
    }
    return tokens;
  }
}
