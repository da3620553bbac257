// Tries mutants of the core: `.ci/proof mutants [SAMPLE] [SEED]`. Builds the tests once with a sample of mutants in the
// sources, then runs them for each, switched on by its number. What no test notices is in target/mutants/survivors.txt.
//
// In steps: `plant SAMPLE SEED` builds, `try FROM TO` runs the tests for the mutants of these numbers, `report` sums up.
// Once `try` has measured how long the tests take without a mutant, several may run side by side.

import { execFileSync, spawn, spawnSync } from "node:child_process";
import { appendFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createInterface } from "node:readline";

/** The rooms whose rules must not change unnoticed. */
const ROOMS = [
  "layers",
  "validity",
  "schedule",
  "account",
  "plan",
  "transcript",
  "measure",
  "shorten",
  "cuts",
  "guard",
];
/** Rooms that know none of those: their tests cannot notice. */
const OTHERS = ["tokens", "sqlite", "history", "session_file", "recall", "traits"];
/** Test binaries beside the library's own, the quickest first. */
const BINARIES = ["boundary", "thinking_bound", "schedule_sticky", "properties"];
/** The suite of the built addon that notices most: tried right after the tests of the mutant's own room. */
const DECISIONS = ["decisions"];
/** The others, tried before the properties, which take the longest. */
const SUITES = [
  "images",
  "economy-options",
  "blind-edits",
  "layers",
  "overflow",
  "guard",
  "protect",
  "ledger",
  "validity",
  "live",
  "known",
  "sessions-apart",
];
/** Cases of each property where it does not say another number: fewer than without a mutant, as a survivor goes through all. */
const CASES = 100;
/** The same in the binary of properties, whose cases are whole conversations. */
const CONVERSATIONS = 20;

const HOME = resolve("target/mutants");
const TREE = join(HOME, "tree");
const LIST = join(HOME, "mutants.tsv");
const SKIPPED = join(HOME, "not-compiling.txt");
const RESULTS = join(HOME, "results.tsv");
const TESTS = join(HOME, "tests.json");
const ADDON = join(HOME, "mutants.node");

/** A step that takes so many times longer with a mutant than without one hangs, */
const PATIENCE = 4;
/** if that is longer than this, in ms. */
const LEAST_LIMIT_MS = 30_000;

const SWITCH = `//! Which mutant is on.

/// Whether it is this one.
pub(crate) fn on(number: u32) -> bool {
    static ON: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("MUTANT").map_or(0, |text| text.parse().unwrap_or(0)));
    *ON == number
}
`;

function git(...args) {
  return execFileSync("git", args, { encoding: "utf8", maxBuffer: 1 << 28 });
}

function cargo(args, cwd) {
  const env = { ...process.env, CARGO_TARGET_DIR: join(HOME, "build") };
  return spawnSync("cargo", args, { cwd, env, encoding: "utf8", maxBuffer: 1 << 28 });
}

function plant(sample, seed) {
  mkdirSync(HOME, { recursive: true });
  const tool = cargo(["build", "--quiet", "--release", "--manifest-path", ".ci/mutants/Cargo.toml"], ".");
  if (tool.status !== 0) throw new Error(tool.stderr);
  writeFileSync(SKIPPED, "");
  writeFileSync(RESULTS, "");
  for (;;) {
    const files = freshTree();
    const planting = [String(sample), String(seed), LIST, SKIPPED, ...files];
    process.stderr.write(execFileSync(join(HOME, "build/release/mutants"), planting, { cwd: TREE }));
    const targets = BINARIES.filter(
      (name) => existsSync(join(TREE, "tests", `${name}.rs`)) || existsSync(join(TREE, "tests", name)),
    );
    const build = ["test", "--no-run", "--message-format=json", "--lib"];
    const { stdout, stderr, status } = cargo(
      [...build, ...targets.flatMap((name) => ["--test", name])],
      TREE,
    );
    const messages = stdout
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line));
    if (status === 0) {
      const binaries = messages
        .filter(({ executable }) => executable)
        .map(({ executable, target }) => ({
          executable,
          name: target.name,
        }));
      binaries.sort((one, other) => BINARIES.indexOf(one.name) - BINARIES.indexOf(other.name));
      writeFileSync(TESTS, JSON.stringify({ binaries }));
      const addon = cargo(["build", "--quiet", "--lib"], TREE);
      if (addon.status !== 0) throw new Error(addon.stderr);
      cpSync(join(HOME, "build/debug/libpi_strata.so"), ADDON);
      return;
    }
    skipBroken(messages, stderr);
  }
}

