// Pairs of question and answer, the form in which a rolling memory remembers: read leniently from whatever a summariser
// returned, clipped, cumulative and bounded. Which of the forms a window has room for is decided elsewhere.
"use strict";

/** Longest question and answer, in characters: as a summariser may have them remembered, and of clipped text, the fullest first. */
const REMEMBERED = { q: 300, a: 1000 };
const CLIPPED = [
  { q: 120, a: 300 },
  { q: 80, a: 120 },
];

/** Units of an answer that are looked at: no summariser was asked for more. */
const ANSWER_UNITS = 64 * 1024;

const isPair = (pair) => typeof pair?.q === "string" && typeof pair.a === "string";
const arePairs = (value) => Array.isArray(value) && value.every(isPair);

/** An object of JSON with no other in it. Braces within its strings are text. */
const OBJECT = /\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}/gs;

/**
 * The pairs in a summariser's answer, whatever surrounds them: prose, code fences, an object around the array. Of half a
 * JSON, the whole pairs; `isCut` tells that it ended in the middle.
 */
function readPairs(answer) {
  const text = answer.slice(0, ANSWER_UNITS);
  const objects = [...text.matchAll(OBJECT)];
  const pairs = objects.flatMap(([json]) => readPair(json));
  const last = objects.at(-1);
  const rest = last === undefined ? text : text.slice(last.index + last[0].length);
  const isListOpen = text.slice(0, objects[0]?.index ?? 0).includes("[") && !rest.includes("]");
  return { pairs, isCut: rest.includes("{") || isListOpen };
}

/** No pair or one. */
function readPair(json) {
  try {
    const { q, question, a, answer } = JSON.parse(json);
    const pair = { q: q ?? question, a: a ?? answer };
    return isPair(pair) && pair.q.trim() !== "" ? [shortened(pair, REMEMBERED)] : [];
  } catch {
    return [];
  }
}

/** The pairs with their texts clipped, from the longest form to the shortest. */
function clippedPairs(pairs) {
  return CLIPPED.map((longest) => pairs.map((pair) => shortened(pair, longest)));
}

function shortened({ q, a }, longest) {
  return { q: clipped(q, longest.q), a: clipped(a, longest.a) };
}

function clipped(text, maxChars) {
  const trimmed = text.toWellFormed().trim();
  // A character has two units at the most; the rest of a text may be megabytes.
  const chars = Array.from(trimmed.slice(0, 2 * (maxChars + 1)));
  return chars.length > maxChars ? `${chars.slice(0, maxChars - 1).join("")}…` : trimmed;
}

/** `history` followed by what is new in `pairs`; the newest `max` of them. */
function mergePairs(history, pairs, max) {
  const isKnown = ({ q, a }) => pairs.some((pair) => pair.q === q && pair.a === a);
  return [...history.filter((pair) => !isKnown(pair)), ...pairs].slice(-max);
}

module.exports = { arePairs, clippedPairs, mergePairs, readPairs };
