// Encodings with js-tiktoken's methods and its rules for special tokens. JavaScript splits a text at special tokens; the native
// encoder encodes the text between them.
"use strict";

const { TextDecoder } = process.getBuiltinModule?.("node:util") ?? require("node:util");
const { attempt } = require("../helpers.js");
const { native } = require("../native/native.js");
const { show } = require("../options.js");
const { bytesOf, checked, decodeIds, decodeShort, encodeText } = require("./ids.js");
const { ENCODINGS, checkEncoding, encodingForName, numberOf } = require("./models.js");

const NONE = Object.freeze([]);
/** Shortest part of a text, UTF-16 units. A part ends at the next place that no piece crosses. */
const PART_UNITS = 1 << 15;
/** Tokens decoded at once. */
const TOKENS = 1 << 10;
/** Places where every pattern ends a piece: before a space, and before a line that does not begin with a slash. */
const SAFE_END = /[!-~](?= )|[!-~]\n(?=[!-.0-~])/g;

class Encoding {
  /** Such as "o200k_base". */
  name;
  #own;
  #extended;
  #isStrict;
  /** True for an encoding from a file. Its special tokens can be found by the native encoder. */
  #isLoaded;
  /** True if each special token begins with "<|", as OpenAI's do. */
  #isUsual;
  /** Ids of all special tokens by text, once read. */
  #special;
  /** Texts of the special tokens that the native decoder does not know, by id; null if there are none. */
  #texts;

  /** `special` replaces the encoding's own special tokens, ids by text. `extended` adds more. */
  constructor(name, { special, extended, isStrict = false } = {}) {
    this.name = name;
    this.#own = special;
    this.#extended = checkSpecial(extended);
    this.#isStrict = isStrict;
    this.#isLoaded = !ENCODINGS.includes(name);
    const given = Object.keys({ ...special, ...extended });
    this.#isUsual = !this.#isLoaded && given.every((text) => text.startsWith("<|"));
  }

  /** True if the engine's own scanner splits the text, false if a file's regular expression does. */
  get isFast() {
    return native().encodingIsFast(numberOf(this.name));
  }

  encode(text, allowedSpecial, disallowedSpecial) {
    const encoded = this.#encoded(text, allowedSpecial, disallowedSpecial);
    return Array.isArray(encoded) ? encoded : numbersOf(encoded);
  }

  encodeTyped(text, allowedSpecial, disallowedSpecial) {
    const encoded = this.#encoded(text, allowedSpecial, disallowedSpecial);
    return Array.isArray(encoded) ? Uint32Array.from(encoded) : encoded.ids.slice(0, encoded.count);
  }

