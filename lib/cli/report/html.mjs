// Puts a report's data into the page that shows it. The page is one file with everything in it, made by
// `npm run build:report` from report/ and shipped with the package.

import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { REASONS, UsageError } from "../errors.mjs";
import { printable } from "../text.mjs";

const PAGE = new URL("page.html", import.meta.url);
const REFUSALS = { ...REASONS, ENOENT: "its folder is not there; make it first" };

/**
 * Opens a report beside `path` before the long work for it begins: `write(make)` puts the text that `make()` resolves with in the
 * place of an earlier report, `discard()` leaves that as it was.
 */
export async function openReport(path) {
  const beside = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  const refuse = ({ code, message }) => {
    throw new UsageError(`Cannot write ${printable(path)}: ${REFUSALS[code] ?? message}.`);
  };
  if ((await stat(path).catch(() => undefined))?.isDirectory()) refuse({ code: "EISDIR" });
  const file = await open(beside, "w").catch(refuse);
  return {
    async write(make) {
      await file.writeFile(await make());
      await file.close();
      await rename(beside, path).catch(refuse);
    },
    async discard() {
      await file.close().catch(() => {});
      await rm(beside, { force: true });
    },
  };
}

/** The finished page. */
export async function reportHtml(data) {
  const page = await readFile(PAGE, "utf8");
  // A script element ends at the first `</`.
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  // A function: `$` in the data must not be read as a pattern of `replace`.
  return page.replace('"{{data}}"', () => json);
}
