// What endpoints say of a request that is too long, and of other things: the sections of expected/refusals.txt.

import { sectionsOf } from "./tables.mjs";

const SECTIONS = sectionsOf("refusals.txt");

/** The lines of a section, each as a function of the tokens of the prompt, the limit and the tokens of the answer. */
export function wordsOf(title) {
  const [, lines] = SECTIONS.find(([section]) => section.startsWith(title));
  return lines.map((line) => (n, l, o) => {
    const numbers = { n, l, o, "n+o": n + o, "n-l": n - l, "n-1000": n - 1000 };
    const number = (_, name) => numbers[name] ?? numbers[name[0]].toLocaleString("en");
    return line.replaceAll(/<([nlo][^>]*)>/g, number);
  });
}

/** The lines of all sections, for a prompt over the limit. */
export const LINES = SECTIONS.flatMap(([title]) =>
  wordsOf(title).map((words) => words(71_234, 65_536, 8_000)),
);

/** The lines of a section by the endpoint that stands before the words. */
export function namedWordsOf(title) {
  const named = wordsOf(title).map((words) => {
    const [name] = words(0, 0, 0).split(": ");
    return [name, (...tokens) => words(...tokens).slice(`${name}: `.length)];
  });
  return Object.fromEntries(named);
}

/** Words of endpoints, by the tokens of the prompt and the limit. */
export const REFUSALS = namedWordsOf("too long, by endpoint");