  /** Returns what `encodeText` returns, or a list of tokens if the text holds special tokens. */
  #encoded(text, allowedSpecial, disallowedSpecial) {
    // A file states where its special tokens may occur, so the native encoder finds them.
    const isNative = this.#isLoaded && allowedSpecial === "all" && this.#extended === undefined;
    const isSure = isNative && namesNone(disallowedSpecial ?? NONE);
    const parts = isSure ? [] : this.#parts(text, allowedSpecial, disallowedSpecial);
    if (isNative) return encodeText(checkText("encode", text), this.name, true);
    if (parts.length === 1 && typeof parts[0] === "string") return encodeText(parts[0], this.name);
    return parts.flatMap((part) =>
      typeof part === "number" ? part : numbersOf(encodeText(part, this.name)),
    );
  }

  decode(tokens) {
    const texts = this.#foreignTexts();
    if (texts === null) return decodeShort(tokens, this.name) ?? decodeIds(checked(tokens), this.name);
    const { ids, count } = checked(tokens);
    return [...decodeAll(ids.slice(0, count), this.name, texts)].join("");
  }

  countTokens(text) {
    return native().countText(checkText("countTokens", text), numberOf(this.name));
  }

  encodeGenerator(text, allowedSpecial, disallowedSpecial) {
    // The pattern of a file can match across any place at which a text could be cut.
    if (this.#isLoaded) return whole(this.encode(text, allowedSpecial, disallowedSpecial));
    const parts = this.#parts(text, allowedSpecial, disallowedSpecial);
    return encodeAll(parts, (part) => numbersOf(encodeText(part, this.name)));
  }

  decodeGenerator(tokens) {
    return decodeAll(tokens, this.name, this.#foreignTexts());
  }

  decodeAsyncGenerator(tokens) {
    return decodeAllLater(tokens, this.name, this.#foreignTexts());
  }

  /** Does nothing: there is nothing to free. tiktoken (wasm) has it. */
  free() {}

  /** Returns the texts between special tokens and the ids of these, by js-tiktoken's rules. */
  #parts(text, allowedSpecial = NONE, disallowedSpecial = this.#isStrict ? "all" : NONE) {
    checkText("encode", text);
    if (isEmpty(allowedSpecial) && isEmpty(disallowedSpecial)) return [text];
    const isPlain = this.#isUsual && namesNone(allowedSpecial) && namesNone(disallowedSpecial);
    if (isPlain && !text.includes("<|")) return [text];
    const allowed = allowedSpecial === "all" ? undefined : setOf("allowedSpecial", allowedSpecial);
    const forbidden = disallowedSpecial === "all" ? undefined : setOf("disallowedSpecial", disallowedSpecial);
    const special = this.#specialTokens();
    const names = Object.keys(special);
    const isAllowed = (name) => allowed?.has(name) ?? true;
    const refused = forbidden === undefined ? names.filter((name) => !isAllowed(name)) : [...forbidden];
    const found = refused.length > 0 ? text.match(anyOf(refused)) : null;
    if (found !== null) {
      throw new Error(`The text contains a special token that is not allowed: ${found[0]}`);
    }
    return names.some(isAllowed) ? cutAt(text, anyOf(names), isAllowed, special) : [text];
  }

  #specialTokens() {
    this.#special ??= { ...(this.#own ?? specialTokensOf(this.name)), ...this.#extended };
    return this.#special;
  }

  #foreignTexts() {
    if (this.#texts === undefined) {
      const hasOwn = this.#own !== undefined || this.#extended !== undefined;
      const texts = hasOwn ? foreignTexts(this.name, this.#specialTokens()) : [];
      this.#texts = texts.length === 0 ? null : new Map(texts);
    }
    return this.#texts;
  }
}

/** Returns the special tokens of the native encoder, ids by text. */
const specialTokensOf = (name) => JSON.parse(native().specialTokens(numberOf(name)));

/** Returns `[id, text]` of the special tokens that the native decoder does not know. */
function foreignTexts(name, special) {
  const builtIn = specialTokensOf(name);
  const ids = new Set(Object.values(builtIn));
  // An ordinary token keeps its text, whatever else has its id.
  const isOrdinary = (id) => {
    return !ids.has(id) && attempt(() => decodeIds(checked([id]), name)) !== undefined;
  };
  const isForeign = ([text, id]) => builtIn[text] !== id && !isOrdinary(id);
  // A lone surrogate becomes U+FFFD, as in the native decoder.
  return Object.entries(special)
    .filter(isForeign)
    .map(([text, id]) => [id, text.toWellFormed()]);
}

function checkText(call, text) {
  if (typeof text === "string") return text;
  throw new TypeError(`${call}: text is ${show(text)}; it must be a string`);
}

function checkSpecial(special) {
  if (special === undefined || special === null) return undefined;
  for (const [text, id] of Object.entries(special)) {
    if (text === "" || typeof id !== "number" || id >>> 0 !== id) {
      throw new TypeError(
        `getEncoding: special token ${show(text)} is ${show(id)}; it must be a text with a whole number from 0 on`,
      );
    }
  }
  return { ...special };
}

function* whole(tokens) {
  yield tokens;
  return tokens.length;
}

/** js-tiktoken also takes null for none. */
const isEmpty = (special) => special === null || (Array.isArray(special) && special.length === 0);

