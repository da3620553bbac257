// The examples run as they stand.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "./support/temporary.mjs";

const path = (name) => fileURLToPath(new URL(`../examples/${name}`, import.meta.url));

test("the example agent answers every question and sends less than it holds", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path("agent.mjs")], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.equal(stdout.match(/^> /gm).length, 8);
  const [, without, sent] = /: (\d+) tokens without the hook, (\d+) sent$/m.exec(stdout);
  assert.ok(Number(sent) < Number(without), stdout.slice(-200));
});

/** The line each example ends on when all of it went well. */
const lastLines = {
  "ai-sdk.mjs": "the newest result is whole: true",
  "openclaw.mjs": "questions in view: 59 of 59",
  "guard.mjs": "as a hook: 24 messages",
  "pipeline-worker.mjs": "turns that were cut: 2",
  "recall.mjs": "Found it.",
};
for (const [name, lastLine] of Object.entries(lastLines)) {
  test(`examples/${name} runs as it stands`, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path(name)], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.equal(stdout.trimEnd().split("\n").at(-1), lastLine);
  });
}

test("examples/record.mjs writes to the file it is given, and never over one that exists", () => {
  const record = (...args) =>
    spawnSync(process.execPath, [path("record.mjs"), ...args], { encoding: "utf8" });
  const before = readFileSync(path("session.jsonl"));
  for (const args of [[], [path("session.jsonl")]]) {
    const { status, stdout } = record(...args);
    assert.deepEqual([status, stdout], [2, ""]);
  }
  assert.deepEqual(readFileSync(path("session.jsonl")), before);
  const file = join(temporaryFolder("record"), "session.jsonl");
  assert.equal(record(file).status, 0);
  assert.match(readFileSync(file, "utf8"), /^\{"type":"session","version":3,/);
});
