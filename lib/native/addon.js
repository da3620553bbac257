// Finds and loads the native file of this machine: the one that was built beside the package, else the one of the platform package.
// Bundlers follow a `require` only if its name is written out, and accept a missing file only inside a `try`. Hence the long table.
"use strict";

const here = require("./here.js");

const { HERE, copied, createRequire, fs, path, wantedKey } = here;
/** The platforms that files are made for. */
const SUPPORTED = [
  "linux-x64-gnu",
  "linux-arm64-gnu",
  "linux-x64-musl",
  "linux-arm64-musl",
  "darwin-universal",
  "darwin-x64",
  "darwin-arm64",
  "win32-x64-msvc",
  "win32-arm64-msvc",
];

/** Loads the file beside the package, or the one of the platform package. Adds an error to `missed`. */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: a table that bundlers must be able to read
function fileOf(key, isBeside, missed) {
  try {
    refuseCutFile(key);
    if (isBeside) {
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
    throw new UnsupportedError(key);
  } catch (error) {
    missed.push({ key, error });
    return undefined;
  }
}

/**
 * Throws if a file for this platform is there and shorter than the package says. A Linux library that is cut short (a download that
 * broke off, a full disk) does load: the first missing page kills the process. Other systems refuse such a file themselves.
 */
function refuseCutFile(key) {
  const bytes = require("../../package.json").nativeBytes?.[key];
  if (bytes === undefined || process.platform !== "linux") return;
  for (const file of candidates(key)) {
    const found = fs.statSync(file);
    if (found.isFile() && found.size < bytes)
      throw new Error(`${file} is incomplete: it must be installed anew`);
  }
}

/** Returns the files that `fileOf` may find. */
function candidates(key) {
  const beside = path.join(HERE, "..", "..", `pi-strata.${key}.node`);
  const found = [beside, ...copied(`pi-strata.${key}`)].filter((file) => fs.existsSync(file));
  try {
    found.push(createRequire(path.join(HERE, "index.js")).resolve(`pi-strata-${key}`));
  } catch {
    // There is no such package.
  }
  return found;
}

/** Returns the native functions. Throws the error that says most about why there are none. */
function loadAddon() {
  const chosen = process.env.NAPI_RS_NATIVE_LIBRARY_PATH;
  if (chosen) return requireFrom(HERE)(chosen);
  const missed = [];
  for (const key of here.platformKeys()) {
    const elsewhere = SUPPORTED.includes(key) ? besideBundle : ownBuild;
    const addon = fileOf(key, true, missed) ?? fileOf(key, false, missed) ?? elsewhere(key, missed);
    if (addon !== undefined) return addon;
  }
  const wanted = wantedKey();
  // An error of a file that is there says more than a missing file.
  const isTold = ({ key, error }) => key === wanted && error?.code !== "MODULE_NOT_FOUND";
  const told = missed.find(isTold) ?? missed.findLast(({ key }) => key === wanted) ?? missed.at(-1);
  throw told.error;
}

/** Loads the file beside a bundle that has no `require`. */
function besideBundle(key, missed) {
  if (!here.isModuleBundle) return undefined;
  for (const request of [...copied(`pi-strata.${key}`), `pi-strata-${key}`]) {
    try {
      return requireFrom(HERE)(request);
    } catch (error) {
      missed.push({ key, error });
    }
  }
  return undefined;
}

/** Loads the file that was built from source for a platform without a package. */
function ownBuild(key) {
  const folder = path.join(HERE, "..", "..");
  const file = fs
    .readdirSync(folder)
    .find((name) => name.startsWith(`pi-strata.${key}`) && name.endsWith(".node"));
  return file && requireFrom(folder)(path.join(folder, file));
}

/** Returns a `require` for any path: a bundle's own takes only the paths that the bundler saw. */
function requireFrom(folder) {
  return createRequire(path.join(folder, "index.js"));
}

class UnsupportedError extends Error {
  constructor(key) {
    super(`there is no native file for ${key}`);
    this.code = "ERR_UNSUPPORTED_PLATFORM";
  }
}

module.exports = { SUPPORTED, loadAddon };
