// Handles of the two SQLite packages a host may have: `open(file)` of better-sqlite3, or of node:sqlite where
// STRATA_SQLITE says so (Node 22.13 and newer).
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

export const KIND = process.env.STRATA_SQLITE ?? "better-sqlite3";

export function open(file, { isReadOnly = false, timeoutMs = 0 } = {}) {
  if (KIND === "better-sqlite3") {
    const Database = require("better-sqlite3");
    return new Database(file, { readonly: isReadOnly, timeout: timeoutMs });
  }
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite");
  const handle = new DatabaseSync(file, { readOnly: isReadOnly });
  if (timeoutMs > 0) handle.exec(`PRAGMA busy_timeout = ${timeoutMs}`);
  return handle;
}
