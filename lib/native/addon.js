// Finds and loads the native file of this machine: built in the package's folder, copied beside a bundle, or from the
// platform package.
// Bundlers follow a `require` only if its name is written out, and accept a missing file only inside a `try`. Hence the long table.
// A bundle as an ES module has neither `require` nor `__dirname`. `getBuiltinModule` (Node 20.16) replaces the first, and
// the call stack the second.
"use strict";

const { attempt } = require("../helpers.js");
const fs = process.getBuiltinModule?.("node:fs") ?? require("node:fs");
const path = process.getBuiltinModule?.("node:path") ?? require("node:path");
const { createRequire } = process.getBuiltinModule?.("node:module") ?? require("node:module");
const { fileURLToPath } = process.getBuiltinModule?.("node:url") ?? require("node:url");

/** The folder of this file, or of the bundle that it is in. webpack may write `__dirname` relative. */
const HERE =
  typeof __dirname !== "undefined" && path.isAbsolute(__dirname) ? __dirname : path.dirname(runningFile());
/** A `require` for any path: a bundle's own takes only the paths that the bundler saw. */
const requireHere = createRequire(path.join(HERE, "index.js"));

/** Returns the file that runs, by the call stack, else the program. The current folder and `argv` can name foreign folders. */
function runningFile() {
  const { prepareStackTrace, stackTraceLimit } = Error;
  const files = attempt(() => {
    Error.stackTraceLimit = 10;
    Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName());
    return new Error().stack.map((file) => (file?.startsWith("file:") ? fileURLToPath(file) : file));
  }, []);
  attempt(() => Object.assign(Error, { prepareStackTrace, stackTraceLimit }));
  return files.find((file) => file && path.isAbsolute(file)) ?? process.execPath;
}

/** Returns the keys of the packages that may fit this machine, in the order to try. */
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

/** Loads the file that a bundler put in place of a built one or of the platform package. Adds an error to `missed`. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a table that bundlers must be able to read
function loadBundled(key, isBuilt, missed) {
  try {
    if (isBuilt) {
      if (key === "linux-x64-gnu") return require("../../pi-strata.linux-x64-gnu.node");
      if (key === "linux-arm64-gnu") return require("../../pi-strata.linux-arm64-gnu.node");
      if (key === "linux-x64-musl") return require("../../pi-strata.linux-x64-musl.node");
      if (key === "linux-arm64-musl") return require("../../pi-strata.linux-arm64-musl.node");
      if (key === "darwin-universal") return require("../../pi-strata.darwin-universal.node");
      if (key === "darwin-x64") return require("../../pi-strata.darwin-x64.node");
      if (key === "darwin-arm64") return require("../../pi-strata.darwin-arm64.node");
      if (key === "win32-x64-msvc") return require("../../pi-strata.win32-x64-msvc.node");
      if (key === "win32-arm64-msvc") return require("../../pi-strata.win32-arm64-msvc.node");
    }
    if (key === "linux-x64-gnu") return require("pi-strata-linux-x64-gnu");
    if (key === "linux-arm64-gnu") return require("pi-strata-linux-arm64-gnu");
    if (key === "linux-x64-musl") return require("pi-strata-linux-x64-musl");
    if (key === "linux-arm64-musl") return require("pi-strata-linux-arm64-musl");
    if (key === "darwin-universal") return require("pi-strata-darwin-universal");
    if (key === "darwin-x64") return require("pi-strata-darwin-x64");
    if (key === "darwin-arm64") return require("pi-strata-darwin-arm64");
    if (key === "win32-x64-msvc") return require("pi-strata-win32-x64-msvc");
    if (key === "win32-arm64-msvc") return require("pi-strata-win32-arm64-msvc");
    const message = `there is no native file for ${key}`;
    throw Object.assign(new Error(message), { code: "ERR_UNSUPPORTED_PLATFORM" });
  } catch (error) {
    missed.push({ key, error });
    return undefined;
  }
}

/**
 * Loads a file, unless it is shorter than the package states. Adds an error to `missed`. A broken download or a full disk
 * leaves a short file: Linux loads it, and the first missing page kills the process. Other systems refuse it.
 */
function loadFile(key, file, missed) {
  try {
    const bytes = require("../../package.json").nativeBytes?.[key];
    const found = fs.statSync(file);
    if (process.platform === "linux" && found.isFile() && found.size < bytes)
      throw new Error(`${file} is incomplete: it must be installed anew`);
    return requireHere(file);
  } catch (error) {
    missed.push({ key, error });
    return undefined;
  }
}

/** Returns the native functions. Throws the most informative error if there are none. */
function loadAddon() {
  const chosen = process.env.NAPI_RS_NATIVE_LIBRARY_PATH;
  if (chosen) return requireHere(chosen);
  const missed = [];
  for (const key of platformKeys()) {
    const files = filesFor(key);
    for (const file of files) {
      const addon = loadFile(key, file, missed);
      if (addon !== undefined) return addon;
    }
    // A refused file must not be loaded another way.
    if (files.length > 0) continue;
    const addon = loadBundled(key, true, missed) ?? loadBundled(key, false, missed);
    if (addon !== undefined) return addon;
  }
  const wanted = wantedKey();
  // An error of an existing file says more than a missing file.
  const isSpecific = ({ key, error }) => key === wanted && error?.code !== "MODULE_NOT_FOUND";
  const best = missed.find(isSpecific) ?? missed.findLast(({ key }) => key === wanted) ?? missed.at(-1);
  throw best.error;
}

/** Returns the files to try: built from source, copied beside a bundle, and the one of the platform package. */
function filesFor(key) {
  const isFile = (name) => name.startsWith(`pi-strata.${key}`) && name.endsWith(".node");
  const filesIn = (folder) => fs.readdirSync(folder).filter(isFile);
  const pathsIn = (folder) => filesIn(folder).map((name) => path.join(folder, name));
  // Two folders above a bundle lie foreign files.
  const isUnbundled = HERE.endsWith(path.join("lib", "native"));
  const searches = [
    () => (isUnbundled ? pathsIn(path.join(HERE, "..", "..")) : []),
    () => pathsIn(HERE),
    () => [requireHere.resolve(`pi-strata-${key}`)],
  ];
  // A folder or the package may be missing.
  return searches.flatMap((search) => attempt(search, []));
}

module.exports = { HERE, loadAddon, wantedKey };
