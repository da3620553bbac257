// Says in one sentence that the Node at hand is too old. In the oldest JavaScript, so that such a Node can read it.
"use strict";

/** The oldest major version of Node that all of the package runs on, as package.json's `engines` has it. */
var FLOOR = 20;

/** The sentence for the user of a Node or an Electron that is too old; undefined where it is not. */
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
