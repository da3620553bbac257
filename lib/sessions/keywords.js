// Replaces an answer by keywords: its facts, then the most frequent words of the session. Intl.Segmenter finds the words; Node
// and Electron ship it with a Chinese and Japanese dictionary.
"use strict";

// Taken here, because a host's tests may replace the global timers.
const { setImmediate: nextTurn } =
  process.getBuiltinModule?.("node:timers/promises") ?? require("node:timers/promises");
const stopWords = require("./stop_words.json");

/** Words without a topic: function words, and small talk with an assistant. */
const STOP_WORDS = new Set(Object.values(stopWords).flatMap((words) => words.split(" ")));

/** Part of a text to search, UTF-16 units. */
const TEXT_UNITS = 4096;
/** Parts of a text for the segmenter, cut after a word: V8's segmenter takes quadratic time in the length of its string. */
const PARTS = /.{1,256}(?:[ \n，。、]|$)|.{1,256}/gsu;
/** Most keywords of an answer, and most facts among them. */
const KEYWORDS = 12;
const FACTS = 8;
/** Longest keyword and longest fact, UTF-16 units. A longer fact is a hash or a blob. */
const WORD_UNITS = 40;
const FACT_UNITS = 120;
/** A written word with the signs in and around it. Chinese and other letters end it. */
const WRITTEN = /[!-~$€£\u00c0-\u024f]+/gu;
const AROUND = /^["'`([{<*,;:!?]+|["'`)\]}>*.,;:!?]+$/g;
/** Addresses and paths, names of files, numbers with what is written around them, identifiers. */
const FACT = /:\/\/|\w\/\w|^[~.]*\/\w|\w\.[a-z][a-z\d]{0,7}$|\d|\w_\w|[a-z][A-Z]/;
const ABBREVIATION = /^(?:[A-Za-z]\.)+[A-Za-z]?$/;

let segmenter;

/** Returns pairs with keywords as answers, and with the questions of `clipped`. */
async function keywordPairs(pairs, clipped) {
  const frequency = new Map();
  const wordsOfPairs = [];
  for (const { q, a } of pairs) {
    const words = `${q}\n${a}`.slice(0, TEXT_UNITS).match(PARTS)?.flatMap(wordsOf) ?? [];
    for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
    wordsOfPairs.push([...new Set(words)]);
    // Lets the event loop run.
    await nextTurn();
  }
  return clipped.map(({ q }, index) => {
    const facts = factsOf(pairs[index].a).filter((fact) => !q.includes(fact));
    const said = facts.join(" ").toLowerCase();
    const rest = wordsOfPairs[index].filter((word) => !said.includes(word));
    rest.sort((a, b) => frequency.get(b) - frequency.get(a));
    return { q, a: [...facts, ...rest].slice(0, KEYWORDS).join(", ") };
  });
}

/** Returns addresses, paths, identifiers and numbers of a text, each once, in order. */
function factsOf(text) {
  const words = text.slice(0, TEXT_UNITS).match(WRITTEN) ?? [];
  const bare = words.map((word) => word.replace(AROUND, ""));
  const facts = bare.filter(
    (word) => word.length <= FACT_UNITS && FACT.test(word) && !ABBREVIATION.test(word),
  );
  return [...new Set(facts)].slice(0, FACTS);
}

function wordsOf(part) {
  segmenter ??= new Intl.Segmenter("zh", { granularity: "word" });
  const words = Array.from(segmenter.segment(part)).filter(({ isWordLike }) => isWordLike);
  return words.map(({ segment }) => segment.toLowerCase()).filter(isTelling);
}

/** True unless a word is one character, a number or a stop word. */
function isTelling(word) {
  return word.length > 1 && word.length <= WORD_UNITS && !STOP_WORDS.has(word) && !/^[\d.,]+$/.test(word);
}

module.exports = { keywordPairs };
