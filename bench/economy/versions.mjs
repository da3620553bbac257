// What the measure knows of each version of a message: its size, and the identifiers and lines a model can read in it.

import { Versions as Identities } from "../../lib/cli/report/play.mjs";
import counting from "../../lib/tools/count.js";
import { addLines, bareLine, stringsIn } from "./lines.mjs";

/** Provider tokens of a message: cl100k undercounts Claude by about 1.27, and each message has a frame of 4. */
export const SCALE = 1.27;
const FRAME_TOKENS = 4;

const IDENTIFIER = /[A-Za-z_$][\w$]*(?:[./:-][\w$]+)*/g;
const IDENTIFIER_MIN_CHARS = 8;
const IDENTIFIER_MAX_CHARS = 120;

/** Chinese, Japanese and Korean write no spaces between words: every four characters in a row stand for one. */
const CJK_RUN = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]{4,}/gu;
const CJK_CHARS = 4;
const CJK_START = /^[\u0300-\uffff]/;

/** Versions that know what a model can read in them. */
export class Versions extends Identities {
  constructor() {
    super((message) => new Version(message));
  }
}

class Version {
  #texts;
  #realIdentifiers;

  constructor(message) {
    this.#texts = textsOf(message.content);
    this.tokens = tokensOf(message);
    /** cl100k tokens, as the engine counts: none for what pi does not send. */
    this.counted = counting.countTokens(message);
    this.identifiers = new Set(this.#texts.flatMap(identifiersIn));
    this.lines = new Set();
    for (const text of this.#texts) addLines(text, this.lines);
    this.userTokens = userTokens(message);
    /** Set for messages as they were recorded: then all their lines occurred. */
    this.isRecorded = false;
  }

  /** All its lines, short ones too, as `bareLine` leaves them. */
  bareLines() {
    return this.#texts.flatMap((text) => text.split("\n")).map(bareLine);
  }

  /** Identifiers in lines of it that are among `real`; an index of names shows none. */
  identifiersInLines(real) {
    if (this.isRecorded) return this.identifiers;
    this.#realIdentifiers ??= new Set(
      this.bareLines()
        .filter((line) => real.has(line))
        .flatMap(identifiersIn),
    );
    return this.#realIdentifiers;
  }
}

/** Every message counts, sent or not: the measure is about what a policy hands over. */
function tokensOf(message) {
  return SCALE * (counting.countTokens({ ...message, stopReason: undefined }) + FRAME_TOKENS);
}

function userTokens(message) {
  return message.role === "user" ? counting.countTokens(message) : 0;
}

/** The look of an identifier: `cjk`, `path`, `word` or `name`. */
export function kindOf(identifier) {
  if (CJK_START.test(identifier)) return "cjk";
  if (identifier.includes("/")) return "path";
  return /^[a-z]+$/.test(identifier) ? "word" : "name";
}

/** Identifiers of 8 to 120 characters. */
export function identifiersIn(text) {
  const found = [];
  for (const [identifier] of text.matchAll(IDENTIFIER)) {
    if (identifier.length >= IDENTIFIER_MIN_CHARS && identifier.length <= IDENTIFIER_MAX_CHARS)
      found.push(identifier);
  }
  for (const [run] of text.matchAll(CJK_RUN)) {
    for (let at = 0; at + CJK_CHARS <= run.length; at += 1) found.push(run.slice(at, at + CJK_CHARS));
  }
  return found;
}

export function textsOf(content) {
  if (typeof content === "string") return [content];
  if (!Array.isArray(content)) return [];
  return content.flatMap((block) => [
    ...[block.text, block.thinking, block.name].filter((text) => typeof text === "string"),
    ...stringsIn(block.arguments),
  ]);
}
