// A folder of a test file's own, which goes with it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

export function temporaryFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `pi-strata-${name}-`));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
