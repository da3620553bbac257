// Importing the package loads next to nothing, and each part when it is first used; and what each path exports.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { test } from "node:test";
import ts from "typescript";
import * as strata from "../index.js";
import { printedBy, ROOT } from "./support/root.mjs";

const require = createRequire(import.meta.url);

/** The package's files that a script has loaded when it ends, `strata` being the package. */
function loadedBy(how, script) {
  const report = `const { createRequire } = process.getBuiltinModule("node:module");
    const files = Object.keys(createRequire(${JSON.stringify(ROOT)}).cache);
    console.log(JSON.stringify(files.map((file) => file.slice(${ROOT.length}))));`;
  const flags = how === "import" ? ["--input-type=module"] : [];
  const start =
    how === "import" ? 'import * as strata from "./index.js";' : 'const strata = require("./index.js");';
  return JSON.parse(printedBy(start + script + report, ...flags));
}

for (const how of ["import", "require"]) {
  test(`${how} alone loads nothing but the table of options`, () => {
    assert.deepEqual(loadedBy(how, "").toSorted(), ["contract.json", "index.js", "lib/native/floor.js"]);
  });

  test(`${how}: counting loads the counter and the addon`, () => {
    const files = loadedBy(how, 'strata.countTokens("Hello");');
    assert.ok(files.some((file) => file.endsWith(".node")));
    assert.deepEqual(files.filter((file) => file.startsWith("lib/")).toSorted(), [
      "lib/contract.js",
      "lib/helpers.js",
      ...["refusals", "snapshot"].map((name) => `lib/hook/${name}.js`),
      ...["addon", "floor", "native"].map((name) => `lib/native/${name}.js`),
      "lib/options.js",
      // The messages of every stack are counted.
      ...["ai-sdk", "index", "parts", "shapes", "text"].map((name) => `lib/shapes/${name}.js`),
      "lib/tools/count.js",
    ]);
  });

  test(`${how}: making a hook loads no addon`, () => {
    const files = loadedBy(how, "strata.createTransformContext();");
    assert.ok(files.includes("lib/hook/hook.js"));
    assert.ok(!files.some((file) => file.endsWith(".node") || file.startsWith("lib/sessions/")));
  });
}

/** What the guard's first host imports from one path; the root has them too. */
const GUARD_AND_ROOT = ["estimateTokens", "getContextWindow"];

test("the root has at most 25 names, and only the guard names what the root does", () => {
  const { exports } = require("../package.json");
  const paths = [".", "./guard", "./ledger", "./pipeline", "./sessions", "./tokens"];
  const names = paths.map((path) => Object.keys(require(join("..", exports[path].default))));
  assert.ok(names[0].length <= 25, names[0].join(", "));
  const all = names.flat();
  const twice = all.filter((name, i) => all.indexOf(name) !== i);
  assert.deepEqual(twice.toSorted(), GUARD_AND_ROOT);
});

test("every path declares what it exports", () => {
  const { exports } = require("../package.json");
  for (const [path, { types, default: file }] of Object.entries(exports)) {
    if (!types?.endsWith(".d.ts") || path.includes("*")) continue;
    const program = ts.createProgram([join(ROOT, types)], { module: ts.ModuleKind.NodeNext });
    const checker = program.getTypeChecker();
    const symbol = checker.getSymbolAtLocation(program.getSourceFile(join(ROOT, types)));
    const isValue = (found) => resolved(checker, found).flags & ts.SymbolFlags.Value;
    const declared = checker
      .getExportsOfModule(symbol)
      .filter(isValue)
      .map(({ name }) => name);
    assert.deepEqual(Object.keys(require(join("..", file))).toSorted(), declared.toSorted(), path);
  }
});

test("projects that resolve modules as Node 10 did find every entry's types, though they know nothing of `exports`", () => {
  const { exports } = require("../package.json");
  const real = (file) => file.replace("/app/node_modules/pi-strata/", ROOT);
  const host = {
    fileExists: (file) => ts.sys.fileExists(real(file)),
    readFile: (file) => ts.sys.readFile(real(file)),
  };
  const options = { moduleResolution: ts.ModuleResolutionKind.Node10, module: ts.ModuleKind.CommonJS };
  const typed = Object.entries(exports).filter(([, { types }]) => types?.endsWith(".d.ts"));
  assert.ok(typed.length >= 7);
  for (const [entry, { types }] of typed) {
    const name = `pi-strata${entry.slice(1)}`.replace("*", "o200k_base");
    const { resolvedModule } = ts.resolveModuleName(name, "/app/index.ts", options, host);
    assert.equal(resolve(real(resolvedModule?.resolvedFileName ?? name)), join(ROOT, types), name);
  }
});

/** What a name stands for where it is exported again. */
function resolved(checker, symbol) {
  return symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

test("what is loaded late has its own name", () => {
  for (const [name, value] of Object.entries(strata)) {
    if (typeof value === "function") assert.equal(value.name, name);
  }
});

test("works without the globals that jsdom has not, or has of its own", () => {
  const script = `for (const name of ["structuredClone", "TextDecoder"]) delete globalThis[name];
    const file = new URL("file:///none.json");
    globalThis.URL = class {};
    const { ContextManager } = require("./lib/sessions/index.js");
    const { getEncoding, loadEncoding } = require("./lib/tokens/index.js");
    const manager = new ContextManager();
    for (let n = 0; n < 200; n += 1) manager.addMessage("a", { role: n % 2 ? "assistant" : "user", content: "word " + n });
    const encoding = getEncoding("cl100k_base");
    const text = [...encoding.decodeGenerator(encoding.encode("a 世界"))].join("");
    loadEncoding(file).catch(({ code, message }) => console.log(text, /none.json/.test(message)));`;
  assert.equal(printedBy(script), "a 世界 true\n");
});
