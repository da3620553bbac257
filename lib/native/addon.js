// Finds the native file of this machine and loads it: the one built beside the package, else that of its platform
// package. Bundlers follow a `require` only where the name is written out, and forgive one that leads nowhere only
// inside a `try`: hence the long table.
"use strict";

const { HERE, copied, createRequire, fs, isModuleBundle, path } = require("./here.js");
const { platformKeys } = require("./platform.js");

/** Loaders by platform: of the file beside the package, or of the platform package. What stands in the way is added to `missed`. */
const LOADERS = {
  "linux-x64-gnu"(missed, isBeside) {
    try {
      return isBeside ? require("../../pi-strata.linux-x64-gnu.node") : require("pi-strata-linux-x64-gnu");
    } catch (error) {
      missed.push(error);
    }
  },
  "linux-arm64-gnu"(missed, isBeside) {
    try {
      return isBeside
        ? require("../../pi-strata.linux-arm64-gnu.node")
        : require("pi-strata-linux-arm64-gnu");
    } catch (error) {
      missed.push(error);
    }
  },
  "linux-x64-musl"(missed, isBeside) {
    try {
      return isBeside ? require("../../pi-strata.linux-x64-musl.node") : require("pi-strata-linux-x64-musl");
    } catch (error) {
      missed.push(error);
    }
  },
  "linux-arm64-musl"(missed, isBeside) {
    try {
      return isBeside
        ? require("../../pi-strata.linux-arm64-musl.node")
        : require("pi-strata-linux-arm64-musl");
    } catch (error) {
      missed.push(error);
    }
  },
  "darwin-universal"(missed, isBeside) {
    try {
      return isBeside
        ? require("../../pi-strata.darwin-universal.node")
        : require("pi-strata-darwin-universal");
    } catch (error) {
      missed.push(error);
    }
  },
  "darwin-x64"(missed, isBeside) {
    try {
      return isBeside ? require("../../pi-strata.darwin-x64.node") : require("pi-strata-darwin-x64");
    } catch (error) {
      missed.push(error);
    }
  },
  "darwin-arm64"(missed, isBeside) {
    try {
      return isBeside ? require("../../pi-strata.darwin-arm64.node") : require("pi-strata-darwin-arm64");
    } catch (error) {
      missed.push(error);
    }
  },
  "win32-x64-msvc"(missed, isBeside) {
    try {
      return isBeside ? require("../../pi-strata.win32-x64-msvc.node") : require("pi-strata-win32-x64-msvc");
    } catch (error) {
      missed.push(error);
    }
  },
  "win32-arm64-msvc"(missed, isBeside) {
    try {
      return isBeside
        ? require("../../pi-strata.win32-arm64-msvc.node")
        : require("pi-strata-win32-arm64-msvc");
    } catch (error) {
      missed.push(error);
    }
  },
};

/** The native functions; throws the error that tells most about why there are none. */
function loadAddon() {
  const chosen = process.env.NAPI_RS_NATIVE_LIBRARY_PATH;
  if (chosen) return requireFrom(HERE)(chosen);
  const missed = [];
  for (const key of platformKeys()) {
    const load = LOADERS[key] ?? (() => undefined);
    const elsewhere = key in LOADERS ? besideBundle : ownBuild;
    const addon = load(missed, true) ?? load(missed, false) ?? elsewhere(key, missed);
    if (addon !== undefined) return addon;
  }
  throw missed.find((error) => !isNotFound(error)) ?? missed.at(-1);
}

/** The file that a bundle without `require` finds by it. */
function besideBundle(key, missed) {
  if (!isModuleBundle) return undefined;
  for (const request of [...copied(`pi-strata.${key}`), `pi-strata-${key}`]) {
    try {
      return requireFrom(HERE)(request);
    } catch (error) {
      missed.push(error);
    }
  }
  return undefined;
}

/** The file that was built from source for a platform without a package. */
function ownBuild(key, missed) {
  const folder = path.join(HERE, "..", "..");
  const file = fs
    .readdirSync(folder)
    .find((name) => name.startsWith(`pi-strata.${key}`) && name.endsWith(".node"));
  if (file !== undefined) return requireFrom(folder)(path.join(folder, file));
  missed.push(new UnsupportedError(key));
  return undefined;
}

/** A bundle has no `require` that takes a path it never saw. */
function requireFrom(folder) {
  return createRequire(path.join(folder, "index.js"));
}

/** A file that is not there says nothing where another is and cannot be loaded. */
function isNotFound(error) {
  return error?.code === "MODULE_NOT_FOUND";
}

class UnsupportedError extends Error {
  constructor(key) {
    super(`there is no native file for ${key}`);
    this.code = "ERR_UNSUPPORTED_PLATFORM";
  }
}

module.exports = { SUPPORTED: Object.keys(LOADERS), loadAddon };
