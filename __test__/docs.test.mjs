// The documentation keeps step: both READMEs show the same code, and what the pages link to is there.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { signed, withFigures } from "../bench/readme.mjs";
import strata from "../index.js";
import options from "../lib/hook/options.js";
import native from "../lib/native/native.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const pages = [
  ...readdirSync(root).filter((name) => name.endsWith(".md")),
  ...readdirSync(join(root, "docs")).flatMap((name) => (name.endsWith(".md") ? [`docs/${name}`] : [])),
];

const { checkHookOptions } = options;

const read = (name) => readFileSync(join(root, name), "utf8");

/** Code blocks without their comments: those are in the reader's language. */
function codeOf(text) {
  return Array.from(text.matchAll(/^```(\w+)\n(.*?)^```$/gms), ([, language, code]) => {
    const comment = language === "sh" ? /\s*#.*$/gm : /\s*\/\/.*$/gm;
    return `${language}\n${code.replace(comment, "")}`;
  });
}

test("README.md and README.zh-CN.md show the same code", () => {
  const english = codeOf(read("README.md"));
  assert.ok(english.length > 0);
  assert.deepEqual(codeOf(read("README.zh-CN.md")), english);
});

test("what the pages link to is there", () => {
  for (const page of pages) {
    for (const [, target] of read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g))
      assert.ok(existsSync(join(root, dirname(page), target)), `${page} links to ${target}`);
  }
});

test("what the pages import and run is there", () => {
  const { scripts } = JSON.parse(read("package.json"));
  for (const page of pages) {
    const text = read(page);
    for (const [, names] of text.matchAll(/import \{([^}]*)\} from "pi-strata"/g)) {
      for (const name of names.split(",").map((name) => name.trim()))
        assert.ok(name in strata, `${page} imports ${name}`);
    }
    for (const [, script] of text.matchAll(/npm run ([\w:]+)/g))
      assert.ok(script in scripts, `${page} runs ${script}`);
    for (const [, file] of text.matchAll(/node (?:--\S+ )*((?:examples|bench|__test__)\/[\w/.-]+)/g))
      assert.ok(existsSync(join(root, file)), `${page} runs ${file}`);
  }
});

test("what CONTRIBUTING.md names is there", () => {
  const { exports } = JSON.parse(read("package.json"));
  const text = read("CONTRIBUTING.md")
    .replace(/^```.*?^```$/gms, "")
    .replace(/\s+/g, " ");
  const isPath = (word) => /^[\w.*-]+\/|^[\w-]+\.(?:md|d\.ts|js|mjs|ts|rs|toml|json)$/.test(word);
  const named = Array.from(text.matchAll(/`([^`]+)`/g), ([, code]) => code.split(" ").filter(isPath)).flat();
  assert.ok(named.length > 40);
  for (const name of named) {
    const [there] = name.split("*");
    assert.ok(existsSync(join(root, there)) || `./${name.split("/").slice(1).join("/")}` in exports, name);
  }
  for (const [, name, file] of text.matchAll(/`(\w+)` (?:in |of |\()`([\w./]+\.\w+)`/g))
    assert.match(read(file), new RegExp(`\\b${name}\\b`), `${name} in ${file}`);
});

test("the READMEs show the figures of the last runs: `npm run bench:readme` puts them in", () => {
  for (const page of ["README.md", "README.zh-CN.md"]) {
    const text = read(page);
    assert.equal(withFigures(text), text, page);
    assert.equal(withFigures(text.replace(/^(\| (?:pi-strata|everyCall) \|).*$/gm, "$1 0 |")), text, page);
  }
});

test("the explanation that the READMEs show is what the command prints", () => {
  const command = /`pi-strata (explain \S+ --call \d+)`/
    .exec(read("README.md"))[1]
    .replace(" ", " examples/");
  const { stdout } = spawnSync(process.execPath, ["bin/pi-strata.js", ...command.split(" ")], {
    cwd: root,
    encoding: "utf8",
  });
  for (const page of ["README.md", "README.zh-CN.md"]) {
    const shown = /^```\n(schedule .*?)^```$/ms.exec(read(page))[1];
    assert.ok(
      stdout.includes(shown),
      `${page} shows\n${shown}\nand the command prints\n${stdout.slice(0, 600)}`,
    );
  }
});

test("the bill that the READMEs show is what the command prints", () => {
  const args = ["bin/pi-strata.js", "cache", "examples/session.jsonl"];
  const env = { ...process.env, NO_COLOR: "1" };
  const { stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8", env });
  for (const page of ["README.md", "README.zh-CN.md"]) assert.ok(read(page).includes(stdout.trimEnd()), page);
});

test("the tables of options have every option of the hook, with its default", () => {
  // Completed, `cache` is what "auto" begins with.
  const defaults = { ...checkHookOptions("test", {}), cache: "auto" };
  for (const page of ["README.md", "README.zh-CN.md"]) {
    const table = /^\| `contextWindow`.*?\n\n/ms.exec(read(page))[0];
    const rows = table
      .trim()
      .split("\n")
      .flatMap((line) => {
        const [, names, values] = line.split("|");
        const each = values.split(", ");
        return Array.from(names.matchAll(/\w+/g), ([name], i) => [
          name,
          each[i]?.replace(/[`\s]/g, "") ?? "",
        ]);
      });
    assert.deepEqual(
      Object.fromEntries(rows),
      Object.fromEntries(
        Object.entries(defaults).map(([name, value]) => [
          name,
          value === undefined ? "" : JSON.stringify(value),
        ]),
      ),
      page,
    );
  }
});

