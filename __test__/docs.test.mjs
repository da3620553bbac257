// The documentation keeps step: both READMEs show the same code, and what the pages link to is there.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import contract from "../lib/contract.js";
import options from "../lib/hook/options.js";
import { PAGES, withFigures } from "../release/pages.mjs";
import { ROOT } from "./support/root.mjs";

const pages = [
  ...readdirSync(ROOT).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(ROOT, "docs")).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : [])),
];

const { checkHookOptions } = options;

const READMES = ["README.md", "README.zh-CN.md"];
const ECONOMICS = "docs/how-it-works.md";

const read = (name) => readFileSync(join(ROOT, name), "utf8");

/** Code blocks without their comments: those are in the reader's language. */
function codeOf(text) {
  return Array.from(text.matchAll(/^```(\w+)\n(.*?)^```$/gms), ([, language, code]) => {
    const comment = language === "sh" ? /\s*#.*$/gm : /\s*\/\/.*$/gm;
    return `${language}\n${code.replace(comment, "")}`;
  });
}

/** Our own files on the web: a package does not carry the pages that its README names. */
const WEB =
  /^https:\/\/(?:github\.com\/pi-strata\/pi-strata\/blob|raw\.githubusercontent\.com\/pi-strata\/pi-strata)\/main\//;

/** The files of the repository that a page links to, from its root. */
function linksOf(page) {
  const targets = read(page).matchAll(/(?:\]\(|^\[\w+\]: )([^)#\s]+)/gm);
  return Array.from(targets, ([, target]) => target).flatMap((target) => {
    if (WEB.test(target)) return [target.replace(WEB, "")];
    return /^https?:/.test(target) ? [] : [join(dirname(page), target)];
  });
}

test("README.md and README.zh-CN.md show the same code", () => {
  const [english, chinese] = READMES.map((page) => codeOf(read(page)));
  assert.ok(english.length > 0);
  assert.deepEqual(chinese, english);
});

test("a README is read in a minute, and what it links to is on the web or in the package", () => {
  const { files } = JSON.parse(read("package.json"));
  for (const page of READMES) {
    assert.ok(read(page).split("\n").length <= 135, page);
    for (const [, target] of read(page).matchAll(/(?:\]\(|^\[\w+\]: )([^)#\s]+)/gm))
      assert.ok(/^https:/.test(target) || READMES.includes(target) || files.includes(target), target);
  }
});

test("what the pages link to is there", () => {
  for (const page of pages) {
    for (const target of linksOf(page))
      assert.ok(existsSync(join(ROOT, target)), `${page} links to ${target}`);
  }
});

test("whatever is built in and written by others is named, with its copyright", () => {
  const notices = read("THIRD-PARTY-NOTICES.md");
  const lock = read("Cargo.lock");
  for (const crate of ["napi", "regex-automata", "serde_json", "xxhash-rust", "parking_lot"]) {
    const [, version] = new RegExp(`name = "${crate}"\nversion = "(.*?)"`).exec(lock);
    assert.ok(notices.includes(`- ${crate} ${version}, `), crate);
  }
  for (const owner of ["Leon Sorokin", "OpenAI, Shantanu Jain", "UNICODE, INC. LICENSE"])
    assert.ok(notices.includes(owner), owner);
  assert.match(
    read("lib/inspector/page.html"),
    /with uPlot:\s+The MIT License.*Copyright \(c\) \d+ Leon Sorokin.*Permission is hereby granted/s,
  );
});

test("what the pages run is there", () => {
  const { scripts } = JSON.parse(read("package.json"));
  for (const page of pages) {
    const text = read(page);
    for (const [, script] of text.matchAll(/npm run ([\w:-]+)/g))
      assert.ok(script in scripts, `${page} runs ${script}`);
    for (const [, file] of text.matchAll(/node (?:--\S+ )*((?:examples|bench|__test__)\/[\w/.-]+)/g))
      assert.ok(existsSync(join(ROOT, file)), `${page} runs ${file}`);
  }
});

test("what CONTRIBUTING.md names is there", () => {
  const { exports } = JSON.parse(read("package.json"));
  const text = read("CONTRIBUTING.md")
    .replace(/^ *```.*?^ *```$/gms, "")
    .replace(/\s+/g, " ");
  const isPath = (word) => /^[\w.*-]+\/|^[\w-]+\.(?:md|d\.ts|js|mjs|ts|rs|toml|json)$/.test(word);
  const named = Array.from(text.matchAll(/`([^`]+)`/g), ([, code]) => code.split(" ").filter(isPath)).flat();
  assert.ok(named.length > 40);
  for (const name of named) {
    const [there] = name.split("*");
    assert.ok(existsSync(join(ROOT, there)) || `./${name.split("/").slice(1).join("/")}` in exports, name);
  }
  for (const [, name, file] of text.matchAll(/`(\w+)` (?:in |of |\()`([\w./]+\.\w+)`/g))
    assert.match(read(file), new RegExp(`\\b${name}\\b`), `${name} in ${file}`);
});

test("the pages show the figures of the last runs: `npm run bench:readme` puts them in", () => {
  for (const page of PAGES) {
    const text = read(page);
    assert.equal(withFigures(text), text, page);
    const emptied = text.replace(
      /^(\| (?:pi-strata|everyCall|qwen3|.*<!-- cold only -->) \|).*$/gm,
      "$1 0 |",
    );
    assert.notEqual(emptied, text, page);
    assert.equal(withFigures(emptied), text, page);
  }
});

test("the explanation that the pages show is what the command prints", () => {
  const command = /`pi-strata (explain \S+ --call \d+)`/.exec(read(ECONOMICS))[1].replace(" ", " examples/");
  const { stdout } = spawnSync(process.execPath, ["bin/pi-strata.js", ...command.split(" ")], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const shown = /^```\n(schedule .*?)^```$/ms.exec(read(ECONOMICS))[1];
  assert.ok(
    stdout.includes(shown),
    `the page shows\n${shown}\nand the command prints\n${stdout.slice(0, 600)}`,
  );
});

test("the tables of options have every option of the hook, with its default", () => {
  // Completed, `cache` is what "auto" begins with.
  const defaults = { ...checkHookOptions("test", {}), cache: "auto" };
  const table = /^\| `contextWindow`.*?\n\n/ms.exec(read("docs/settings.md"))[0];
  const rows = table
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [, names, values] = line.split("|");
      const each = values.split(", ");
      return Array.from(names.matchAll(/\w+/g), ([name], i) => [name, each[i]?.replace(/[`\s]/g, "") ?? ""]);
    });
  assert.deepEqual(
    Object.fromEntries(rows),
    Object.fromEntries(
      Object.entries(defaults).map(([name, value]) => [
        name,
        value === undefined ? "" : JSON.stringify(value),
      ]),
    ),
  );
});

test("every page of docs can be reached from both READMEs", () => {
  for (const start of READMES) {
    const reached = new Set([start]);
    for (const page of reached)
      for (const target of linksOf(page)) if (target.endsWith(".md")) reached.add(target);
    for (const page of pages.filter((name) => name.startsWith("docs/")))
      assert.ok(reached.has(page), `${page} from ${start}`);
  }
});

test("the economies of docs/settings.md are the engine's", () => {
  const rows = Array.from(read("docs/settings.md").matchAll(/^\| `"(\w+)"`.*? \| (\d+) \|$/gm));
  const economies = Object.entries(contract.economies).map(([name, { default: tokens }]) => [name, tokens]);
  assert.deepEqual(
    rows.map(([, economy, tokens]) => [economy, Number(tokens)]),
    economies,
  );
});
