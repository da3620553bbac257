// Advises what to do if the native addon cannot be loaded, by the table advice.json. Systems word a cause differently, so its
// rows search for words.
"use strict";

const { HERE, wantedKey } = require("./addon.js");
const { rows, texts } = require("./advice.json");

/** `{ package, hint }` for an error: the platform package of this machine, if there is one, and the first advice that fits. */
function adviceFor(error) {
  const { version } = require("../../package.json");
  const wanted = `pi-strata-${wantedKey()}`;
  const names = { ...texts, wanted, version };
  const filled = (text) => text.replace(/\{(\w+)\}/g, (_, name) => filled(names[name]));
  const searched = { code: error?.code, says: error?.message, folder: HERE };
  const fits = ([name, pattern]) => new RegExp(pattern).test(String(searched[name]));
  const { hint } = rows.find(({ hint, ...patterns }) => Object.entries(patterns).every(fits));
  const isUnsupported = error?.code === "ERR_UNSUPPORTED_PLATFORM";
  return { ...(!isUnsupported && { package: wanted }), hint: filled(hint) };
}

module.exports = { adviceFor };
