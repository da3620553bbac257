#!/usr/bin/env node
// Where the command-line tool starts. An old Node must be able to read this file, so it says in the oldest JavaScript
// that it is too old; the tool itself is pi-strata.mjs.
"use strict";

var floor = require("../lib/floor.js");

if (floor.refusal("node") !== undefined) {
  console.error(floor.refusal("node"));
  process.exitCode = 2;
} else {
  require("./start.js");
}
