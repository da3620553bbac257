// Keywords of texts that belong to one session, by how often the session uses a word. Words are cut by
// Intl.Segmenter, the Unicode word breaker with a Chinese and Japanese dictionary that Node and Electron ship: it
// adds no byte to the package, where a dictionary of our own would add two megabytes to the addon.
"use strict";

const { STOP_WORDS } = require("./stop_words.js");

/** Units segmented at once: V8's segmenter takes quadratic time in the length of its string. */
const CHUNK_UNITS = 256;
/** Units after which the event loop gets its turn: about 2 ms of segmenting. */
const TURN_UNITS = 4096;
/** Units looked at of each text: enough to know what it is about. */
const TEXT_UNITS = 4096;
/** Longest keyword, units; what is longer is a hash or a path. */
const WORD_UNITS = 40;
/** Where a chunk may end without cutting a word. */
const BREAKS = [" ", "\n", "，", "。", "、"];

/** Keywords that stand for an answer. */
const KEYWORDS = 8;

let segmenter;

/** Rounds or pairs with keywords in place of the answer, and their questions as in `clipped`. */
async function keywordPairs(pairs, clipped) {
  const keywords = await keywordsOf(
    pairs.map(({ q, a }) => `${q}\n${a}`),
    KEYWORDS,
  );
  return clipped.map(({ q }, index) => ({ q, a: keywords[index].join(", ") }));
}

/** Fewest texts of which "most" means something. */
const MANY_TEXTS = 4;

/**
 * For each text its `count` keywords, the session's most frequent first. A word that most of many texts share comes
 * after those that tell them apart.
 */
async function keywordsOf(texts, count) {
  const wordSets = [];
  const frequency = new Map();
  let units = 0;
  for (const text of texts) {
    const words = new Set();
    for (const chunk of chunksOf(text.slice(0, TEXT_UNITS))) {
      for (const word of wordsOf(chunk)) {
        words.add(word);
        frequency.set(word, (frequency.get(word) ?? 0) + 1);
      }
      units += chunk.length;
      if (units >= TURN_UNITS) {
        units = 0;
        await new Promise(setImmediate);
      }
    }
    wordSets.push(words);
  }
  const isShared = (word) =>
    texts.length >= MANY_TEXTS && wordSets.filter((words) => words.has(word)).length > texts.length / 2;
  const shared = new Map([...frequency.keys()].map((word) => [word, isShared(word)]));
  // The sort is stable: among equals, what was said first comes first.
  const order = (a, b) => shared.get(a) - shared.get(b) || frequency.get(b) - frequency.get(a);
  return wordSets.map((words) => [...words].sort(order).slice(0, count));
}

function wordsOf(chunk) {
  segmenter ??= new Intl.Segmenter("zh", { granularity: "word" });
  return Array.from(segmenter.segment(chunk))
    .filter((part) => part.isWordLike)
    .map((part) => part.segment.toLowerCase())
    .filter(isTelling);
}

function* chunksOf(text) {
  for (let at = 0; at < text.length; ) {
    let end = Math.min(at + CHUNK_UNITS, text.length);
    if (end < text.length) {
      const lastBreak = Math.max(...BREAKS.map((mark) => text.lastIndexOf(mark, end - 1)));
      if (lastBreak > at) end = lastBreak + 1;
    }
    yield text.slice(at, end);
    at = end;
  }
}

/** One letter, one Chinese character or a number alone tells nothing. */
function isTelling(word) {
  return word.length > 1 && word.length <= WORD_UNITS && !STOP_WORDS.has(word) && !/^[\d.,]+$/.test(word);
}

module.exports = { keywordPairs, keywordsOf };
