// Advises what to do if the native addon cannot be loaded. Systems word a cause differently, so this searches for words.
"use strict";

const { HERE, wantedKey } = require("./addon.js");

/** `{ package, hint }` for an error: the platform package of this machine, if there is one, and the first advice that fits. */
function adviceFor(error) {
  const says = (pattern) => pattern.test(String(error?.message));
  const { version } = require("../../package.json");
  const isUnsupported = error?.code === "ERR_UNSUPPORTED_PLATFORM";
  const wanted = `pi-strata-${wantedKey()}`;
  const reinstall =
    "Delete node_modules and the lock file and install again on this machine, without --omit=optional; " +
    `or add the package by hand: npm install ${wanted}@${version}.`;
  const fromSource =
    "or build it there from source, which needs Rust: npm install git+https://github.com/pi-strata/pi-strata.git";
  const advice = [
    [
      isUnsupported,
      "Installing again does not help: pi-strata is made for Linux (glibc and musl), macOS and Windows, on x64 and ARM64. " +
        `Use one of these, ${fromSource}.`,
    ],
    [
      says(/GLIBC_[\d.]+' not found/),
      `This system's C library is older than the file asks for. Use a newer system, ${fromSource}.`,
    ],
    [
      says(/ld-musl|libc\.musl|ld-linux|libc\.so\.6/),
      `The file there is for another C library than this system's. ${reinstall}`,
    ],
    [says(/is incomplete/), `The file was cut short while it was installed. ${reinstall}`],
    [
      says(
        /libgcc_s|libstdc\+\+|cannot open shared object|Error loading shared|module could not be found|^Module not/,
      ),
      "The system lacks a library that the file needs. Install it: apk add libgcc on Alpine, apt-get install libgcc-s1 " +
        "on Debian. Windows needs to be 10 or newer.",
    ],
    [
      error?.code === "ERR_DLOPEN_DISABLED" || error?.code === "ERR_ACCESS_DENIED",
      "Node forbids it: start it without --no-addons, or under its permission model with --allow-addons.",
    ],
    [
      says(/ELF|Mach-O|mach-o|architecture|Win32|file too short|invalid/),
      `The file there is for another machine, or damaged. ${reinstall}`,
    ],
    [
      says(/code signature|library load disallowed/i),
      "macOS refuses the file's signature: sign the app after packaging it.",
    ],
    [
      /\.asar[\\/]/.test(HERE),
      "In a packaged app the native file must lie outside app.asar (asarUnpack: **/*.node) and be the one for that " +
        `machine: ${wanted}.`,
    ],
    [
      says(/^Dynamic require of|require is not defined/),
      "A bundle as an ES module found no native file beside it: bundle as CommonJS with the file copied, or leave " +
        "pi-strata outside the bundle.",
    ],
    [
      error?.code === "MODULE_NOT_FOUND",
      `npm left ${wanted} out, as it sometimes does with optional dependencies. ${reinstall}`,
    ],
    [true, `The system would not load the file. ${reinstall}`],
  ];
  const [, hint] = advice.find(([fits]) => fits);
  return { ...(!isUnsupported && { package: wanted }), hint };
}

module.exports = { adviceFor };
