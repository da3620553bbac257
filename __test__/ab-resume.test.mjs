// A run of the paired experiment that is killed, or stops at its limit, goes on where it stood: nothing that is settled is
// paid for again, and what was stated before cannot be changed after.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { startScripted } from "../bench/ab/scripted/server.mjs";
import { booksOf, readResults, startBench } from "./support/ab/bench.mjs";

const folder = mkdtempSync(join(tmpdir(), "pi-strata-ab-resume-"));
after(() => rmSync(folder, { recursive: true, maxRetries: 5 }));

const ARGS = ["--margin", "0.1", "--sessions", "1", "--languages", "sh", "--arms", "none,mask"];
const solvedIn = ({ records }) => records.map(({ arm, task, isSolved }) => `${arm} ${task} ${isSolved}`);

async function wholeRun() {
  const server = await startScripted({ seed: 1, languages: ["sh"] });
  const out = join(folder, "whole");
  const { code, stderr } = await startBench(server, { out, args: ARGS }).ended;
  server.close();
  assert.equal(code, 0, stderr);
  return { results: readResults(out), calls: server.calls.length };
}

const whole = await wholeRun();

// The first call of a task, one in its middle, and one of the second arm.
for (const fatal of [1, 9, 30]) {
  test(`killed at call ${fatal}, a run ends as one that was not, and pays one call more at most`, async () => {
    const out = join(folder, `killed-${fatal}`);
    let bench;
    const onRequest = async (number) => {
      if (number !== fatal || bench.child.exitCode !== null || bench.isKilled) return;
      bench.isKilled = true;
      bench.child.kill("SIGKILL");
      // What was asked is never answered.
      await new Promise(() => {});
    };
    const server = await startScripted({ seed: 1, languages: ["sh"], onRequest });
    bench = startBench(server, { out, args: ARGS });
    assert.equal((await bench.ended).signal, "SIGKILL");
    assert.equal(server.calls.length, fatal, "calls that were answered");
    await endOfPi(out);
    const { code, stdout, stderr } = await startBench(server, { out, args: ARGS }).ended;
    server.close();
    assert.equal(code, 0, stderr);
    if (fatal > 3) assert.match(stdout, /Going on after \d+ tasks that are settled/);
    const results = readResults(out);
    assert.deepEqual(solvedIn(results), solvedIn(whole.results));
    assert.equal(server.calls.length, whole.calls, "no call was answered twice");
    for (const { arm, dollars } of results.arms) {
      const billed = booksOf(server, arm).calls.reduce((sum, call) => sum + call.dollars, 0);
      assert.ok(Math.abs(dollars - billed) < 1e-9, `${arm}: ${dollars} against ${billed}`);
    }
    const unknown = results.arms.reduce((sum, arm) => sum + arm.unknown, 0);
    assert.equal(unknown, 1, "the call in flight is told as one whose bill is not known");
  });
}

/** pi ends by itself when nobody speaks to it any more. */
async function endOfPi(out) {
  const pid = Number(readFileSync(join(out, "lock"), "utf8"));
  assert.ok(pid > 0 && existsSync(out));
  await new Promise((resolve) => setTimeout(resolve, 1500));
}

test("at its limit a run stops, within one call of it, and goes on with a higher one", async () => {
  const server = await startScripted({ seed: 1, languages: ["sh"] });
  const out = join(folder, "limit");
  const limit = 0.3;
  const stopped = await startBench(server, { out, args: [...ARGS, "--max-dollars", String(limit)] }).ended;
  assert.equal(stopped.code, 3, stopped.stderr);
  assert.match(stopped.stdout, /Stopped at \$0\.3\. Go on with the same command/);
  const billed = () => server.calls.reduce((sum, call) => sum + call.dollars, 0);
  const dearest = Math.max(...server.calls.map(({ dollars }) => dollars));
  assert.ok(billed() >= limit && billed() <= limit + dearest, `${billed()}`);
  const { code, stderr } = await startBench(server, { out, args: ARGS }).ended;
  server.close();
  assert.equal(code, 0, stderr);
  const results = readResults(out);
  assert.deepEqual(solvedIn(results), solvedIn(whole.results));
  const told = results.arms.reduce((sum, { dollars }) => sum + dollars, 0);
  assert.ok(Math.abs(told - billed()) < 1e-9, `${told} against ${billed()}`);
});

test("a run keeps its margin, and is one process's at a time", async () => {
  const server = { baseUrl: "http://127.0.0.1:9" };
  const out = join(folder, "killed-9");
  const other = ARGS.map((arg) => (arg === "0.1" ? "0.3" : arg));
  const changed = await startBench(server, { out, args: other }).ended;
  assert.equal(changed.code, 2);
  assert.match(changed.stderr, /began with margin 0\.1, not 0\.3/);
  const none = await startBench(server, { out, args: ["--sessions", "1"] }).ended;
  assert.equal(none.code, 2);
  assert.match(none.stderr, /--margin must be a number above 0, and before the run/);
  writeFileSync(join(out, "lock"), String(process.pid));
  const second = await startBench(server, { out, args: ARGS }).ended;
  assert.equal(second.code, 2);
  assert.match(second.stderr, /Another process goes on with the run/);
});
