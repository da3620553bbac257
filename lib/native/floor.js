// Says in one sentence that this Node is too old. Written in the oldest JavaScript, so that such a Node can read it.
"use strict";

/** Oldest major version of Node for the whole package, as in `engines` of package.json. */
var FLOOR = 20;

/** Returns the sentence for a Node or Electron that is too old, else undefined. */
function refusal() {
  var electron = process.versions.electron;
  if (parseInt(process.versions.node, 10) >= FLOOR) return undefined;
  var found =
    electron === undefined
      ? "Node " + process.versions.node
      : "Electron " + electron + " (Node " + process.versions.node + ")";
  var wanted = electron === undefined ? "Node " + FLOOR + " or newer" : "Electron 29 or newer";
  return "pi-strata needs " + wanted + "; this is " + found + ".";
}

exports.refusal = refusal;
