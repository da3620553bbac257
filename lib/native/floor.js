// Refuses a Node or Electron that is too old, in one sentence. Such a Node reads this file and index.js: they have no newer syntax.
"use strict";

/** Oldest major version of Node for the whole package, as in `engines` of package.json. */
const FLOOR = 20;
const { node } = process.versions;

if (Number.parseInt(node, 10) < FLOOR)
  throw new Error(`pi-strata needs Node ${FLOOR} or newer, or Electron 29 or newer; this is Node ${node}.`);
