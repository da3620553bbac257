// `npm run reliability`: runs what proves that the hook never fails and loses nothing, and prints one table with the
// counts really run. `--full` makes a million calls of what else is a hundred thousand. Exits with 1 if a row fails.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const isFull = process.argv.includes("--full");
const calls = isFull ? 1_000_000 : 100_000;

/** What is claimed, what is run to show it, and where its output says how much was run. */
const ROWS = [
  {
    claim: "generated calls: none rejects, no input changes, valid stays valid",
    test: "properties",
    env: { PI_STRATA_CALLS: String(calls) },
    said: /# (\d+ calls, .*)/,
  },
  {
    claim: "payloads of real pi-ai, judged by the providers' rules",
    test: "wire",
    said: /# (\d+ payloads.*)/,
  },
  { claim: "injected panics: the process lives", test: "faults", said: /# (\d+ panics.*)/ },
  { claim: "hosts that misbehave", test: "hosts", said: /# (\d+ workers.*)/ },
  { claim: "bad input: every call resolves", test: "bad-input", said: /# pass (\d+)/ },
  { claim: "native file missing, cut, foreign, blocked", test: "unavailable", said: /# pass (\d+)/ },
  { claim: "no text in events, errors, output", test: "canary", said: /# pass (\d+)/ },
  {
    claim: "sessions interleaved: no cross-talk",
    test: "sessions-apart",
    env: { PI_STRATA_TURNS: "1000" },
    said: /# (\d+ turns.*)/,
  },
  {
    claim: "resident growth after warm-up, at most 8 MB",
    command: ["--expose-gc", "bench/memory.mjs", String(calls)],
    said: /(.*growth .*)/,
    holds: (said) => Number(/growth (-?[\d.]+)/.exec(said)?.[1]) <= 8,
  },
  {
    claim: "event loop held on 200 000 tokens, p99: cold at most 16 ms, warm at most 1 ms",
    command: ["bench/stalls.mjs"],
    said: /(.*)/,
    holds: (said) => {
      const [cold, warm] = Array.from(said.matchAll(/p99 ([\d.]+)/g), ([, ms]) => Number(ms));
      return cold <= 16 && warm <= 1;
    },
  },
];

const results = ROWS.filter(isThere).map(run);
const width = Math.max(...results.map(({ claim }) => claim.length));
for (const { claim, ok, said } of results)
  console.log(`${ok ? "ok  " : "FAIL"}  ${claim.padEnd(width)}  ${said}`);
const passed = results.filter(({ ok }) => ok).length;
console.log(`${passed} passed, ${results.length - passed} failed`);
process.exitCode = passed === results.length ? 0 : 1;

function isThere({ test }) {
  return test === undefined || existsSync(`${ROOT}__test__/${test}.test.mjs`);
}

function run({ claim, test, command, env, said, holds }) {
  const parameters = command ?? ["--test", "--test-reporter=tap", `__test__/${test}.test.mjs`];
  const { status, stdout } = spawnSync(process.execPath, parameters, {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const found = said.exec(stdout)?.[1] ?? "said nothing";
  const words = /^\d+$/.test(found) ? `${found} tests` : found;
  return { claim, ok: status === 0 && (holds?.(found) ?? true), said: words };
}
