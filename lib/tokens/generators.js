// Encodes long texts and decodes long lists of tokens part by part. The joined parts equal what `encode` and `decode` return.
"use strict";

const { bytesOf, checked } = require("./ids.js");

/** Shortest part of a text, UTF-16 units. It ends at the next place that no piece of the text crosses. */
const PART_UNITS = 1 << 15;
/** Tokens decoded at once. */
const TOKENS = 1 << 10;
/** A place where every pattern ends a piece: before a space, and between lines, the second of which begins with no slash. */
const SAFE_END = /[!-~](?= )|[!-~]\n(?=[!-.0-~])/g;

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

module.exports = { decodeAll, decodeAllLater, encodeAll };
