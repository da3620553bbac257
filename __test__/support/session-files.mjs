// Shared by the tests of sessions: files that go with the test, and contents out.

import { join } from "node:path";
import { temporaryFolder } from "./temporary.mjs";

/** A folder that goes when the test does, and names of new files in it. */
export function filesOfTest() {
  const folder = temporaryFolder("sessions");
  let files = 0;
  return { folder, newFile: () => join(folder, `${++files}.db`) };
}

export const contents = (manager, id) => manager.getMessages(id).map(({ content }) => content);
