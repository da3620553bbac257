// Node's own modules and where this package lies, also in a bundle as an ES module, which has neither `require` nor
// `__dirname`: Node hands its modules out another way since 20.16, and such a bundle lies where the program does.
"use strict";

const fs = process.getBuiltinModule?.("node:fs") ?? require("node:fs");
const path = process.getBuiltinModule?.("node:path") ?? require("node:path");
const { createRequire } = process.getBuiltinModule?.("node:module") ?? require("node:module");

const isModuleBundle = typeof __dirname === "undefined";
/** The folder of this file, or of the bundle that it is in. */
const HERE = isModuleBundle ? path.dirname(path.resolve(process.argv[1] ?? ".")) : __dirname;

/** Native files that a bundler copied beside its bundle, under names of its own making. */
function copied(beginning) {
  const isCopy = (name) => name.startsWith(beginning) && name.endsWith(".node");
  return fs
    .readdirSync(HERE)
    .filter(isCopy)
    .map((name) => path.join(HERE, name));
}

module.exports = { HERE, copied, createRequire, fs, isModuleBundle, path };
