// Token numbers on their way to the native encoder and back. One array is kept for them: allocating one for each text
// would cost more than encoding a short one.
"use strict";

const { native } = require("../native/native.js");
const { show } = require("../options.js");
const { numberOf } = require("./models.js");

/** Tokens for which room is kept: 256 kB. */
const ROOM = 1 << 16;
/** Tokens up to which an array is rather copied. */
const SHORT = 64;

let kept;

function room(count) {
  if (count > ROOM) return new Uint32Array(count);
  kept ??= new Uint32Array(ROOM);
  return kept;
}

/**
 * The tokens of `text`, in an array that is overwritten by the next call; `count` of it are its tokens. `withSpecial`: of
 * special tokens, too, which only loaded encodings find.
 */
function encodeText(text, encoding, withSpecial) {
  const ids = room(0);
  const count = native().encode(text, ids, numberOf(encoding), withSpecial);
  if (count <= ids.length) return { ids, count };
  const all = new Uint32Array(count);
  native().takeEncoded(all);
  return { ids: all, count };
}

/** `tokens` checked, in an array that is theirs or is overwritten by the next call. */
function checked(tokens) {
  if (isReady(tokens)) return { ids: tokens, count: tokens.length };
  const list = listOf(tokens);
  const count = list.length;
  const ids = room(count);
  const good = fill(ids, list);
  if (good < count) {
    throw new TypeError(
      `decode: token ${show(list[good])} at position ${good} must be a whole number from 0 to 4294967295`,
    );
  }
  return { ids, count };
}

/** Copies tokens up to the first that is none; how many there were. Asking each for its type takes twice as long. */
function fill(ids, list) {
  const count = list.length;
  // A detached one is empty and cannot be copied.
  if (list instanceof Uint32Array && count > 0) {
    ids.set(list);
    return count;
  }
  let at = 0;
  try {
    for (; at < count; at += 1) {
      const token = list[at];
      const id = token >>> 0;
      if (id !== token) break;
      ids[at] = id;
    }
  } catch {
    // A value that cannot be a number, such as a bigint, is no token.
  }
  return at;
}

/**
 * True if the native side can have the array itself: what stands in it are whole numbers of 32 bits, and no other thread
 * writes to it meanwhile. A short one is sooner copied than given a buffer of its own.
 */
function isReady(tokens) {
  return tokens instanceof Uint32Array && tokens.length > SHORT && tokens.buffer instanceof ArrayBuffer;
}

function listOf(tokens) {
  if (Array.isArray(tokens) || (ArrayBuffer.isView(tokens) && !(tokens instanceof DataView))) return tokens;
  if (typeof tokens === "object" && typeof tokens?.[Symbol.iterator] === "function") return [...tokens];
  throw new TypeError(`decode: tokens is ${show(tokens)}; it must be an array of numbers`);
}

/** The text of tokens that are all the encoding's own. */
function decodeIds({ ids, count }, encoding) {
  return native().decode(ids, count, numberOf(encoding));
}

/** Ids whose texts are kept: all of the largest vocabularies. */
const KEPT_TEXTS = 1 << 18;
/** By encoding and id: the texts of tokens that were decoded in short lists; null for a part of a character. */
const texts = new Map();

/**
 * The text of a short list, put together of the texts of its tokens: crossing to the native side takes longer than that.
 * Undefined where one of them is not known yet, or is not text alone.
 */
function decodeShort(tokens, encoding) {
  if (!Array.isArray(tokens) || tokens.length > SHORT) return undefined;
  const known = texts.get(encoding);
  if (known === undefined) return undefined;
  let text = "";
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    const part = typeof token === "number" ? known[token] : undefined;
    if (part === undefined || part === null) return undefined;
    text += part;
  }
  return text;
}

/** Keeps the texts of a short list's tokens for the next, once the list has been decoded. */
function keepTexts({ ids, count }, encoding) {
  if (count > SHORT) return;
  const list = Array.from(ids.subarray(0, count));
  if (!texts.has(encoding)) texts.set(encoding, new Array(KEPT_TEXTS));
  const known = texts.get(encoding);
  for (const id of list) {
    if (id >= KEPT_TEXTS || known[id] !== undefined) continue;
    const text = decodeIds(checked([id]), encoding);
    known[id] = text.includes("\ufffd") ? null : text;
  }
}

/** The bytes of such tokens. */
function bytesOf({ ids, count }, encoding) {
  return Buffer.from(native().decodeBytes(ids, count, numberOf(encoding)), "latin1");
}

module.exports = { bytesOf, checked, decodeIds, decodeShort, encodeText, keepTexts };
