// Installs the folders of __test__ that have packages of their own, side by side, and only those whose lock file has
// changed since: `npm run install:nested`.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const TESTS = fileURLToPath(new URL("..", import.meta.url));
/** Beside what was installed: the hash of the lock file it was installed from. */
const STAMP = "node_modules/.lock-hash";

const folders = readdirSync(TESTS)
  .map((name) => join(TESTS, name))
  .filter((folder) => existsSync(join(folder, "package-lock.json")));

const outcomes = await Promise.all(
  folders.filter((folder) => stampOf(folder) !== hashOf(folder)).map(install),
);
process.exitCode = outcomes.every((status) => status === 0) ? 0 : 1;

function hashOf(folder) {
  return createHash("sha256")
    .update(readFileSync(join(folder, "package-lock.json")))
    .digest("hex");
}

function stampOf(folder) {
  const stamp = join(folder, STAMP);
  return existsSync(stamp) ? readFileSync(stamp, "utf8") : undefined;
}

/** By the lock file; where that names other platforms' packages that the registry does not have, what is left of it. */
async function install(folder) {
  const status = (await npm(folder, "ci")) && (await npm(folder, "install", "--no-save"));
  if (status === 0) writeFileSync(join(folder, STAMP), hashOf(folder));
  return status;
}

function npm(folder, ...command) {
  const child = spawn("npm", [...command, "--no-audit", "--no-fund"], {
    cwd: folder,
    stdio: ["ignore", "inherit", "inherit"],
    shell: process.platform === "win32",
  });
  return new Promise((resolve) => {
    child.on("error", () => resolve(1));
    child.on("exit", (status) => resolve(status ?? 1));
  });
}