/** The tracked files as they are in the working tree, with the switch. The files to plant mutants in. */
function freshTree() {
  rmSync(join(TREE, "src"), { recursive: true, force: true });
  const tracked = git(
    "ls-files",
    "src",
    "tests",
    "lib/*.sql",
    "build",
    "build.rs",
    "benches",
    "Cargo.toml",
    "Cargo.lock",
    "clippy.toml",
  )
    .trim()
    .split("\n")
    .filter((file) => existsSync(file));
  for (const file of tracked) {
    mkdirSync(dirname(join(TREE, file)), { recursive: true });
    cpSync(file, join(TREE, file), { preserveTimestamps: true });
  }
  const lib = join(TREE, "src/lib.rs");
  writeFileSync(lib, `${readFileSync(lib, "utf8")}mod mutant;\n`);
  writeFileSync(join(TREE, "src/mutant.rs"), SWITCH);
  const isOfRoom = (file) =>
    ROOMS.some((room) => file === `src/${room}.rs` || file.startsWith(`src/${room}/`));
  return tracked.filter((file) => isOfRoom(file) && !file.endsWith("tests.rs"));
}

/** Leaves out the mutants on lines with errors. */
function skipBroken(messages, stderr) {
  const names = new Map(
    readFileSync(LIST, "utf8")
      .trim()
      .split("\n")
      .map((line) => line.split("\t")),
  );
  const broken = new Set();
  const errors = messages.filter(({ message }) => message?.level === "error");
  for (const { message } of errors) {
    // The line itself, or where that has none, as with a `match` that lost an arm, what stands around it.
    for (const around of [0, 20]) {
      const found = message.spans.flatMap((span) => numbersAt(span, around));
      for (const number of found) broken.add(names.get(number));
      if (found.length > 0) break;
    }
  }
  if (broken.size === 0)
    throw new Error(
      `the tests do not build, and no mutant is at fault\n${errors.map(({ message }) => message.rendered).join("\n") || stderr}`,
    );
  process.stderr.write(`${broken.size} do not compile\n`);
  appendFileSync(SKIPPED, `${[...broken].join("\n")}\n`);
}

function numbersAt({ file_name: file, line_start: from, line_end: to }, around) {
  const lines = readFileSync(join(TREE, file), "utf8")
    .split("\n")
    .slice(Math.max(0, from - 1 - around), to + around);
  return Array.from(lines.join("\n").matchAll(/mutant::on\((\d+)\)/g), ([, number]) => number);
}

/** What is run for a mutant in `room`, one after the other until something notices it. */
function stepsFor(room, binaries) {
  const [library, ...others] = binaries;
  const steps = others.map(({ executable, name }) => ({ name, ...testsOf(executable, CONVERSATIONS) }));
  const properties = steps.splice(-1);
  const elsewhere = [...OTHERS, room].flatMap((other) => ["--skip", `${other}::`]);
  return [
    // Those of the mutant's own room first: most are noticed there.
    { name: `${room}::`, ...testsOf(library.executable, CASES, `${room}::`) },
    { name: "decisions", ...suites(DECISIONS) },
    { name: "library", ...testsOf(library.executable, CASES, ...elsewhere) },
    ...steps,
    { name: "suites", ...suites(SUITES) },
    ...properties,
  ];
}

function testsOf(executable, cases, ...filter) {
  // Properties write down what failed with one mutant: the next one must be noticed without that.
  const env = {
    RUST_BACKTRACE: "0",
    PROPTEST_CASES: String(cases),
    PROPTEST_DISABLE_FAILURE_PERSISTENCE: "1",
    PROPTEST_MAX_SHRINK_ITERS: "0",
  };
  return {
    run: [executable, ...filter, "--test-threads", "2"],
    at: { cwd: TREE, env },
    failure: /^test (\S+).* FAILED$/,
  };
}

