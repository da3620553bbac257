// Loads the native addon on first use, so that importing the package never fails. Where it cannot be loaded,
// `native()` throws one error with a code, and `status()` says what is wrong and how to mend it.
"use strict";

const { refuseCutFiles } = require("./native-file.js");

let loaded;

function load() {
  if (loaded === undefined) {
    try {
      refuseCutFiles();
      loaded = { binding: require("../binding.js") };
    } catch (error) {
      loaded = { error };
    }
  }
  return loaded;
}

const HINT =
  "Reinstall on this machine without --omit=optional (npm sometimes skips optional dependencies: delete " +
  "node_modules and the lock file first); in Electron, keep the .node file outside the asar archive.";

class NativeUnavailableError extends Error {
  constructor(cause) {
    super(`pi-strata's native addon could not be loaded for ${platform()}. ${HINT}`, { cause });
    this.name = "NativeUnavailableError";
    this.code = "ERR_NATIVE_UNAVAILABLE";
  }
}

function platform() {
  return `${process.platform}-${process.arch}`;
}

/** The native functions; throws `ERR_NATIVE_UNAVAILABLE` where there are none. */
function native() {
  const { binding, error } = load();
  if (error !== undefined) throw new NativeUnavailableError(error);
  return binding;
}

function status() {
  const { error } = load();
  const { version } = require("../package.json");
  const base = { native: error === undefined, version, platform: platform() };
  return error === undefined ? base : { ...base, error: String(error?.message ?? error), hint: HINT };
}

module.exports = { native, status };
