#!/usr/bin/env node
// Starts the command-line tool, cli.mjs. The oldest JavaScript is used, so that an old Node can parse the file and say that it
// is too old.
"use strict";

var refusal = require("../lib/native/floor.js").refusal();

if (refusal !== undefined) {
  console.error(refusal);
  process.exitCode = 2;
} else {
  require("./start.js");
}
