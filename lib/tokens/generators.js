// Long texts and long lists of tokens, a part at a time. Joined, the parts are what `encode` and `decode` give at once.
"use strict";

const { bytesOf, checked } = require("./ids.js");

/** Characters encoded at once, and as many more as there are to the next place to cut at. */
const CHARACTERS = 1 << 15;
/** Tokens decoded at once. */
const TOKENS = 1 << 10;

/** `parts`: texts, and ids of special tokens between them. Yields lists of tokens, and returns how many there were. */
function* encodeAll(parts, encode) {
  let total = 0;
  for (const part of parts) {
    if (typeof part === "number") {
      total += 1;
      yield [part];
      continue;
    }
    for (let start = 0; start < part.length; ) {
      const end = safeEnd(part, start);
      const tokens = encode(part.slice(start, end));
      total += tokens.length;
      yield tokens;
      start = end;
    }
  }
  return total;
}

/** Between something solid and a space, or after a line break between two solid characters, the second no slash. */
const SAFE_END = /[!-~](?= )|[!-~]\n(?=[!-.0-~])/g;

/** A place some way on where every pattern ends a piece, whatever stands around it; the end of the text if none does. */
function safeEnd(text, start) {
  SAFE_END.lastIndex = start + CHARACTERS;
  return SAFE_END.test(text) ? SAFE_END.lastIndex : text.length;
}

/** The text of tokens, a part at a time, never half a character. `texts`: those of special tokens of the caller's. */
function* decodeAll(tokens, encoding, texts) {
  const stream = new Stream(encoding, texts);
  yield* stream.decode(tokens);
  yield* unlessEmpty(stream.flush());
}

/** The same of tokens that arrive one by one: each is decoded as it comes. */
async function* decodeAllLater(tokens, encoding, texts) {
  const stream = new Stream(encoding, texts, 1);
  for await (const some of tokens) yield* stream.decode(typeof some === "number" ? [some] : some);
  yield* unlessEmpty(stream.flush());
}

class Stream {
  #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  #waiting = [];
  #encoding;
  #texts;
  #batch;

  constructor(encoding, texts, batch = TOKENS) {
    this.#encoding = encoding;
    this.#texts = texts;
    this.#batch = batch;
  }

  /** The texts that are whole once the next tokens have come. */
  *decode(tokens) {
    for (const token of tokens) {
      const special = this.#texts?.get(token);
      if (special !== undefined) yield* unlessEmpty(this.flush() + special);
      else if (this.#waiting.push(token) >= this.#batch) yield* unlessEmpty(this.flush({ stream: true }));
    }
  }

  /** The text of what waits. */
  flush(options) {
    const bytes = bytesOf(checked(this.#waiting), this.#encoding);
    this.#waiting = [];
    return this.#decoder.decode(bytes, options);
  }
}

function* unlessEmpty(text) {
  if (text !== "") yield text;
}

module.exports = { decodeAll, decodeAllLater, encodeAll };
