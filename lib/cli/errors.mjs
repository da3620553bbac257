// Mistakes that the user can fix.

import { printable } from "./text.mjs";

/** One sentence that says what to fix; the process ends with exit code 2. */
export class UsageError extends Error {}

export const REASONS = {
  ENOENT: "there is no such file; check the path",
  EISDIR: "that is a folder; name a file in it",
  EACCES: "it may not be read; check its permissions",
};

/** A path as it is told. */
export const nameOf = (path) => (path === "-" ? "standard input" : printable(path));

/** What `work` resolves with. Rejects with a UsageError that names the file. */
export async function reading(path, work) {
  try {
    return await work;
  } catch (error) {
    throw new UsageError(`Cannot read ${nameOf(path)}: ${REASONS[error.code] ?? error.message}.`);
  }
}
