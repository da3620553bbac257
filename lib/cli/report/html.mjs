// Puts a report's data into the page that shows it. The page is one file with everything in it, made by
// `npm run build:report` from report/ and shipped with the package.

import { open, readFile } from "node:fs/promises";
import { REASONS, UsageError } from "../session.mjs";

const PAGE = new URL("page.html", import.meta.url);

/** Opens `path` to write a report to, before any long work is done for it. */
export async function openReport(path) {
  try {
    return await open(path, "w");
  } catch (error) {
    const reason = error.code === "ENOENT" ? "its folder is not there; make it first" : REASONS[error.code];
    throw new UsageError(`Cannot write ${path}: ${reason ?? error.message}.`);
  }
}

/** The finished page. */
export async function reportHtml(data) {
  const page = await readFile(PAGE, "utf8");
  // So it can stand inside a script element.
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  // A function: `$` in the data must not be read as a pattern of `replace`.
  return page.replace('"{{data}}"', () => json);
}
