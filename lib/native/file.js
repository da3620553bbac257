// Checks the length of the native file before it is loaded. A Linux library that is cut short (a download that broke off, a
// full disk) does not fail to load: the first page that is missing kills the process. A published package says how long its
// file is. Other systems refuse such a file themselves.
"use strict";

const { HERE, copied, createRequire, fs, path } = require("./here.js");

/** Throws if a file for this platform is there and shorter than the package says. */
function refuseCutFile(key) {
  const bytes = require("../../package.json").nativeBytes?.[key];
  if (bytes === undefined || process.platform !== "linux") return;
  for (const file of candidates(key)) {
    const found = fs.statSync(file);
    if (found.isFile() && found.size < bytes)
      throw new Error(`${file} is incomplete: it must be installed anew`);
  }
}

/** The files that lib/native/addon.js may find, where it looks for them. */
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

module.exports = { refuseCutFile };
