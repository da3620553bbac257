// Runs the agent suite in every pi version: here where this Node will do, else in a Node 22 of its own.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { needsNode22, node22Path, piVersions } from "./pi/versions.mjs";
import { agentSuite } from "./support/agent-suite.mjs";

/** The versions a child process is asked to run, and no others. */
const ASKED = process.env.STRATA_PI_VERSIONS?.split(",");

const [major, minor] = process.versions.node.split(".").map(Number);
const isNode22 = major > 22 || (major === 22 && minor >= 19);

for (const version of ASKED ?? Object.keys(piVersions)) {
  if (isNode22 || !needsNode22.has(version)) agentSuite(version);
  else test(`Agent ${version} on Node 22`, () => runOnNode22(version));
}

function runOnNode22(version) {
  const env = { ...process.env, STRATA_PI_VERSIONS: version };
  // Set by the runner of this file; a child that sees it reports in the runner's own wire format.
  delete env.NODE_TEST_CONTEXT;
  const file = fileURLToPath(import.meta.url);
  const args = ["--test", "--test-reporter=tap", file];
  const child = spawnSync(node22Path(), args, { env, encoding: "utf8", timeout: 300_000 });
  assert.equal(child.status, 0, `${child.stdout}\n${child.stderr}`);
  assert.match(child.stdout, /^# fail 0$/m);
  const passed = Number(/^# pass (\d+)$/m.exec(child.stdout)?.[1]);
  assert.ok(passed >= 9, `${passed} tests ran:\n${child.stdout}`);
}
