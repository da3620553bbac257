// The page's words in both languages, by words.json. A text with names in braces becomes a function of their values.

import contract from "../contract.json" with { type: "json" };
import { some, whole } from "../lib/cli/numbers.mjs";
import table from "./words.json" with { type: "json" };

/** Puts values into a text. Numbers get commas; `{calls:call}` also writes the noun: "22 calls". */
const filled = (text) => (values) =>
  text.replace(/\{(\w+):?([\w ]*)\}/g, (_, name, noun) => {
    const value = values[name];
    if (noun !== "") return some(value, noun);
    return typeof value === "number" ? whole(value) : value;
  });

/** The words of an entry, and of the entries in it, in one language. */
function wordsIn(language, entry) {
  const word = entry[language];
  if (typeof word === "string") return word.includes("{") ? filled(word) : word;
  if (word !== undefined) return word;
  return Object.fromEntries(Object.entries(entry).map(([name, inner]) => [name, wordsIn(language, inner)]));
}

const { actionWords, missCauses } = contract;

/** The reasons of edits, which are English texts, in one language. */
function reasonsIn(language) {
  const tables = [contract.reasons, contract.keeps, contract.verdicts];
  const texts = tables.flatMap(Object.values).map((reason) => [reason.en, reason[language]]);
  return { ...Object.fromEntries(texts), ...table.reasons[language] };
}

export const WORDS = Object.fromEntries(
  ["en", "zh"].map((language) => {
    const words = wordsIn(language, { ...table, actionWords, missCauses });
    return [language, { ...words, reasons: reasonsIn(language) }];
  }),
);

/** The reader's own language where we speak it. */
export function firstLanguage() {
  return navigator.language.startsWith("zh") ? "zh" : "en";
}
