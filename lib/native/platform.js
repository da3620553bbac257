// Names the platform packages that fit this machine.
"use strict";

/** The keys of the packages that may fit this machine, in the order in which they are tried. */
function platformKeys() {
  const { platform, arch } = process;
  if (platform === "linux") return [`linux-${arch}-gnu`, `linux-${arch}-musl`];
  if (platform === "win32") return [`win32-${arch}-msvc`];
  if (platform === "darwin" && (arch === "x64" || arch === "arm64"))
    return ["darwin-universal", `darwin-${arch}`];
  return [`${platform}-${arch}`];
}

/** The key of the package that this machine needs. On Linux the process's own report tells the C library. */
function wantedKey() {
  const keys = platformKeys();
  return process.platform === "linux" ? keys[isMusl() ? 1 : 0] : keys.at(-1);
}

function isMusl() {
  const { report } = process;
  if (report === undefined) return false;
  const { excludeNetwork } = report;
  // Otherwise it looks up the name of every open connection's other end.
  report.excludeNetwork = true;
  const { header, sharedObjects = [] } = report.getReport();
  report.excludeNetwork = excludeNetwork;
  return header?.glibcVersionRuntime === undefined && sharedObjects.some((file) => file.includes("ld-musl"));
}

module.exports = { platformKeys, wantedKey };
