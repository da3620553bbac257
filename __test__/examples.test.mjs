// The examples run as they stand, and the recorded session is what a pi session has to be.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { validate } from "../index.js";
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

const [header, ...entries] = readFileSync(path("session.jsonl"), "utf8")
  .trimEnd()
  .split("\n")
  .map(JSON.parse);
const messages = entries.filter((entry) => entry.type === "message").map((entry) => entry.message);
const assistants = messages.filter((message) => message.role === "assistant");

test("the recorded session is one path of entries", () => {
  assert.equal(header.type, "session");
  assert.equal(header.version, 3);
  for (const [index, entry] of entries.entries()) {
    assert.equal(entry.parentId, entries[index - 1]?.id ?? null);
  }
  assert.equal(new Set(entries.map((entry) => entry.id)).size, entries.length);
  assert.ok(messages.length >= 150, `${messages.length} messages`);
  assert.deepEqual(validate(messages), []);
});

test("the recorded usage follows the clock and the cache", () => {
  let lastMs = Number.NEGATIVE_INFINITY;
  let prompt = 0;
  for (const { usage, timestamp } of assistants) {
    const isWarm = timestamp - lastMs <= 300_000;
    assert.equal(usage.cacheRead, isWarm ? prompt : 0);
    assert.equal(usage.totalTokens, usage.input + usage.output + usage.cacheRead + usage.cacheWrite);
    assert.ok(usage.cacheWrite > 0);
    prompt = usage.cacheRead + usage.cacheWrite;
    lastMs = timestamp;
  }
  assert.ok(prompt > 100_000, `${prompt} tokens in the last prompt`);
});