test("a session that costs more with the hook does not read as a saving", () => {
  assert.deepEqual([-0.3, 0.157, 0, -0.001].map(signed), ["−30 %", "+16 %", "0 %", "0 %"]);
  for (const page of ["README.md", "README.zh-CN.md"]) assert.doesNotMatch(read(page), /[−+-]-\d/, page);
});

/** Words of the tables, each explained by the sentence that matches; terms stand in the text no earlier than that. */
const EXPLAINED = [
  ["README.md", /prefix cache/, /\*prefix cache\*/],
  ["README.md", /breakpoint cache/, /\*breakpoint cache\*/],
  ["README.md", /recall \|/, /\*Recall\* is/],
  ["README.md", /sticky, faithful/, /`faithful`, `balanced` and `thrifty` are/],
  ["README.zh-CN.md", /前缀缓存/, /\*前缀缓存\*/],
  ["README.zh-CN.md", /断点缓存/, /\*断点缓存\*/],
  ["README.zh-CN.md", /\| 召回率/, /\*召回率\*：/],
];

test("no term of the tables comes before it is explained", () => {
  for (const [page, term, explanation] of EXPLAINED) {
    const text = read(page);
    const [used, explained] = [term, explanation].map((pattern) => text.search(pattern));
    assert.ok(explained >= 0 && used >= explained - 1, `${page}: ${term} stands before it is explained`);
  }
});

test("every page of docs can be reached from both READMEs", () => {
  for (const start of ["README.md", "README.zh-CN.md"]) {
    const reached = new Set([start]);
    for (const page of reached) {
      for (const [, target] of read(page).matchAll(/\]\((?!https?:|#)([^)#\s]+\.md)/g))
        reached.add(join(dirname(page), target));
    }
    for (const page of pages.filter((name) => name.startsWith("docs/")))
      assert.ok(reached.has(page), `${page} from ${start}`);
  }
});

test("the waters of docs/settings.md are the engine's", () => {
  const rows = Array.from(
    read("docs/settings.md").matchAll(/^\| `"(\w+)"`.*? \| ([\d.]+) \| ([\d.]+) \|$/gm),
  );
  assert.deepEqual(
    rows.map(([, economy, high, low]) => [economy, { high: Number(high), low: Number(low) }]),
    ["faithful", "balanced", "thrifty"].map((economy) => [economy, native.native().watersOf(economy)]),
  );
});
