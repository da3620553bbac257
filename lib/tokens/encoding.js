// Encodings: tokens of texts and texts of tokens, with js-tiktoken's calls and rules for special tokens. Cutting a text
// around special tokens is done here; what lies between them is the native encoder's.
"use strict";

const { native } = require("../native/native.js");
const { show } = require("../options.js");
const { decodeAll, encodeAll, decodeAllLater } = require("./generators.js");
const { checked, decodeIds, decodeShort, encodeText, keepTexts } = require("./ids.js");
const { ENCODINGS, checkEncoding, encodingForName, numberOf } = require("./models.js");

const NONE = Object.freeze([]);

class Encoding {
  /** The encoding's name, such as "o200k_base". */
  name;
  #special;
  #own;
  #extended;
  #isStrict;
  /** True for one that was loaded from a file, which the native side then finds special tokens by. */
  #isLoaded;
  /** True if every special token begins as OpenAI's do: then a text without that beginning has none. */
  #isUsual;
  #texts;

  /** `special`: ids by text, in place of the encoding's own; `extended`: more of them. */
  constructor(name, { special, extended, isStrict = false } = {}) {
    this.name = name;
    this.#own = special;
    this.#extended = checkSpecial(extended);
    this.#isStrict = isStrict;
    this.#isLoaded = !ENCODINGS.includes(name);
    const given = Object.keys({ ...special, ...extended });
    this.#isUsual = !this.#isLoaded && given.every((text) => text.startsWith("<|"));
  }

  /** True if text is cut by the engine's own scanner: not so for a file whose pattern is only a regular expression. */
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

  /** A text's tokens as `encodeText` has them; a list of them where it is cut around special tokens. */
  #encoded(text, allowedSpecial, disallowedSpecial) {
    if (this.#findsAll(allowedSpecial)) return encodeText(checkText("encode", text), this.name, true);
    const parts = this.#parts(text, allowedSpecial, disallowedSpecial);
    if (parts.length === 1 && typeof parts[0] === "string") return encodeText(parts[0], this.name);
    const tokens = [];
    for (const part of parts) {
      if (typeof part === "number") tokens.push(part);
      else for (const token of numbersOf(encodeText(part, this.name))) tokens.push(token);
    }
    return tokens;
  }

  decode(tokens) {
    const texts = this.#extendedTexts();
    const short = texts === undefined ? decodeShort(tokens, this.name) : undefined;
    if (short !== undefined) return short;
    const ids = checked(tokens);
    if (texts === undefined) {
      const text = decodeIds(ids, this.name);
      keepTexts(ids, this.name);
      return text;
    }
    const parts = [];
    let start = 0;
    for (let at = 0; at <= ids.count; at += 1) {
      const text = at === ids.count ? "" : texts.get(ids.ids[at]);
      if (text === undefined) continue;
      const run = { ids: ids.ids.subarray(start, at), count: at - start };
      parts.push(decodeIds(run, this.name), text);
      start = at + 1;
    }
    return parts.join("");
  }

  countTokens(text) {
    return native().countText(checkText("countTokens", text), numberOf(this.name));
  }

