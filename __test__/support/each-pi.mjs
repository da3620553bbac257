// Registers a suite for each pi version. Those that this Node is too old for are skipped with a word on it.
import { test } from "node:test";
import { needsNode22, piVersions } from "../pi/versions.mjs";

const [major, minor] = process.versions.node.split(".").map(Number);
const isNode22 = major > 22 || (major === 22 && minor >= 19);

/** Registers `suite(version)` for every pi version that runs on this Node. */
export async function forEachPi(suite, versions = Object.keys(piVersions)) {
  for (const version of versions) {
    if (isNode22 || !needsNode22.has(version)) await suite(version);
    else test(`pi ${version}`, { skip: "needs Node 22.19: `npm run test:js`" });
  }
}
