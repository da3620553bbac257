// Finds messages of sessions that are in memory, by the same rule as the index of stored ones (src/sessions/search.rs):
// every part of the query between spaces must occur, as a phrase, its last word as a beginning.
"use strict";

/** Chinese and Japanese characters are words of their own, as in `stands_alone` of src/sessions/search.rs. */
const ALONE =
  "\\u3041-\\u30ff\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff\\u{20000}-\\u{3ffff}";
const LETTER = "\\p{L}\\p{N}\\p{Co}";
const WORD = new RegExp(`[${ALONE}]|(?:(?![${ALONE}])[${LETTER}])+`, "gu");
/** Letters that may have accents; elsewhere marks are part of the letter. */
const ACCENTED = /[\u00c0-\u1fff]+/g;

/** Makes of a query what tells whether a text answers it; undefined if there is nothing to look for. */
function matcher(query) {
  const phrases = fold(query)
    .split(/\s+/)
    .map((part) => part.match(WORD) ?? []);
  const wanted = phrases
    .filter((words) => words.length > 0)
    .map((words) => ({ words, pattern: patternOf(words) }));
  if (wanted.length === 0) return undefined;
  return (text) => {
    const folded = fold(text);
    return wanted.every(
      ({ words, pattern }) => words.every((word) => folded.includes(word)) && pattern.test(folded),
    );
  };
}

/** Words with nothing but marks between them; where both have letters, there must be some. */
function patternOf(words) {
  let pattern = "";
  let before;
  for (const word of words) {
    const touches = isAlone(word) || (before !== undefined && isAlone(before));
    if (before === undefined) pattern += isAlone(word) ? "" : `(?<!(?![${ALONE}])[${LETTER}])`;
    else pattern += `[^${LETTER}]${touches ? "*" : "+"}`;
    pattern += word;
    before = word;
  }
  return new RegExp(pattern, "u");
}

function isAlone(word) {
  return new RegExp(`^[${ALONE}]`, "u").test(word);
}

/** Without case and accents. */
function fold(text) {
  const bare = text.replace(ACCENTED, (letters) => letters.normalize("NFD").replace(/\p{Mn}/gu, ""));
  return bare.toLowerCase();
}

module.exports = { matcher };
