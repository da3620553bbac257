// `npm run reliability`: runs what proves that the hook never fails and loses nothing, and prints one table with the
// counts really run. `--full` makes a million calls of what else is a hundred thousand or less, and judges 40 000
// request bodies in place of 2000. Exits with 1 if a row fails. A row that cannot be run here says so and counts as
// neither.

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const isFull = process.argv.includes("--full");
const calls = isFull ? 1_000_000 : 100_000;
const bodies = isFull ? 40_000 : 2_000;

/** What is claimed, what is run to show it, and what its output says was run. */
const ROWS = [
  {
    claim: "generated calls: none rejects, no input changes, valid stays valid",
    test: "properties",
    env: { PI_STRATA_CALLS: String(calls) },
    said: /# (\d+ calls, .*)/,
  },
  {
    claim: "closed loop: what is said to be sent is sent, frozen bytes stay, never over the window unsaid",
    test: "live-sessions",
    env: { PI_STRATA_LIVE_CALLS: String(isFull ? 1_000_000 : 50_000) },
    said: /# (\d+ calls of .*)/,
  },
  {
    claim: "requests by real pi-ai of three versions, judged by the providers' rules",
    test: "wire",
    env: { WIRE_CHECKS: String(bodies) },
    said: wireTotals,
  },
  { claim: "broken requests that the judge sees", test: "wire-rules", said: /# (\d+ broken requests.*)/ },
  {
    claim: "those requests, judged by two validators of others",
    command: [".ci/crosscheck"],
    needs: "python3",
    said: validatorTotals,
  },
  {
    claim: "over the window whatever is done: the floor is the smallest there is",
    test: "overflow",
    said: (stdout) => stdout.match(/\d+ of \d+ transcripts cannot fit under \w+/g)?.join(", "),
  },
  { claim: "injected panics: the process lives", test: "faults", said: /# (\d+ panics.*)/ },
  { claim: "hosts that misbehave", test: "hosts", said: /# (\d+ workers.*)/ },
  { claim: "bad input: every call resolves", test: "bad-input", said: testCount },
  { claim: "native file missing, cut, foreign, blocked", test: "unavailable", said: testCount },
  { claim: "no text in events, errors, output", test: "canary", said: testCount },
  {
    claim: "sessions interleaved: no cross-talk",
    test: "sessions-apart",
    env: { PI_STRATA_TURNS: "1000" },
    said: /# (\d+ turns.*)/,
  },
  {
    claim: "resident growth after warm-up, at most 8 MB",
    command: [process.execPath, "--expose-gc", "bench/memory.mjs", String(calls)],
    said: /(.*growth .*)/,
    holds: (said) => Number(/growth (-?[\d.]+)/.exec(said)?.[1]) <= 8,
  },
  {
    claim: "event loop held on 200 000 tokens, p99: cold at most 16 ms, warm at most 1 ms",
    command: [process.execPath, "bench/stalls.mjs"],
    said: /(.*)/,
    holds: (said) => {
      const [cold, warm] = Array.from(said.matchAll(/p99 ([\d.]+)/g), ([, ms]) => Number(ms));
      return cold <= 16 && warm <= 1;
    },
  },
];

const width = Math.max(...ROWS.map(({ claim }) => claim.length));
const marks = ROWS.map((row) => {
  const { mark, said } = run(row);
  console.log(`${mark.padEnd(7)}  ${row.claim.padEnd(width)}  ${said}`);
  return mark;
});
const count = (wanted) => marks.filter((mark) => mark === wanted).length;
console.log(`${count("ok")} passed, ${count("FAIL")} failed, ${count("not run")} not run`);
process.exitCode = count("FAIL") > 0 ? 1 : 0;

function run({ test, command, needs, env, said, holds }) {
  if (needs !== undefined && spawnSync(needs, ["--version"]).error) {
    return { mark: "not run", said: `needs ${needs}` };
  }
  const testFile = [process.execPath, "--test", "--test-reporter=tap", `__test__/${test}.test.mjs`];
  const [program, ...parameters] = command ?? testFile;
  const { status, stdout } = spawnSync(program, parameters, {
    cwd: ROOT,
    encoding: "utf8",
    env: { ...process.env, ...env },
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const found = said instanceof RegExp ? said.exec(stdout)?.[1] : said(stdout);
  const isShown = status === 0 && found !== undefined && (holds?.(found) ?? true);
  return { mark: isShown ? "ok" : "FAIL", said: found ?? "said nothing" };
}

function testCount(stdout) {
  const passed = /^# pass (\d+)$/m.exec(stdout)?.[1];
  return passed && `${passed} tests`;
}

/** The bodies of all models, versions and protocols together. */
function wireTotals(stdout) {
  const lines = Array.from(
    stdout.matchAll(/# wire: pi (\S+) (\S+) \S+: (\d+) bodies, (\d+) changed by the hook, (\d+) violations/g),
  );
  if (lines.length === 0) return undefined;
  const sum = (at) => lines.reduce((total, line) => total + Number(line[at]), 0);
  const kinds = (at) => new Set(lines.map((line) => line[at])).size;
  const judged = `${sum(3)} bodies, ${sum(4)} changed by the hook`;
  return `${judged}, of ${kinds(1)} pi versions and ${kinds(2)} protocols; ${sum(5)} violations`;
}

function validatorTotals(stdout) {
  const lines = stdout.match(/^[\w-]+: \d+ of \d+ valid bodies pass.*$/gm);
  return lines?.join("; ");
}
