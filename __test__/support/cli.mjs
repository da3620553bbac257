// The command line as a user runs it: a process of its own, and files in a folder that is gone after the tests.

import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { temporaryFolder } from "./temporary.mjs";

export const CLI = fileURLToPath(new URL("../../bin/pi-strata.js", import.meta.url));
export const folder = temporaryFolder("cli");

export function run(args, input = "", options = {}) {
  return spawnSync(process.execPath, [CLI, ...args], { encoding: "utf8", input, ...options });
}

/** The document that a command prints with `--json`. */
export const documentOf = (args, input, options) =>
  JSON.parse(run([...args, "--json"], input, options).stdout);

export function fileOf(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** The data of a report's page. */
export function dataOf(page) {
  return JSON.parse(/<script type="application\/json" id="data">(.*?)<\/script>/s.exec(page)[1]);
}
