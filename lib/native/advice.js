// Advice for when the native addon cannot be loaded, by what stood in its way. The systems say it in their own words,
// so the words are looked for.
"use strict";

const { SUPPORTED } = require("./addon.js");
const { HERE } = require("./here.js");
const { platformKeys } = require("./platform.js");

const FROM_SOURCE =
  "or build it there from source, which needs Rust: npm install git+https://github.com/pi-strata/pi-strata.git";

/** The first that fits is given. */
const ADVICE = [
  [
    isUnsupported,
    () =>
      `Installing again does not help: pi-strata is made for ${SUPPORTED.join(", ")}. Use one of these, ${FROM_SOURCE}.`,
  ],
  [
    says(/GLIBC_[\d.]+' not found/),
    () => `This system's C library is older than the file asks for. Use a newer system, ${FROM_SOURCE}.`,
  ],
  [says(/is incomplete/), () => `The file was cut short while it was installed. ${reinstall()}`],
  [
    says(/libgcc_s|libstdc\+\+/),
    () =>
      "The system lacks this library. Install it: apk add libgcc on Alpine, apt-get install libgcc-s1 on Debian.",
  ],
  [
    says(/cannot open shared object file|Error loading shared library/),
    () => "The system lacks this library. Install it with the system's package manager.",
  ],
  [
    says(/^(The specified module could not be|Module not) found/),
    () => "This Windows lacks a library that the file needs, which needs Windows 10 or newer.",
  ],
  [hasCode("ERR_DLOPEN_DISABLED"), () => "Node was started with --no-addons: start it without."],
  [
    hasCode("ERR_ACCESS_DENIED"),
    () => "Node's permission model forbids it: start Node with --allow-addons as well.",
  ],
  [
    says(/ELF|Mach-O|mach-o|architecture|Win32|file too short|invalid/),
    () => `The file there is for another machine, or damaged. ${reinstall()}`,
  ],
  [
    says(/code signature|library load disallowed/i),
    () => "macOS refuses the file's signature: sign the app after packaging it.",
  ],
  [
    says(/undefined symbol: napi_|did not self-register/),
    () => "This Node or Electron is too old: Node 20 or newer is needed.",
  ],
  [
    isInArchive,
    () =>
      "In a packaged app the native file must lie outside app.asar (asarUnpack: **/*.node) and be the one for that " +
      `machine: ${packageWanted()}.`,
  ],
  [
    says(/^Dynamic require of|require is not defined/),
    () =>
      "A bundle as an ES module found no native file beside it: bundle as CommonJS with the file copied, or leave " +
      "pi-strata outside the bundle.",
  ],
  [
    hasCode("MODULE_NOT_FOUND"),
    () => `npm left ${packageWanted()} out, as it sometimes does with optional dependencies. ${reinstall()}`,
  ],
  [() => true, () => `The system would not load the file. ${reinstall()}`],
];

function says(pattern) {
  return (error) => pattern.test(String(error?.message));
}

function hasCode(code) {
  return (error) => error?.code === code;
}

function isUnsupported(error) {
  return error?.code === "ERR_UNSUPPORTED_PLATFORM";
}

function isInArchive() {
  return /\.asar[\\/]/.test(HERE);
}

function reinstall() {
  const { version } = require("../../package.json");
  return (
    "Delete node_modules and the lock file and install again on this machine, without --omit=optional; " +
    `or add the package by hand: npm install ${packageWanted()}@${version}.`
  );
}

/** The platform package of this machine. */
function packageWanted() {
  return `pi-strata-${platformKeys().at(-1)}`;
}

/** One sentence or two for whoever has to mend it. */
function adviceFor(error) {
  const [, advice] = ADVICE.find(([fits]) => fits(error));
  return advice();
}

module.exports = { adviceFor, isUnsupported, packageWanted };
