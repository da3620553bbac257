// The tables of cases in __test__/expected: JSON, and texts of sections that each open with `## ` and a title.

import { readFileSync } from "node:fs";

const read = (name) => readFileSync(new URL(`../expected/${name}`, import.meta.url), "utf8");

/** A table in JSON. `$name` in it is what `names` has under that name, if anything. */
export function table(file, names = {}) {
  const filled = (all, name) => (name in names ? JSON.stringify(names[name]).slice(1, -1) : all);
  return JSON.parse(read(file).replaceAll(/\$(\w+)/g, filled));
}

/** The sections of a text, each `[title, lines]`. */
export function sectionsOf(file) {
  const sections = read(file).split("\n## ").slice(1);
  return sections.map((section) => {
    const [title, ...lines] = section.trimEnd().split("\n");
    return [title, lines];
  });
}