/** True if no special token is named by itself. */
const namesNone = (special) => special === "all" || isEmpty(special);

function setOf(option, value) {
  if (isEmpty(value)) return new Set();
  if (typeof value === "object" && typeof value[Symbol.iterator] === "function") return new Set(value);
  throw new TypeError(`encode: ${option} is ${show(value)}; it must be "all" or an array of strings`);
}

function anyOf(texts) {
  return new RegExp(texts.map((text) => String(text).replace(/[\\^$*+?.()|[\]{}]/g, "\\$&")).join("|"), "g");
}

/** Splits a text at the allowed matches of a pattern. Returns texts, and ids of the matches. */
function cutAt(text, pattern, isAllowed, special) {
  const parts = [];
  let start = 0;
  for (let found = pattern.exec(text); found !== null; found = pattern.exec(text)) {
    if (!isAllowed(found[0])) {
      pattern.lastIndex = found.index + 1;
      continue;
    }
    if (found.index > start) parts.push(text.slice(start, found.index));
    parts.push(special[found[0]]);
    start = pattern.lastIndex;
  }
  if (start < text.length || parts.length === 0) parts.push(text.slice(start));
  return parts;
}

/** Yields lists of tokens of `parts`, which are texts and ids of special tokens. Returns the number of tokens. */
function* encodeAll(parts, encode) {
  let total = 0;
  for (const part of parts) {
    for (let start = 0; start < (part.length ?? 1); ) {
      const end = typeof part === "number" ? 1 : safeEnd(part, start);
      const tokens = typeof part === "number" ? [part] : encode(part.slice(start, end));
      total += tokens.length;
      yield tokens;
      start = end;
    }
  }
  return total;
}

function safeEnd(text, start) {
  SAFE_END.lastIndex = start + PART_UNITS;
  return SAFE_END.test(text) ? SAFE_END.lastIndex : text.length;
}

/** Yields the text of tokens, never half a character. `texts` are those of the caller's special tokens, or null. */
function* decodeAll(tokens, encoding, texts) {
  const stream = streamOf(encoding, texts, TOKENS);
  yield* stream.decode(tokens);
  yield* stream.flush();
}

/** Decodes tokens as they arrive. */
async function* decodeAllLater(tokens, encoding, texts) {
  const stream = streamOf(encoding, texts, 1);
  for await (const some of tokens) yield* stream.decode(typeof some === "number" ? [some] : some);
  yield* stream.flush();
}

/** `decode(tokens)` yields the texts that the tokens complete; `flush()` yields the text of those that wait. */
function streamOf(encoding, texts, batch) {
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let waiting = [];
  function* flush(after = "", options = undefined) {
    const bytes = bytesOf(checked(waiting), encoding);
    waiting = [];
    const text = decoder.decode(bytes, options) + after;
    if (text !== "") yield text;
  }
  function* decode(tokens) {
    for (const token of tokens) {
      const special = texts?.get(token);
      if (special !== undefined) yield* flush(special);
      else if (waiting.push(token) >= batch) yield* flush("", { stream: true });
    }
  }
  return { decode, flush };
}

/** Returns a list of numbers, as js-tiktoken does. */
function numbersOf({ ids, count }) {
  const tokens = new Array(count);
  for (let at = 0; at < count; at += 1) tokens[at] = ids[at];
  return tokens;
}

const encodings = new Map();

/** Returns the shared encoding of a name, or a new one with special tokens of the caller's. */
function getEncoding(encoding, extendedSpecialTokens) {
  const name = checkEncoding(encoding);
  if (extendedSpecialTokens !== undefined) return new Encoding(name, { extended: extendedSpecialTokens });
  if (!encodings.has(name)) encodings.set(name, new Encoding(name));
  return encodings.get(name);
}

function encodingForModel(model, extendedSpecialTokens) {
  return getEncoding(encodingForName(model), extendedSpecialTokens);
}

module.exports = { Encoding, encodingForModel, getEncoding, getEncodingNameForModel: encodingForName };
