// What importing the package loads: next to nothing, and each part when it is first used. The classes that are loaded
// late are classes in every way.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import * as strata from "../index.js";

const { ContextManager, SimpleCompressor } = strata;

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** The package's files that a script has loaded when it ends, `strata` being the package. */
function loadedBy(how, script) {
  const report = `const { createRequire } = process.getBuiltinModule("node:module");
    const files = Object.keys(createRequire(${JSON.stringify(ROOT)}).cache);
    console.log(JSON.stringify(files.map((file) => file.slice(${ROOT.length}))));`;
  const flags = how === "import" ? ["--input-type=module"] : [];
  const start =
    how === "import" ? 'import * as strata from "./index.js";' : 'const strata = require("./index.js");';
  return JSON.parse(execFileSync(process.execPath, [...flags, "-e", start + script + report], { cwd: ROOT }));
}

for (const how of ["import", "require"]) {
  test(`${how}: nothing but the options`, () => {
    assert.deepEqual(loadedBy(how, "").toSorted(), [
      "contract.json",
      "index.js",
      "lib/contract.js",
      "lib/hook/options.js",
    ]);
  });

  test(`${how}: counting loads the counter and the addon`, () => {
    const files = loadedBy(how, 'strata.countTokens("Hello");');
    assert.ok(files.some((file) => file.endsWith(".node")));
    assert.deepEqual(files.filter((file) => file.startsWith("lib/")).toSorted(), [
      "lib/contract.js",
      ...["options", "snapshot"].map((name) => `lib/hook/${name}.js`),
      ...["addon", "file", "native", "platform"].map((name) => `lib/native/${name}.js`),
      "lib/tools/count.js",
    ]);
  });

  test(`${how}: making a hook loads no addon`, () => {
    const files = loadedBy(how, "strata.createTransformContext();");
    assert.ok(files.includes("lib/hook/hook.js"));
    assert.ok(!files.some((file) => file.endsWith(".node") || file.startsWith("lib/sessions/")));
  });
}

test("what is loaded late has its own name", () => {
  for (const [name, value] of Object.entries(strata)) {
    if (typeof value === "function") assert.equal(value.name, name);
  }
});

test("a late class: made, inherited from, asked for its instances, told new statics", () => {
  class Mine extends SimpleCompressor {
    compress(messages) {
      return super.compress(messages).slice(-1);
    }
  }
  const mine = new Mine({ maxMessages: 2 });
  const messages = ["a", "b", "c"].map((content) => ({ role: "user", content }));
  assert.deepEqual(mine.compress(messages), messages.slice(-1));
  assert.ok(mine instanceof Mine && mine instanceof SimpleCompressor);
  assert.ok(!(mine instanceof ContextManager));
  assert.equal(Object.getPrototypeOf(new SimpleCompressor()), SimpleCompressor.prototype);
  assert.equal(typeof SimpleCompressor, "function");
  assert.equal(SimpleCompressor.name, "SimpleCompressor");
  assert.equal(ContextManager.getInstance(), ContextManager.getInstance());
  assert.ok(ContextManager.getInstance() instanceof ContextManager);
  assert.throws(() => SimpleCompressor(), TypeError);
  assert.throws(() => new SimpleCompressor({ maxMessages: 0 }), TypeError);
  ContextManager.extra = 1;
  assert.equal(ContextManager.extra, 1);
  delete ContextManager.extra;
  assert.ok(!("extra" in ContextManager));
});
