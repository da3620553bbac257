// What the measure knows of each version of a message: its size, and what a model can read in it.

import { createHash } from "node:crypto";
import counting from "../../lib/tools/count.js";
import { addLines, callsIn, stringsIn } from "./lines.mjs";
import { wantedIn } from "./spans.mjs";

/** Provider tokens of a message: cl100k undercounts Claude by about 1.27, and each message has a frame of 4. */
export const SCALE = 1.27;
const FRAME_TOKENS = 4;

const IDENTIFIER = /[A-Za-z_$][\w$]*(?:[./:-][\w$]+)*/g;
const IDENTIFIER_MIN_CHARS = 8;
const IDENTIFIER_MAX_CHARS = 120;

/**
 * What the measure knows of each message; of spans it knows those that are `wanted`. Messages with the same content share a version,
 * as they share a place in a provider's cache. A message must never change.
 */
export class Versions {
  #wanted;
  #ofMessage = new WeakMap();
  #ofContent = new Map();

  constructor(wanted = new Set()) {
    this.#wanted = wanted;
  }

  of(message) {
    const known = this.#ofMessage.get(message);
    if (known !== undefined) return known;
    const { role, content, toolCallId, timestamp } = message;
    // The key is a digest: the text of a recording may be larger than memory.
    const text = JSON.stringify([role, content, toolCallId, timestamp]);
    const key = createHash("sha1").update(text).digest("base64");
    const version = this.#ofContent.get(key) ?? versionOf(message, this.#wanted);
    this.#ofContent.set(key, version);
    this.#ofMessage.set(message, version);
    return version;
  }
}

function versionOf(message, wanted) {
  const texts = textsOf(message.content);
  const lines = new Set();
  for (const text of texts) addLines(text, lines);
  return {
    tokens: tokensOf(message),
    identifiers: new Set(texts.flatMap(identifiersIn)),
    lines,
    spans: wantedIn(message, wanted),
    calls: callsIn(message).length,
    userTokens: message.role === "user" ? counting.countTokens(message) : 0,
  };
}

/** Every message counts, sent or not: the measure is about what a policy hands over. */
function tokensOf(message) {
  return SCALE * (counting.countTokens({ ...message, stopReason: undefined }) + FRAME_TOKENS);
}

/** Identifiers of 8 to 120 characters. */
export function identifiersIn(text) {
  const found = Array.from(text.matchAll(IDENTIFIER), ([identifier]) => identifier);
  return found.filter(({ length }) => length >= IDENTIFIER_MIN_CHARS && length <= IDENTIFIER_MAX_CHARS);
}

/** The names that are said most often in `texts`, as many as have at most `most` tokens together, a line each. */
export function commonestNames(texts, most, tokensOf) {
  const counts = new Map();
  for (const name of texts.flatMap(identifiersIn)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const kept = [];
  let left = most;
  for (const [name] of Array.from(counts).sort(([, a], [, b]) => b - a)) {
    left -= tokensOf(`${name}\n`);
    if (left < 0) break;
    kept.push(name);
  }
  return kept.join("\n");
}

export function textsOf(content) {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block) => [
    ...[block.text, block.thinking, block.name].filter((text) => typeof text === "string"),
    ...stringsIn(block.arguments),
  ]);
}
