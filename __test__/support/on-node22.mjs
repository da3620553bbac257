// Runs a test file of pi versions: here for those this Node will do for, else in a Node 22 of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { needsNode22, node22Path, piVersions } from "../pi/versions.mjs";

/** The versions a child process is asked to run, and no others. */
const ASKED = process.env.STRATA_PI_VERSIONS?.split(",");

const [major, minor] = process.versions.node.split(".").map(Number);
const isNode22 = major > 22 || (major === 22 && minor >= 19);

/**
 * Registers `suite(version)` for every pi version.
 *
 * @param options.file the test file's URL, which a Node 22 runs again
 * @param options.minPassed tests that must have passed there
 * @param options.versions other versions than those of pi-agent-core
 */
export async function forEachPi(suite, options) {
  const { file, minPassed, versions = Object.keys(piVersions), timeoutMs = 300_000 } = options;
  for (const version of ASKED ?? versions) {
    if (isNode22 || !needsNode22.has(version)) await suite(version);
    else test(`pi ${version} on Node 22`, (t) => runOnNode22(t, version, { file, minPassed, timeoutMs }));
  }
}

function runOnNode22(t, version, { file, minPassed, timeoutMs }) {
  const env = { ...process.env, STRATA_PI_VERSIONS: version };
  // Set by the runner of this file; a child that sees it reports in the runner's own wire format.
  delete env.NODE_TEST_CONTEXT;
  const args = ["--test", "--test-reporter=tap", fileURLToPath(file)];
  const child = spawnSync(node22Path(), args, { env, encoding: "utf8", timeout: timeoutMs });
  assert.equal(child.status, 0, `${child.stdout}\n${child.stderr}`);
  assert.match(child.stdout, /^# fail 0$/m);
  const passed = Number(/^# pass (\d+)$/m.exec(child.stdout)?.[1]);
  assert.ok(passed >= minPassed, `${passed} tests ran:\n${child.stdout}`);
  for (const [, line] of child.stdout.matchAll(/^ *# (wire: .*)$/gm)) t.diagnostic(line);
}
