// ARCHITECTURE.md against the sources: every room is named, and each knows only rooms that its table puts above it.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, sep } from "node:path";
import { test } from "node:test";
import { ROOT } from "./support/root.mjs";

const ARCHITECTURE = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
/** Rooms by their place in the tables: `src/text`, `lib/contract.js`. */
const ROOMS = Array.from(ARCHITECTURE.matchAll(/^\| `((?:src|lib)\/[\w/.-]+)` \|/gm), ([, room]) => room);

/** Files in `folder` whose names end like that, from the root on, with `/` between. */
function filesIn(folder, ending) {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
    .filter((name) => ending.test(name))
    .map((name) => join(folder, name).split(sep).join("/"));
}

/** The innermost room that holds a path or a module. */
function roomOf(path) {
  const isIn = (room) => path === room || path.startsWith(`${room}/`) || path.startsWith(`${room}.`);
  return ROOMS.filter(isIn).toSorted((a, b) => b.length - a.length)[0];
}

/** The product's own part of a Rust file: neither comments nor the unit tests at its end. */
function productOf(text) {
  return text.replace(/^\s*\/\/.*$/gm, "").replace(/^#\[cfg\(test\)\]\nmod \w+ \{.*/ms, "");
}

/** The modules that a file names by their path from the crate on, braces opened. */
function modulesNamed(file, text) {
  const module = file.replace(/(\/mod)?\.rs$/, "");
  const above = (text.match(/(?<![\w:])super::/g) ?? []).length > 0 ? dirname(module) : undefined;
  const paths = Array.from(text.matchAll(/\bcrate::([\w:]+)(?:\{([^}]*)\})?/g), ([, path, list]) => {
    const ends = list === undefined ? [""] : list.split(",").map((name) => name.trim());
    return ends.map((end) => `src/${path}${end}`.replaceAll("::", "/"));
  });
  const supers = Array.from(text.matchAll(/(?<![\w:])super::(\w+)/g), ([, name]) => `${above}/${name}`);
  return [...paths.flat(), ...supers];
}

/** The files that a script loads by relative path. */
function filesNamed(file, text) {
  const specifiers = text.matchAll(/(?:require\(|from |import\()"(\.[^"]+)"/g);
  return Array.from(specifiers, ([, specifier]) =>
    normalize(join(dirname(file), specifier))
      .split(sep)
      .join("/"),
  );
}

const RUST = filesIn("src", /\.rs$/).filter((file) => !/\/tests?\.rs$|\/tests\//.test(file));
const KNOWS = [
  ...RUST.filter((file) => file !== "src/lib.rs").flatMap((file) => {
    const text = productOf(readFileSync(join(ROOT, file), "utf8"));
    return modulesNamed(file, text).map((named) => [file, named]);
  }),
  ...filesIn("lib", /\.m?js$/).flatMap((file) =>
    filesNamed(file, readFileSync(join(ROOT, file), "utf8")).map((named) => [file, named]),
  ),
];

test("ARCHITECTURE.md names every room there is, and no other", () => {
  const modules = (folder) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory() || entry.name.endsWith(".rs"))
      .map(({ name }) => `${folder}/${name.replace(/\.rs$/, "")}`)
      .filter((room) => !/\/(lib|mod)$/.test(room));
  const folders = ["src", "src/context", "src/context/facts", "src/context/request"];
  const there = [...new Set(folders.flatMap(modules))];
  assert.deepEqual(ROOMS.filter((room) => room.startsWith("src/")).toSorted(), there.toSorted());
  const inLib = readdirSync(join(ROOT, "lib")).map((name) => `lib/${name}`);
  assert.deepEqual(ROOMS.filter((room) => room.startsWith("lib/")).toSorted(), inLib.toSorted());
  const top = readdirSync(ROOT, { withFileTypes: true })
    .filter(
      (entry) => entry.isDirectory() && !/^\.|^(node_modules|target|docs|examples|src|lib)$/.test(entry.name),
    )
    .map(({ name }) => name);
  for (const name of top) assert.ok(ARCHITECTURE.includes(`\`${name}/\``), name);
});

test("at most three files stand at the top of lib", () => {
  const files = readdirSync(join(ROOT, "lib"), { withFileTypes: true }).filter((entry) => entry.isFile());
  assert.ok(files.length <= 3);
});

test("a room knows only rooms above it: no circle, no arrow back", () => {
  const wrong = new Set();
  let arrows = 0;
  for (const [file, named] of KNOWS) {
    const [from, to] = [roomOf(file), roomOf(named)];
    // A room may be part of another, and knows what its parts do.
    if (to === undefined || from === to || to.startsWith(`${from}/`)) continue;
    arrows += 1;
    if (ROOMS.indexOf(to) > ROOMS.indexOf(from)) wrong.add(`${from} knows ${to} (${file})`);
  }
  assert.ok(arrows > 200, String(arrows));
  assert.deepEqual([...wrong], []);
});

test("neither language reads the other's files", () => {
  for (const file of RUST) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const [, path] of text.matchAll(/include_(?:str|bytes)!\("([^"]+)"\)/g))
      assert.match(normalize(join(dirname(file), path)), /^src/, file);
  }
  for (const [file, named] of KNOWS.filter(([file]) => file.startsWith("lib/")))
    assert.doesNotMatch(named, /^(src|bench|__test__|tests)\//, file);
});

test("no test depends on a bench", () => {
  const suites = readdirSync(join(ROOT, "__test__")).filter((name) => name.endsWith(".mjs"));
  for (const file of [...suites.map((name) => `__test__/${name}`), ...filesIn("__test__/support", /\.mjs$/)])
    for (const named of filesNamed(file, readFileSync(join(ROOT, file), "utf8")))
      assert.doesNotMatch(named, /^bench\//, file);
});
