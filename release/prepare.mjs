// npm's `prepare`: builds what the sources leave out, the native addon and the report's page. It runs in a checkout
// after `npm install`, and where the package is installed from git; never where it comes from a registry.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
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

/** The obstacle to building the addon, in a sentence; undefined if nothing does. */
function whatIsMissing() {
  const { stdout, error } = spawnSync("rustc", ["--version"], { encoding: "utf8" });
  const [, wanted] = /^rust-version = "(.+)"$/m.exec(readFileSync(join(ROOT, "Cargo.toml"), "utf8"));
  if (error !== undefined || stdout === "") {
    return `the native addon is built from source here, which needs Rust ${wanted} or newer (https://rustup.rs); ${PUBLISHED}`;
  }
  const [, found] = /(\d+\.\d+)/.exec(stdout) ?? [];
  if (found === undefined || !isOlder(found, wanted)) return undefined;
  return `the native addon is built from source here, which needs Rust ${wanted} or newer, and this is ${found} (rustup update); ${PUBLISHED}`;
}

function isOlder(found, wanted) {
  const [[major, minor], [wantedMajor, wantedMinor]] = [found, wanted].map((text) =>
    text.split(".").map(Number),
  );
  return major < wantedMajor || (major === wantedMajor && minor < wantedMinor);
}

function run(script) {
  // The shell finds npm.cmd on Windows.
  const { status } = spawnSync(`npm run ${script}`, { cwd: ROOT, shell: true, stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}

function say(text) {
  console.error(`pi-strata: ${text}`);
}
