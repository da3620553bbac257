// Question and answer pairs, the form in which a rolling memory remembers: read leniently from whatever a summariser
// returned, made from rounds by clipping or by keywords, kept cumulative and bounded.
"use strict";

const { keywordsOf } = require("./keywords.js");
const { clip } = require("./text.js");

/** Units of a summariser's answer that are looked at: 500 tokens asked for are about 2 000. */
const ANSWER_UNITS = 64 * 1024;
/** Longest question and answer a summariser may have remembered, units. */
const PAIR_UNITS = { q: 300, a: 1000 };
/** Longest question and answer where text is clipped, units: the first of these that leaves room. */
const CLIPPED_UNITS = [
  { q: 120, a: 300 },
  { q: 80, a: 120 },
];
/** Longest question beside keywords, units. */
const KEYWORD_QUESTION_UNITS = 60;
/** Keywords that stand for an answer. */
const KEYWORDS = 8;

/**
 * The pairs in a summariser's answer, whatever surrounds them: prose, code fences, an object around the array. Of
 * half a JSON, the whole pairs. `isCut` tells that it ended in the middle. Takes linear time.
 */
function parsePairs(answer) {
  const text = answer.slice(0, ANSWER_UNITS);
  const pairs = [];
  /** Objects that are open: where they start, and whether another was found inside. */
  const open = [];
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === "{") {
      if (open.length > 0) open.at(-1).hasInner = true;
      open.push({ start: at, hasInner: false });
    } else if (text[at] === "}") {
      const object = open.pop();
      const isInnermost = object?.hasInner === false;
      pairs.push(...(isInnermost ? readPair(text.slice(object.start, at + 1)) : []));
    } else if (text[at] === '"' && open.length > 0) {
      at = stringEnd(text, at);
    }
  }
  return { pairs, isCut: open.length > 0 };
}

/** Index of the quote that closes the string opened at `start`; the end of the text if none does. */
function stringEnd(text, start) {
  let at = start + 1;
  while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at;
}

/** No pair or one. */
function readPair(json) {
  let value;
  try {
    value = JSON.parse(json);
  } catch {
    return [];
  }
  const q = value.q ?? value.question;
  const a = value.a ?? value.answer;
  if (typeof q !== "string" || typeof a !== "string" || q.trim() === "") return [];
  return [shorten({ q, a }, PAIR_UNITS)];
}

function shorten({ q, a }, units) {
  return { q: clip(q.trim(), units.q), a: clip(a.trim(), units.a) };
}

/** Rounds or pairs with their texts clipped, from the longest form to the shortest. */
function clippedForms(pairs) {
  return CLIPPED_UNITS.map((units) => pairs.map((pair) => shorten(pair, units)));
}

/** Rounds or pairs with keywords in place of the answer. */
async function keywordPairs(pairs) {
  const keywords = await keywordsOf(
    pairs.map(({ q, a }) => `${q}\n${a}`),
    KEYWORDS,
  );
  return pairs.map(({ q }, index) => ({
    q: clip(q.trim(), KEYWORD_QUESTION_UNITS),
    a: keywords[index].join(", "),
  }));
}

/** `history` followed by what is new in `pairs`; the newest `maxPairs` of them. */
function mergePairs(history, pairs, maxPairs) {
  const key = ({ q, a }) => JSON.stringify([q, a]);
  const fresh = new Set(pairs.map(key));
  const merged = [...history.filter((pair) => !fresh.has(key(pair))), ...pairs];
  return merged.slice(Math.max(0, merged.length - maxPairs));
}

module.exports = { parsePairs, clippedForms, keywordPairs, mergePairs };
