// The package installed from git, as npm does it: cloned, built by `prepare`, packed by `files`. With Rust it works and
// says that it builds; without, one sentence tells what is wanted. The crates it needs are copies of those this checkout was
// built with: in one folder each would take the other's addon for stale.

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { ROOT } from "./support/root.mjs";
import { temporaryFolder } from "./support/temporary.mjs";

const folder = temporaryFolder("git");
const sources = join(folder, "sources");

/** A repository with what would be committed of this one. */
before(() => {
  const git = (cwd, ...args) => execFileSync("git", args, { cwd, encoding: "utf8" });
  const listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard").trim().split("\n");
  for (const file of listed.filter((name) => existsSync(join(ROOT, name)))) {
    mkdirSync(dirname(join(sources, file)), { recursive: true });
    cpSync(join(ROOT, file), join(sources, file));
  }
  git(sources, "init", "--quiet");
  git(sources, "add", ".");
  git(sources, "-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "-m", "all");
});

/** What npm said on a terminal of its own. */
function install(app) {
  mkdirSync(app);
  writeFileSync(join(app, "package.json"), '{ "private": true }\n');
  const command = `npm install --allow-git=root git+${pathToFileURL(sources)} --no-audit --no-fund --prefer-offline`;
  const terminal = join(app, "terminal.log");
  const target = join(folder, "target");
  mkdirSync(target);
  const built = readdirSync(join(ROOT, "target")).filter((name) => /^release$|-linux-/.test(name));
  execFileSync("cp", ["-a", ...built.map((name) => join(ROOT, "target", name)), target]);
  const env = { ...process.env, CARGO_TARGET_DIR: target };
  const { status } = spawnSync("script", ["--quiet", "--return", "--command", command, terminal], {
    cwd: app,
    env,
  });
  return { status, seen: readFileSync(terminal, "utf8") };
}

const skip = process.platform === "linux" ? false : "a terminal is made with util-linux's script";

test("with Rust it is built, says so on the terminal, and works", { skip }, () => {
  const app = join(folder, "with-rust");
  const { status, seen } = install(app);
  assert.equal(status, 0, seen);
  assert.match(seen, /pi-strata: building the native addon from source, which takes/);
  const use = `const strata = require("pi-strata");
    console.log(JSON.stringify([strata.status().native, strata.countTokens("hello world")]));`;
  const out = execFileSync(process.execPath, ["-e", use], { cwd: app, encoding: "utf8" });
  assert.deepEqual(JSON.parse(out), [true, 2]);
  assert.ok(existsSync(join(app, "node_modules/pi-strata/lib/inspector/page.html")));
});

test("without Rust one sentence says what is wanted and what to do instead", () => {
  const isWithout = (path) => !existsSync(join(path, "rustc"));
  const PATH = process.env.PATH.split(delimiter).filter(isWithout).join(delimiter);
  // What `prepare` says before it fails, npm shows.
  const options = { cwd: sources, env: { ...process.env, PATH }, encoding: "utf8" };
  const { status, stderr } = spawnSync(process.execPath, ["release/prepare.mjs"], options);
  assert.equal(status, 1);
  assert.match(
    stderr,
    /pi-strata: the native addon is built from source here, which needs Rust \d+\.\d+ or newer .*npm install pi-strata/,
  );
  assert.doesNotMatch(stderr, /omit=optional/);
});
