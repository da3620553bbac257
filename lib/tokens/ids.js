// Passes token ids to the native encoder and back, in one reused array: allocating one takes longer than encoding a short
// text.
"use strict";

const { attempt } = require("../helpers.js");
const { native } = require("../native/native.js");
const { show } = require("../options.js");
const { numberOf } = require("./models.js");

/** Length of the kept array: 256 kB. */
const ROOM = 1 << 16;
/** Length up to which copying a typed array is faster than passing its buffer. */
const SHORT = 64;

/** Number of ids whose texts may be kept: the largest vocabularies fit. */
const KEPT_TEXTS = 1 << 18;

let kept;

function room(count) {
  if (count > ROOM) return new Uint32Array(count);
  kept ??= new Uint32Array(ROOM);
  return kept;
}

/**
 * Encodes a text. The first `count` of `ids` are its tokens; the next call overwrites them. `withSpecial` finds special tokens, too,
 * in loaded encodings.
 */
function encodeText(text, encoding, withSpecial) {
  const encoded = (ids) => ({ ids, count: native().encode(text, ids, numberOf(encoding), withSpecial) });
  const first = encoded(room(text.length));
  // Few texts have more tokens than UTF-16 code units.
  return first.count <= first.ids.length ? first : encoded(new Uint32Array(first.count));
}

/** Checks tokens. Returns them in the caller's array, or in one that the next call overwrites. */
function checked(tokens) {
  // No other thread can write to such a buffer meanwhile.
  const isReady = tokens instanceof Uint32Array && tokens.buffer instanceof ArrayBuffer;
  if (isReady && tokens.length > SHORT) return { ids: tokens, count: tokens.length };
  const list = listOf(tokens);
  const count = list.length;
  const ids = room(count);
  const good = fill(ids, list);
  if (good === count) return { ids, count };
  throw new TypeError(
    `decode: token ${show(list[good])} at position ${good} must be a whole number from 0 to 4294967295`,
  );
}

/** Copies tokens up to the first that is no id. Returns their number. Checking each type would take twice as long. */
function fill(ids, list) {
  // A detached array is empty and cannot be copied.
  if (list instanceof Uint32Array && list.length > 0) {
    ids.set(list);
    return list.length;
  }
  let at = 0;
  try {
    for (; at < list.length; at += 1) {
      const token = list[at];
      const id = token >>> 0;
      if (id !== token) break;
      ids[at] = id;
    }
  } catch {
    // A value without a number, such as a bigint, is no token.
  }
  return at;
}

function listOf(tokens) {
  if (Array.isArray(tokens) || (ArrayBuffer.isView(tokens) && !(tokens instanceof DataView))) return tokens;
  if (typeof tokens === "object" && typeof tokens?.[Symbol.iterator] === "function") return [...tokens];
  throw new TypeError(`decode: tokens is ${show(tokens)}; it must be an array of numbers`);
}

/** Decodes tokens that are all the encoding's own. */
const decodeIds = ({ ids, count }, encoding) => native().decode(ids, count, numberOf(encoding));

/** By encoding and id: the texts of tokens that were decoded in short lists; null for a part of a character. */
const texts = new Map();

/**
 * Decodes a short list by the kept texts of its tokens, which is faster than a native call. Returns undefined for any other list, and
 * if a token is unknown or a part of a character.
 */
function decodeShort(tokens, encoding) {
  if (!Array.isArray(tokens) || tokens.length > SHORT) return undefined;
  if (!texts.has(encoding)) texts.set(encoding, new Array(KEPT_TEXTS));
  const known = texts.get(encoding);
  let text = "";
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    const kept = typeof token === "number" ? known[token] : undefined;
    const part = kept === undefined ? keptText(known, token, encoding) : kept;
    if (part === null) return undefined;
    text += part;
  }
  return text;
}

/** Keeps the text of a token. Returns null for an unknown token and for a part of a character. */
function keptText(known, token, encoding) {
  const text = attempt(() => decodeIds(checked([token]), encoding));
  if (text === undefined || token >= KEPT_TEXTS) return null;
  known[token] = text.includes("\ufffd") ? null : text;
  return known[token];
}

/** Returns the bytes of tokens. */
function bytesOf({ ids, count }, encoding) {
  return Buffer.from(native().decode(ids, count, numberOf(encoding), true), "latin1");
}

module.exports = { bytesOf, checked, decodeIds, decodeShort, encodeText };
