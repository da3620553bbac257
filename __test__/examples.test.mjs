// The examples run as they stand.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const path = (name) => fileURLToPath(new URL(`../examples/${name}`, import.meta.url));

test("the example agent answers every question and sends less than it holds", () => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [path("agent.mjs")], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.equal(stdout.match(/^> /gm).length, 8);
  const [, without, sent] = /: (\d+) tokens without the hook, (\d+) sent$/m.exec(stdout);
  assert.ok(Number(sent) < Number(without), stdout.slice(-200));
});

/** What each example prints when all of it goes well. */
const PRINTS = {
  "ai-sdk.mjs": /^the newest result is whole: true\n$/m,
  "endless.mjs":
    /^200 of 200 questions answered through \d{2,} new .*\n20 of 20 questions about earlier ones answered right$/m,
  "guard.mjs": /^as a hook: 24 messages\n$/m,
  "openclaw.mjs": /^questions in view: 59 of 59\n$/m,
  "pipeline-worker.mjs": /^turns that were cut: 2\n$/m,
  "planner.mjs":
    /planner: read VERSION\.txt\n {2}\(compressed: .*json; VERSION\.txt was tried before and is not there\n.*done: the version is \d/s,
  "recall.mjs": /^Found it\.\n$/m,
};
for (const [name, prints] of Object.entries(PRINTS)) {
  test(`examples/${name} runs as it stands`, () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [path(name)], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.match(stdout, prints);
  });
}
