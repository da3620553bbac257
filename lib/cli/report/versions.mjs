// Versions of messages: messages with the same content share one, as they share a place in a provider's cache.

import { createHash } from "node:crypto";
import counting from "../../tools/count.js";

export class Versions {
  #make;
  #ofMessage = new WeakMap();
  #ofContent = new Map();

  /** @param make Returns the version of a new message; it has at least `counted`, its cl100k tokens. */
  constructor(make = (message) => ({ counted: counting.countTokens(message) })) {
    this.#make = make;
  }

  /** The version of `message`, which must never change. Equal content gives the same object. */
  of(message) {
    const known = this.#ofMessage.get(message);
    if (known !== undefined) return known;
    const { role, content, toolCallId, timestamp } = message;
    // The key is a digest: the text of a recording may be larger than memory.
    const text = JSON.stringify([role, content, toolCallId, timestamp]);
    const key = createHash("sha1").update(text).digest("base64");
    const version = this.#ofContent.get(key) ?? this.#make(message);
    this.#ofContent.set(key, version);
    this.#ofMessage.set(message, version);
    return version;
  }
}
