// Node's own modules, where this package lies, and the platform packages that fit this machine. A bundle as an ES module has neither
// `require` nor `__dirname`: Node hands out its modules another way since 20.16, and such a bundle lies where the program does.
"use strict";

const fs = process.getBuiltinModule?.("node:fs") ?? require("node:fs");
const path = process.getBuiltinModule?.("node:path") ?? require("node:path");
const { createRequire } = process.getBuiltinModule?.("node:module") ?? require("node:module");

/** The folder of this file, or of the bundle that it is in. webpack may write `__dirname` relative. */
const HERE = path.resolve(
  typeof __dirname === "undefined" ? path.dirname(process.argv[1] ?? ".") : __dirname,
);

/** Returns the keys of the packages that may fit this machine, in the order of the tries. */
function platformKeys() {
  const { platform, arch } = process;
  if (platform === "linux") return [`linux-${arch}-gnu`, `linux-${arch}-musl`];
  if (platform === "win32") return [`win32-${arch}-msvc`];
  if (platform === "darwin") return ["darwin-universal", `darwin-${arch}`];
  return [`${platform}-${arch}`];
}

/** Returns the key of the package that this machine needs. On Linux the process's report names the C library. */
function wantedKey() {
  const keys = platformKeys();
  return process.platform === "linux" ? keys[isMusl() ? 1 : 0] : keys.at(-1);
}

function isMusl() {
  const { report } = process;
  if (report === undefined) return false;
  const { excludeNetwork } = report;
  // Otherwise the report looks up a name for each open connection.
  report.excludeNetwork = true;
  const { header, sharedObjects = [] } = report.getReport();
  report.excludeNetwork = excludeNetwork;
  return header?.glibcVersionRuntime === undefined && sharedObjects.some((file) => file.includes("ld-musl"));
}

module.exports = { HERE, createRequire, fs, path, platformKeys, wantedKey };