function suites(names) {
  const files = names.map((name) => `__test__/${name}.test.mjs`);
  return {
    run: [process.execPath, "--test", "--test-reporter=tap", "--test-concurrency=2", ...files],
    at: { cwd: ".", env: { NAPI_RS_NATIVE_LIBRARY_PATH: ADDON } },
    failure: /^ *not ok \d+ - (.*)$/,
  };
}

/** The name of the first test that fails with this mutant, "too long" or "died"; undefined if none does. */
async function noticedBy(number, room, { binaries, limitsMs }) {
  for (const { name, run, at, failure } of stepsFor(room, binaries)) {
    const noticed = await watch(run, at, number, limitsMs[name] ?? LEAST_LIMIT_MS, failure);
    if (noticed !== undefined) return noticed;
  }
  return undefined;
}

/** How long each step may take: the tests are run once without a mutant, and none may fail. */
async function limitsOf(binaries) {
  const limitsMs = {};
  for (const { name, run, at, failure } of stepsFor("layers", binaries)) {
    const start = performance.now();
    const noticed = await watch(run, at, 0, 600_000, failure);
    if (noticed !== undefined) throw new Error(`without a mutant ${noticed} fails`);
    const tookMs = Math.round(performance.now() - start);
    process.stderr.write(`${name}: ${tookMs} ms\n`);
    limitsMs[name] = Math.max(LEAST_LIMIT_MS, PATIENCE * tookMs);
  }
  return limitsMs;
}

/** The first test that `failure` finds in what the tests print with this mutant. */
function watch([command, ...args], { cwd, env }, number, limitMs, failure) {
  return new Promise((done) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env, MUTANT: String(number) },
      stdio: ["ignore", "pipe", "ignore"],
      // A group of its own, for the processes that a test runner starts end with it.
      detached: true,
    });
    let noticed;
    const end = (reason) => {
      noticed ??= reason;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch {
        // It has ended.
      }
    };
    const timer = setTimeout(() => end("too long"), limitMs);
    createInterface({ input: child.stdout }).on("line", (line) => {
      const failed = failure.exec(line);
      if (failed) end(failed[1]);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      done(noticed ?? (code === 0 ? undefined : "died"));
    });
  });
}

async function tryRange(from, to) {
  const tests = JSON.parse(readFileSync(TESTS, "utf8"));
  const names = readFileSync(LIST, "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("\t")[1]);
  if (tests.limitsMs === undefined) {
    tests.limitsMs = await limitsOf(tests.binaries);
    writeFileSync(TESTS, JSON.stringify(tests));
  }
  for (let number = from; number <= Math.min(to, names.length); number += 1) {
    const name = names[number - 1];
    const [, room] = /^src\/(\w+)/.exec(name);
    const noticed = await noticedBy(number, room, tests);
    appendFileSync(RESULTS, `${number}\t${noticed ?? "SURVIVED"}\t${name}\n`);
  }
}

function report() {
  const rows = readFileSync(RESULTS, "utf8")
    .trim()
    .split("\n")
    .map((line) => line.split("\t"));
  const byRoom = Object.groupBy(rows, ([, , name]) => /^src\/(\w+)/.exec(name)[1]);
  const survived = ([, noticed]) => noticed === "SURVIVED";
  for (const [room, of] of Object.entries({ ...byRoom, all: rows })) {
    const caught = of.filter((row) => !survived(row)).length;
    console.log(
      `${room.padEnd(12)} ${caught} of ${of.length} caught, ${((100 * caught) / of.length).toFixed(1)} %`,
    );
  }
  const survivors = rows.filter(survived).map(([, , name]) => name);
  writeFileSync(join(HOME, "survivors.txt"), `${survivors.toSorted().join("\n")}\n`);
}

const [what, ...args] = process.argv.slice(2);
if (what === "plant") plant(...args.map(Number));
else if (what === "try") await tryRange(...args.map(Number));
else if (what === "report") report();
else {
  plant(Number(what), Number(args[0]));
  await tryRange(1, Number.POSITIVE_INFINITY);
  report();
}
