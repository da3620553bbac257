// Keywords of texts that belong to one session, by how often the session uses a word. Words are cut by
// Intl.Segmenter, the Unicode word breaker with a Chinese and Japanese dictionary that Node and Electron ship: it
// adds no byte to the package, where a dictionary of our own would add two megabytes to the addon.
"use strict";

const { STOP_WORDS } = require("./stop_words.js");

/** Units looked at of each text: enough to know what it is about, and segmented in some ms. */
const TEXT_UNITS = 4096;
/** Parts segmented at once, cut behind no word if that can be: V8's segmenter takes quadratic time in the length of its string. */
const PARTS = /.{1,256}(?:[ \n，。、]|$)|.{1,256}/gsu;
/** Longest keyword, units. */
const WORD_UNITS = 40;

/** Keywords that stand for an answer, and how many of them may be facts. */
const KEYWORDS = 12;
const FACTS = 8;
/** Longest fact, UTF-16 units; what is longer is a hash or a blob. */
const FACT_UNITS = 120;
/** Words as they are written, with what stands in and around them; Chinese and other letters end them. */
const WRITTEN = /[!-~$€£\u00c0-\u024f]+/gu;
const AROUND = /^["'`([{<*,;:!?]+|["'`)\]}>*.,;:!?]+$/g;
/**
 * Words that no other word of the conversation can stand for: addresses and paths, names of files, numbers with what is written
 * around them, identifiers.
 */
const FACT = /:\/\/|\w\/\w|^[~.]*\/\w|\w\.[a-z][a-z\d]{0,7}$|\d|\w_\w|[a-z][A-Z]/;
const NAME = /^\p{Lu}\p{Ll}/u;
const ABBREVIATION = /^(?:[A-Za-z]\.)+[A-Za-z]?$/;

let segmenter;

/**
 * Rounds or pairs with keywords in place of the answer, and their questions as in `clipped`: the facts in the answer, then
 * the words it is about.
 */
async function keywordPairs(pairs, clipped) {
  const words = await keywordsOf(
    pairs.map(({ q, a }) => `${q}\n${a}`),
    KEYWORDS,
  );
  return clipped.map(({ q }, index) => {
    const facts = factsOf(pairs[index].a).filter((fact) => !q.includes(fact));
    const said = facts.join(" ").toLowerCase();
    const rest = words[index].filter((word) => !said.includes(word));
    return { q, a: [...facts, ...rest].slice(0, KEYWORDS).join(", ") };
  });
}

/** Addresses, paths, identifiers, numbers and names in a text: each once, in the order they come. */
function factsOf(text) {
  const facts = new Set();
  let name = "";
  let isWithinSentence = false;
  for (const { 0: written, index } of text.slice(0, TEXT_UNITS).matchAll(WRITTEN)) {
    const word = written.replace(AROUND, "");
    const isName = isWithinSentence && NAME.test(word);
    // The next part of a name takes the place of the parts before it.
    if (isName) facts.delete(name);
    name = isName ? `${name} ${word}`.trim() : "";
    if (isName || isFact(word)) facts.add(name || word);
    isWithinSentence = !/[.!?]["')]*$/.test(written) && text[index + written.length] === " ";
  }
  return [...facts].slice(0, FACTS);
}

function isFact(word) {
  return word.length <= FACT_UNITS && FACT.test(word) && !ABBREVIATION.test(word);
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
  for (const text of texts) {
    const words = (text.slice(0, TEXT_UNITS).match(PARTS) ?? []).flatMap(wordsOf);
    for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
    wordSets.push(new Set(words));
    // The event loop gets its turn.
    await new Promise(setImmediate);
  }
  const isShared = (word) =>
    texts.length >= MANY_TEXTS && wordSets.filter((words) => words.has(word)).length > texts.length / 2;
  const shared = new Map([...frequency.keys()].map((word) => [word, isShared(word)]));
  // The sort is stable: among equals, what was said first comes first.
  const order = (a, b) => shared.get(a) - shared.get(b) || frequency.get(b) - frequency.get(a);
  return wordSets.map((words) => [...words].sort(order).slice(0, count));
}

function wordsOf(part) {
  segmenter ??= new Intl.Segmenter("zh", { granularity: "word" });
  return Array.from(segmenter.segment(part))
    .filter(({ isWordLike }) => isWordLike)
    .map(({ segment }) => segment.toLowerCase())
    .filter(isTelling);
}

/** One letter, one Chinese character or a number alone tells nothing. */
function isTelling(word) {
  return word.length > 1 && word.length <= WORD_UNITS && !STOP_WORDS.has(word) && !/^[\d.,]+$/.test(word);
}

module.exports = { keywordPairs, keywordsOf };
