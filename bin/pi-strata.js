#!/usr/bin/env node
// Starts the command-line tool, cli.mjs, which an old Node cannot load: one that parses `import()` says so in a sentence.
"use strict";

function tell(error) {
  console.error(error.message);
  process.exitCode = 2;
}

try {
  require("../lib/native/floor.js");
  import("./cli.mjs").catch(tell);
} catch (error) {
  tell(error);
}
