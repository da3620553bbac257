// Finds messages of sessions that are in memory, by the same rule as the index of stored ones (src/sessions/search.rs):
// every part of the query between spaces must occur, as a phrase, its last word as a beginning.
"use strict";

/** A Chinese or Japanese character, a word of its own; or a run of other letters and digits. */
const WORD =
  /[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]|[\p{L}\p{N}\p{Co}\p{Mn}]+?(?=[\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{3ffff}]|[^\p{L}\p{N}\p{Co}\p{Mn}]|$)/gu;

/** Makes of a query what tells whether a text answers it; undefined if there is nothing to look for. */
function matcher(query) {
  const phrases = query
    .split(/\s+/)
    .map(wordsOf)
    .filter((words) => words.length > 0);
  if (phrases.length === 0) return undefined;
  return (text) => {
    const words = wordsOf(text);
    return phrases.every((phrase) => holds(words, phrase));
  };
}

function holds(words, phrase) {
  const last = phrase.length - 1;
  for (let start = 0; start + last < words.length; start += 1) {
    const isHere = phrase.every((word, at) =>
      at === last ? words[start + at].startsWith(word) : words[start + at] === word,
    );
    if (isHere) return true;
  }
  return false;
}

/** Words without case and accents. */
function wordsOf(text) {
  return (
    text
      .normalize("NFD")
      .replace(/\p{Mn}/gu, "")
      .normalize("NFC")
      .toLowerCase()
      .match(WORD) ?? []
  );
}

module.exports = { matcher };
