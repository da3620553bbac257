// What the measure knows of each version of a message: its size and the identifiers a model can read in it.

import counting from "../../count.js";

/** Provider tokens of a message: cl100k undercounts Claude by about 1.27, and each message has a frame of 4. */
const SCALE = 1.27;
const FRAME_TOKENS = 4;

const IDENTIFIER = /[A-Za-z_$][\w$]*(?:[./:-][\w$]+)*/g;
const IDENTIFIER_MIN_CHARS = 8;
const IDENTIFIER_MAX_CHARS = 120;

/** Versions of messages; two messages with the same content share one. */
export class Versions {
  #ofObject = new WeakMap();
  #ofContent = new Map();

  /** The version of `message`: `{ tokens, identifiers }`. Equal content, the same object. */
  of(message) {
    let version = this.#ofObject.get(message);
    if (version === undefined) {
      version = this.#byContent(message);
      this.#ofObject.set(message, version);
    }
    return version;
  }

  #byContent(message) {
    const { role, content, toolCallId, timestamp } = message;
    const key = JSON.stringify([role, content, toolCallId, timestamp]);
    let version = this.#ofContent.get(key);
    if (version === undefined) {
      version = {
        tokens: tokensOf(message),
        identifiers: identifiersOf(message),
        userTokens: userTokens(message),
      };
      this.#ofContent.set(key, version);
    }
    return version;
  }
}

/** Every message counts, sent or not: the measure is about what a policy hands over. */
function tokensOf(message) {
  return SCALE * (counting.countTokens({ ...message, stopReason: undefined }) + FRAME_TOKENS);
}

function userTokens(message) {
  return message.role === "user" ? counting.countTokens(message) : 0;
}

/** Distinct identifiers of 8 to 120 characters in what the message says, thinks, calls and returns. */
export function identifiersOf(message) {
  const found = new Set();
  for (const text of textsOf(message.content)) {
    for (const [identifier] of text.matchAll(IDENTIFIER)) {
      if (identifier.length >= IDENTIFIER_MIN_CHARS && identifier.length <= IDENTIFIER_MAX_CHARS)
        found.add(identifier);
    }
  }
  return found;
}

function textsOf(content) {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block) => [
    ...[block.text, block.thinking, block.name].filter((text) => typeof text === "string"),
    ...stringsIn(block.arguments),
  ]);
}

function stringsIn(value) {
  const strings = [];
  const open = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next === "string") strings.push(next);
    else if (typeof next === "object" && next !== null) open.push(...Object.values(next));
  }
  return strings;
}
