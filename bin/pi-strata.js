#!/usr/bin/env node
// Starts the command-line tool, cli.mjs, which an old Node cannot load.
"use strict";

try {
  require("../lib/native/floor.js");
  import("./cli.mjs");
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}
