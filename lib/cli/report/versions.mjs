// Versions of messages: two messages with the same content share one, as they would share a place in a provider's cache.

import { createHash } from "node:crypto";
import counting from "../../tools/count.js";

export class Versions {
  #make;
  #ofMessage = new WeakMap();
  #ofContent = new Map();

  /** @param make makes the version of a message that was not seen before; it has at least `counted`, cl100k tokens. */
  constructor(make = (message) => ({ counted: counting.countTokens(message) })) {
    this.#make = make;
  }

  /** The version of `message`, which never changes. Equal content, the same object. */
  of(message) {
    const known = this.#ofMessage.get(message);
    if (known !== undefined) return known;
    const { role, content, toolCallId, timestamp } = message;
    // A digest, as the text of a recording may be larger than memory.
    const text = JSON.stringify([role, content, toolCallId, timestamp]);
    const key = createHash("sha1").update(text).digest("base64");
    const version = this.#ofContent.get(key) ?? this.#make(message);
    this.#ofContent.set(key, version);
    this.#ofMessage.set(message, version);
    return version;
  }
}
