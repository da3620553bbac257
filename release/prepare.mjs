// npm's `prepare`: builds what the sources leave out, the native addon and the report's page. It runs in a checkout
// after `npm install`, and where the package is installed from git; never where it comes from a registry.

import { spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "./platforms.mjs";

const PUBLISHED = "the published package brings it ready-made: npm install pi-strata";

/** For who would rather wait less and have an addon of half the speed. */
const isQuick = process.env.PI_STRATA_BUILD === "quick";

const missing = whatIsMissing();
if (missing !== undefined) {
  say(missing);
  process.exitCode = 1;
} else {
  say(
    `building the native addon from source, which takes ${isQuick ? "a minute or two" : "several minutes"} …`,
  );
  const start = Date.now();
  run(isQuick ? "build:quick" : "build");
  run("build:report");
  say(`built in ${Math.round((Date.now() - start) / 1000)} s`);
}

/** The obstacle to building the addon, in a sentence; undefined if nothing does. Cargo itself says if Rust is too old. */
function whatIsMissing() {
  if (spawnSync("rustc", ["--version"]).error === undefined) return undefined;
  const [, wanted] = /^rust-version = "(.+)"$/m.exec(readFileSync(join(ROOT, "Cargo.toml"), "utf8"));
  return `the native addon is built from source here, which needs Rust ${wanted} or newer (https://rustup.rs); ${PUBLISHED}`;
}

function run(script) {
  // The shell finds npm.cmd on Windows.
  const { status } = spawnSync(`npm run ${script}`, { cwd: ROOT, shell: true, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

/** npm keeps the output of a package from git to itself unless it fails; the terminal is the user's all the same. */
function say(text) {
  const line = `pi-strata: ${text}\n`;
  if (!process.stderr.isTTY) toTerminal(`\n${line}`);
  process.stderr.write(line);
}

function toTerminal(text) {
  let terminal;
  try {
    terminal = openSync(process.platform === "win32" ? "\\\\.\\CON" : "/dev/tty", "w");
    writeSync(terminal, text);
  } catch {
    // There is none, as in CI.
  } finally {
    if (terminal !== undefined) closeSync(terminal);
  }
}