  encodeGenerator(text, allowedSpecial, disallowedSpecial) {
    // A file's tokens and its pattern may cross any place a text could be cut at.
    if (this.#isLoaded) return whole(this.encode(text, allowedSpecial, disallowedSpecial));
    const parts = this.#parts(text, allowedSpecial, disallowedSpecial);
    return encodeAll(parts, (part) => numbersOf(encodeText(part, this.name)));
  }

  decodeGenerator(tokens) {
    return decodeAll(tokens, this.name, this.#extendedTexts());
  }

  decodeAsyncGenerator(tokens) {
    return decodeAllLater(tokens, this.name, this.#extendedTexts());
  }

  /** Does nothing: there is nothing to free. tiktoken (wasm) has it. */
  free() {}

  /** True if the native side finds the special tokens: all of a file's own, as the file says where they stand. */
  #findsAll(allowedSpecial) {
    return this.#isLoaded && allowedSpecial === "all" && this.#extended === undefined;
  }

  /** The text between special tokens, and their ids. The rules are js-tiktoken's, word for word. */
  #parts(text, allowedSpecial = NONE, disallowedSpecial = this.#isStrict ? "all" : NONE) {
    checkText("encode", text);
    if (isEmpty(allowedSpecial) && isEmpty(disallowedSpecial)) return [text];
    // Most texts have nothing like a special token, which is seen at a glance.
    if (this.#isUsual && namesNone(allowedSpecial) && namesNone(disallowedSpecial) && !text.includes("<|")) {
      return [text];
    }
    const allowedAll = allowedSpecial === "all";
    const allowed = allowedAll ? undefined : setOf("allowedSpecial", allowedSpecial);
    const forbidden = disallowedSpecial === "all" ? undefined : setOf("disallowedSpecial", disallowedSpecial);
    const special = this.#specialTokens();
    const names = Object.keys(special);
    const isAllowed = (name) => allowedAll || allowed.has(name);
    const refused = forbidden === undefined ? names.filter((name) => !isAllowed(name)) : [...forbidden];
    const found = refused.length > 0 ? text.match(anyOf(refused)) : null;
    if (found !== null) {
      throw new Error(`The text contains a special token that is not allowed: ${found[0]}`);
    }
    if (!names.some(isAllowed)) return [text];
    return cutAt(text, anyOf(names), isAllowed, special);
  }

  #specialTokens() {
    const own = () => this.#own ?? JSON.parse(native().specialTokens(numberOf(this.name)));
    this.#special ??= { ...own(), ...this.#extended };
    return this.#special;
  }

  /** Texts of the special tokens the native side does not know, by id; undefined if there are none. */
  #extendedTexts() {
    if (this.#texts === undefined) {
      const texts = this.#own === undefined && this.#extended === undefined ? [] : this.#foreignTexts();
      this.#texts = texts.length === 0 ? null : new Map(texts);
    }
    return this.#texts ?? undefined;
  }

  #foreignTexts() {
    const builtIn = JSON.parse(native().specialTokens(numberOf(this.name)));
    const ids = new Set(Object.values(builtIn));
    // An ordinary token keeps its text, whatever else is called by its number.
    const isOrdinary = (id) => {
      if (ids.has(id)) return false;
      try {
        decodeIds(checked([id]), this.name);
        return true;
      } catch {
        return false;
      }
    };
    const foreign = Object.entries(this.#specialTokens()).filter(
      ([text, id]) => builtIn[text] !== id && !isOrdinary(id),
    );
    return foreign.map(([text, id]) => [id, Buffer.from(text).toString()]);
  }
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

/** True if an argument names no special tokens of its own. */
function namesNone(special) {
  return special === "all" || isEmpty(special);
}

function* whole(tokens) {
  yield tokens;
  return tokens.length;
}

function isEmpty(special) {
  return Array.isArray(special) && special.length === 0;
}

function setOf(option, value) {
  if (typeof value === "object" && typeof value?.[Symbol.iterator] === "function") return new Set(value);
  throw new TypeError(`encode: ${option} is ${show(value)}; it must be "all" or an array of strings`);
}

function anyOf(texts) {
  return new RegExp(texts.map((text) => String(text).replace(/[\\^$*+?.()|[\]{}]/g, "\\$&")).join("|"), "g");
}

function cutAt(text, pattern, isAllowed, special) {
  const parts = [];
  let start = 0;
  pattern.lastIndex = 0;
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

/** A list of numbers, which is what js-tiktoken gives. */
function numbersOf({ ids, count }) {
  const tokens = new Array(count);
  for (let at = 0; at < count; at += 1) tokens[at] = ids[at];
  return tokens;
}

const encodings = new Map();

/** One encoding serves all who ask for it, unless they bring special tokens of their own. */
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
