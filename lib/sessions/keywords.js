// Keywords in place of an answer: its facts, then the words that the session uses most. Words are cut by Intl.Segmenter, the
// Unicode word breaker with a Chinese and Japanese dictionary that Node and Electron ship.
"use strict";

const stopWords = require("./stop_words.json");

/** Words that say nothing about what a conversation is about: function words, and the small talk of working with an assistant. */
const STOP_WORDS = new Set(Object.values(stopWords).flatMap((words) => words.split(" ")));

/** Part of a text that is looked at, UTF-16 units: enough to know what it is about. */
const TEXT_UNITS = 4096;
/** Parts that are segmented at once, cut behind a word: V8's segmenter takes quadratic time in the length of its string. */
const PARTS = /.{1,256}(?:[ \n，。、]|$)|.{1,256}/gsu;
/** Keywords that stand for an answer, and how many of them may be facts. */
const KEYWORDS = 12;
const FACTS = 8;
/** Longest keyword and longest fact, UTF-16 units; a longer fact is a hash or a blob. */
const WORD_UNITS = 40;
const FACT_UNITS = 120;
/** Words as they are written, with what stands in and around them; Chinese and other letters end them. */
const WRITTEN = /[!-~$€£\u00c0-\u024f]+/gu;
const AROUND = /^["'`([{<*,;:!?]+|["'`)\]}>*.,;:!?]+$/g;
/** Addresses and paths, names of files, numbers with what is written around them, identifiers. */
const FACT = /:\/\/|\w\/\w|^[~.]*\/\w|\w\.[a-z][a-z\d]{0,7}$|\d|\w_\w|[a-z][A-Z]/;
const NAME = /^\p{Lu}\p{Ll}/u;
const ABBREVIATION = /^(?:[A-Za-z]\.)+[A-Za-z]?$/;

let segmenter;

/** Pairs with keywords in place of the answer, and their questions as in `clipped`. */
async function keywordPairs(pairs, clipped) {
  const frequency = new Map();
  const wordsOfPairs = [];
  for (const { q, a } of pairs) {
    const words = `${q}\n${a}`.slice(0, TEXT_UNITS).match(PARTS)?.flatMap(wordsOf) ?? [];
    for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
    wordsOfPairs.push([...new Set(words)]);
    // The event loop gets its turn.
    await new Promise(setImmediate);
  }
  return clipped.map(({ q }, index) => {
    const facts = factsOf(pairs[index].a).filter((fact) => !q.includes(fact));
    const said = facts.join(" ").toLowerCase();
    const rest = wordsOfPairs[index].filter((word) => !said.includes(word));
    rest.sort((a, b) => frequency.get(b) - frequency.get(a));
    return { q, a: [...facts, ...rest].slice(0, KEYWORDS).join(", ") };
  });
}

/** Addresses, paths, identifiers, numbers and names in a text: each once, in their order. */
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
    const isFact = word.length <= FACT_UNITS && FACT.test(word) && !ABBREVIATION.test(word);
    if (isName || isFact) facts.add(name || word);
    isWithinSentence = !/[.!?]["')]*$/.test(written) && text[index + written.length] === " ";
  }
  return [...facts].slice(0, FACTS);
}

function wordsOf(part) {
  segmenter ??= new Intl.Segmenter("zh", { granularity: "word" });
  const words = Array.from(segmenter.segment(part)).filter(({ isWordLike }) => isWordLike);
  return words.map(({ segment }) => segment.toLowerCase()).filter(isTelling);
}

/** One letter, one Chinese character or a number alone tells nothing. */
function isTelling(word) {
  return word.length > 1 && word.length <= WORD_UNITS && !STOP_WORDS.has(word) && !/^[\d.,]+$/.test(word);
}

module.exports = { keywordPairs };
