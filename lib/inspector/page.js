// The page that shows a record of calls, live or of a replay. `npm run build:report` makes it from report/.
"use strict";

const { attempt } = require("../helpers.js");
const { readFileSync } = process.getBuiltinModule?.("node:fs") ?? require("node:fs");
const { join } = process.getBuiltinModule?.("node:path") ?? require("node:path");

let page;

/** The page with its data in it. */
function pageWith(data) {
  page ??= attempt(() => readFileSync(join(__dirname, "page.html"), "utf8"));
  if (page === undefined)
    throw new Error("the page is not beside its code: leave pi-strata/inspector outside the bundle");
  // A script element ends at the first `</`.
  const json = JSON.stringify(data).replaceAll("<", "\\u003c");
  // A function, because `replace` would interpret `$` in the data.
  return page.replace('"{{data}}"', () => json);
}

module.exports = { pageWith };
