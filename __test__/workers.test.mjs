// The package in processes and threads beside the main one, as an Electron app uses them: real worker threads, and a
// child with an event loop of its own that is spoken to by messages, as a utilityProcess is. Electron is not started.

import assert from "node:assert/strict";
import { fork } from "node:child_process";
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

const OPTIONS = { schedule: "everyCall", contextWindow: 20_000 };
const messages = sessionWithTools(40);

/** One program for both: `port` is what it is spoken to by, `utilityProcess` has the one of a worker. */
const program = join(folder, "program.cjs");
writeFileSync(
  program,
  `const strata = require(${JSON.stringify(ENTRY)});
const { parentPort } = require("node:worker_threads");
const answer = (value) => (parentPort ? parentPort.postMessage(value) : process.send(value));
const hook = strata.createTransformContext(${JSON.stringify(OPTIONS)});
const hear = async (messages) => answer({ sent: await hook(messages), tokens: strata.countTokens(messages), native: strata.status().native });
if (parentPort) parentPort.on("message", hear);
else process.on("message", hear);
`,
);

async function assertAnswers(peer, say) {
  const answered = once(peer, "message");
  say(messages);
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
    await Promise.all(workers.map((worker) => assertAnswers(worker, (list) => worker.postMessage(list))));
    // And again: each keeps what it knows of the conversation to itself.
    await Promise.all(workers.map((worker) => assertAnswers(worker, (list) => worker.postMessage(list))));
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
});

test("a process of its own, spoken to by messages, does the same", async () => {
  const child = fork(program, { serialization: "advanced" });
  await assertAnswers(child, (list) => child.send(list));
  const exited = once(child, "exit");
  child.disconnect();
  assert.deepEqual(await exited, [0, null]);
});
