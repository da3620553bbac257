// What an old Node or an old Electron is told: one sentence. The files it reads first are in old JavaScript.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const pathOf = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));

for (const name of ["bin/pi-strata.js", "index.js", "lib/native/floor.js"]) {
  test(`${name} can be read by an old Node`, () => {
    const text = readFileSync(pathOf(name), "utf8");
    const written = (target) => ts.transpile(text, { target, module: ts.ModuleKind.CommonJS });
    const { ES2018, ESNext } = ts.ScriptTarget;
    assert.equal(written(ES2018), written(ESNext));
  });
}

/** Runs `work` in a process that says it is of these versions. */
function asIf(versions, work) {
  const lie = Object.entries(versions).map(
    ([name, value]) => `Object.defineProperty(process.versions, "${name}", { value: "${value}" });`,
  );
  return spawnSync(process.execPath, ["-e", `${lie.join("")} ${work}`], { encoding: "utf8" });
}

test("an old Node is told by the command-line tool", () => {
  const { status, stdout, stderr } = asIf(
    { node: "16.20.2" },
    `require(${JSON.stringify(pathOf("bin/pi-strata.js"))})`,
  );
  assert.deepEqual([status, stdout], [2, ""]);
  assert.equal(stderr, "pi-strata needs Node 20 or newer, or Electron 29 or newer; this is Node 16.20.2.\n");
});

test("an old Electron is told by the package", () => {
  const load = `try { require(${JSON.stringify(pathOf("index.js"))}) } catch (error) { console.log(error.message) }`;
  const { stdout } = asIf({ node: "12.16.3", electron: "9.4.4" }, load);
  assert.equal(stdout, "pi-strata needs Node 20 or newer, or Electron 29 or newer; this is Node 12.16.3.\n");
});
