// The file that `require("pi-strata")` loads. An old Node or Electron must be able to read this file, so it says in the oldest
// JavaScript that it is too old; everything else is in index.js.
"use strict";

var refusal = require("./lib/native/floor.js").refusal();
if (refusal !== undefined) throw new Error(refusal);

module.exports = require("./index.js");
