// Shared by the tests of sessions: files that go with the test, and contents out.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder that goes when the test does, and names of new files in it. */
export function filesOfTest(after) {
  const folder = mkdtempSync(join(tmpdir(), "pi-strata-"));
  after(() => rmSync(folder, { recursive: true }));
  let files = 0;
  return { folder, newFile: () => join(folder, `${++files}.db`) };
}

export const contents = (manager, id) => manager.getMessages(id).map(({ content }) => content);
