// Loads the native addon on first use, so that importing the package never fails. If it cannot be loaded, `native()` throws one
// error with a code, and `status()` says why, which package is needed and what to do.
"use strict";

const { loadAddon } = require("./addon.js");

let loaded;

function load() {
  try {
    loaded ??= { addon: loadAddon() };
  } catch (error) {
    loaded = { error, advice: adviceFor(error) };
  }
  return loaded;
}

class NativeUnavailableError extends Error {
  constructor({ error, advice: { hint } }) {
    super(`pi-strata's native addon could not be loaded: ${causeOf(error)}. ${hint}`, { cause: error });
    this.name = "NativeUnavailableError";
    this.code = "ERR_NATIVE_UNAVAILABLE";
  }
}

/** The advice is loaded only after a failure. */
const adviceFor = (error) => require("./advice.js").adviceFor(error);

/** Returns the first line of a message: Node adds the requiring files below it. Windows ends it with a full stop. */
function causeOf(error) {
  return String(error?.message ?? error)
    .split("\n", 1)[0]
    .replace(/\.\s*$/, "");
}

/** Returns the native functions. Throws `ERR_NATIVE_UNAVAILABLE` if there are none. */
function native() {
  const outcome = load();
  if (outcome.error !== undefined) throw new NativeUnavailableError(outcome);
  return outcome.addon;
}

function status() {
  const { error, advice } = load();
  const { version } = require("../../package.json");
  const base = { native: error === undefined, version, platform: `${process.platform}-${process.arch}` };
  if (error === undefined) return base;
  return { ...base, error: causeOf(error), ...advice };
}

module.exports = { native, status };
