// The repository, and scripts that run in it, each in a process of its own.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** What Node prints for a script, with these flags. */
export const printedBy = (script, ...flags) =>
  execFileSync(process.execPath, [...flags, "-e", script], { cwd: ROOT, encoding: "utf8" });
