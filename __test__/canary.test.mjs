// No text of a conversation in anything that leaves by the side: events, errors, the process's own output. Every text a
// message can hold carries a canary.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { countTokens, createTransformContext, repair, status, validate } from "../index.js";
import { conversation } from "./support/transcripts.mjs";

const CANARY = "canary7f3a";
const OPTIONS = [
  {},
  { contextWindow: 2000, reserveTokens: 100, keepRecentMessages: 4, keepRecentToolResults: 1 },
  { contextWindow: 300, reserveTokens: 0, keepRecentMessages: 0 },
  { contextWindow: () => Number.NaN },
  {
    contextWindow: () => {
      throw new Error(CANARY);
    },
  },
  { contextWindow: () => CANARY },
  {
    minSummaryChars: 0,
    marker: () => {
      throw new Error(CANARY);
    },
  },
];

test("events say nothing of what was said", async () => {
  const seen = new Set();
  // A listener that throws changes nothing, so it must not be the one to judge.
  const leaks = new Set();
  const onEvent = (event) => {
    seen.add(event.type);
    if (JSON.stringify(event).includes(CANARY)) leaks.add(event.type);
  };
  for (const options of OPTIONS) {
    const hook = createTransformContext({ schedule: "everyCall", ...options, onEvent });
    for (let seed = 0; seed < 60; seed += 1) {
      const messages = conversation(seed, { length: 120, noise: seed % 20, mark: CANARY });
      if (seed % 10 === 9) messages.push(unreadable());
      await hook(messages);
      assert.ok(!JSON.stringify(validate(messages)).includes(CANARY));
      repair(messages);
    }
  }
  const expected =
    "contextOverflow failed imagesOmitted messagesDropped optionFailed repaired shrunk thinkingStripped toolResultSummarized transformed";
  assert.equal([...seen].sort().join(" "), expected);
  assert.deepEqual([...leaks], []);
  assert.ok(!JSON.stringify(status()).includes(CANARY));
});

test("errors say nothing of what was said", () => {
  const bad = [[CANARY], { text: CANARY, toString: () => CANARY }];
  for (const value of bad) {
    for (const run of [countTokens, validate, repair]) {
      try {
        run(value);
      } catch (error) {
        assert.ok(!`${error.message}${error.stack}`.includes(CANARY), run.name);
      }
    }
  }
});

test("nothing is printed", () => {
  const index = JSON.stringify(fileURLToPath(new URL("../index.js", import.meta.url)));
  const script = `
    const { createTransformContext } = require(${index});
    const text = ${JSON.stringify(CANARY)};
    const hook = createTransformContext({ contextWindow: 100 });
    hook([{ role: "user", get content() { throw new Error(text); } }]);
    hook(text);
    hook([{ role: "user", content: text.repeat(9999) }]);`;
  const { status: code, stdout, stderr } = spawnSync(process.execPath, ["-e", script], { encoding: "utf8" });
  assert.deepEqual([code, stdout, stderr], [0, "", ""]);
});

function unreadable() {
  return Object.defineProperty({ role: "user" }, "content", {
    get() {
      throw new Error(CANARY);
    },
  });
}
