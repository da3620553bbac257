// The package in threads beside the main one, as an Electron app uses them: each answers as the main thread does.

import assert from "node:assert/strict";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import strata from "../index.js";
import { sessionWithTools } from "./support/session.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const ENTRY = fileURLToPath(new URL("../index.js", import.meta.url));
const folder = temporaryFolder("workers");

const OPTIONS = { schedule: "everyCall", contextWindow: 4_000 };
const messages = sessionWithTools(40);

const program = join(folder, "program.cjs");
writeFileSync(
  program,
  `const strata = require(${JSON.stringify(ENTRY)});
const { parentPort } = require("node:worker_threads");
const hook = strata.createTransformContext(${JSON.stringify(OPTIONS)});
parentPort.on("message", async (messages) => parentPort.postMessage(
  { sent: await hook(messages), tokens: strata.countTokens(messages), native: strata.status().native }));
`,
);

async function assertAnswers(worker) {
  const answered = once(worker, "message");
  worker.postMessage(messages);
  const [{ sent, tokens, native }] = await answered;
  assert.equal(native, true);
  assert.equal(tokens, strata.countTokens(messages));
  const here = await strata.createTransformContext(OPTIONS)(messages);
  assert.ok(here.length < messages.length);
  assert.deepEqual(sent, JSON.parse(JSON.stringify(here)));
}

test("workers, several at once, edit and count as the main thread does", async () => {
  const workers = Array.from({ length: 4 }, () => new Worker(program));
  try {
    // Twice: each keeps what it knows of the conversation to itself.
    for (let call = 0; call < 2; call += 1) await Promise.all(workers.map(assertAnswers));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
});
