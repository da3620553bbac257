// A panic at every step of every task, in the addon that `cargo test` builds: the process lives, the hook resolves with its
// input, counting fails with a plain error, and the next call works again.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { before, test } from "node:test";
import { ROOT } from "./support/root.mjs";

const FAULTY = path.join(ROOT, "target", "pi-strata-faults.node");
const LIBRARY = { linux: "libpi_strata.so", darwin: "libpi_strata.dylib", win32: "pi_strata.dll" };
const PANICS = 1000;

before(() => {
  // Where `cargo test` has built it already: with debug assertions it can be made to panic.
  const flags = ["test", "--no-run", "--quiet", "--target-dir", "target"];
  execFileSync("cargo", flags, { cwd: ROOT, stdio: ["ignore", "ignore", "inherit"] });
  copyFileSync(path.join(ROOT, "target", "debug", "deps", LIBRARY[process.platform]), FAULTY);
});

const SCRIPT = path.join(ROOT, "__test__", "support", "fault-script.mjs");

test(`${PANICS} injected panics, one at every step of every task`, (t) => {
  const env = { ...process.env, NAPI_RS_NATIVE_LIBRARY_PATH: FAULTY };
  const options = { encoding: "utf8", env };
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [SCRIPT, String(PANICS)], options);
  assert.deepEqual([status, signal, stderr], [0, null, ""]);
  const { injected } = JSON.parse(stdout);
  t.diagnostic(`${injected} panics injected, 0 processes died`);
  assert.ok(injected >= PANICS);
});

test("the shipped addon cannot be made to panic", () => {
  const binding = createRequire(import.meta.url)("../lib/native/native.js").native();
  assert.equal(binding.armFault, undefined);
  assert.ok(!readFileSync(path.join(ROOT, "binding.d.ts"), "utf8").includes("armFault"));
});
