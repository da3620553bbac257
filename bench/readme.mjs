// Puts the figures of the last runs into the READMEs and pages of docs: `npm run bench:readme`. A test fails when they differ.

import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { PAGES, withFigures } from "../__test__/support/figures.mjs";

function printed(command) {
  const cwd = new URL("..", import.meta.url);
  return execFileSync(process.execPath, ["bin/pi-strata.js", ...command.split(" ")], {
    cwd,
    encoding: "utf8",
  });
}

/** What the commands shown before them print about the schedule and the bill, put into a page. */
function withOutputs(page) {
  const [, explain] = /`pi-strata (explain \S+ --call \d+)`/.exec(page) ?? [];
  if (explain === undefined) return page;
  const [schedule] = /^schedule .*?(?=\n\n)/ms.exec(printed(explain.replace(" ", " examples/")));
  const bill = printed("cache examples/session.jsonl").trimEnd();
  return page
    .replace(/^schedule .*?(?=\n^`{3}$)/ms, () => schedule)
    .replace(/^session {2,}.*?(?=\n^`{3}$)/ms, () => bill);
}

for (const name of PAGES) {
  const page = new URL(`../${name}`, import.meta.url);
  writeFileSync(page, withOutputs(withFigures(readFileSync(page, "utf8"))));
}
