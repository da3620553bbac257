#!/usr/bin/env node
// The start of the command-line tool. An old Node must be able to read this file, so it says in the oldest JavaScript
// that it is too old; the tool itself is cli.mjs.
"use strict";

var refusal = require("../lib/native/floor.js").refusal();

if (refusal !== undefined) {
  console.error(refusal);
  process.exitCode = 2;
} else {
  require("./start.js");
}
