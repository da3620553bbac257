// Puts the figures of the last runs into the READMEs and pages of docs: `npm run bench:readme`. A test fails when they differ.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { PAGES, withFigures } from "../release/pages.mjs";

/** A page with what the command that it names prints about the schedule. */
function withOutputs(page) {
  const [, explain] = /`pi-strata (explain \S+ --call \d+)`/.exec(page) ?? [];
  if (explain === undefined) return page;
  const command = ["bin/pi-strata.js", ...explain.replace(" ", " examples/").split(" ")];
  const cwd = new URL("..", import.meta.url);
  const printed = execFileSync(process.execPath, command, { cwd, encoding: "utf8" });
  const [schedule] = /^schedule .*?(?=\n\n)/ms.exec(printed);
  return page.replace(/^schedule .*?(?=\n^`{3}$)/ms, () => schedule);
}

for (const name of PAGES) {
  const page = new URL(`../${name}`, import.meta.url);
  writeFileSync(page, withOutputs(withFigures(readFileSync(page, "utf8"))));
}
