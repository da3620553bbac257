// Says in one sentence that this Node is too old. Written in the oldest JavaScript, so that such a Node can read it.
"use strict";

/** Oldest major version of Node for the whole package, as in `engines` of package.json. */
var FLOOR = 20;

/** Returns the sentence for a Node or Electron that is too old, else undefined. */
exports.refusal = function () {
  var found = process.versions.node;
  if (parseInt(found, 10) >= FLOOR) return undefined;
  return "pi-strata needs Node " + FLOOR + " or newer, or Electron 29 or newer; this is Node " + found + ".";
};
