// Vocabularies from files: read once per process and content, off the main thread, and known by a name from then on.
"use strict";

const { basename, extname } = require("node:path");
const { fileURLToPath } = require("node:url");
const { native } = require("../native/native.js");
const { getEncoding } = require("./encoding.js");
const { ENCODINGS, numbers, shown } = require("./models.js");

const OPTIONS = ["name", "pattern", "specialTokens"];

async function loadEncoding(source, options = {}) {
  const file = fileOf(source);
  const { name, pattern, specialTokens } = checkOptions(options, file);
  const special = Object.entries(specialTokens ?? {});
  const number = await native().loadVocabulary(file, {
    name,
    pattern,
    specialTexts: special.map(([text]) => text),
    specialIds: special.map(([, id]) => id),
  });
  if ((numbers.get(name) ?? number) !== number) {
    throw new RangeError(
      `loadEncoding: the name ${shown(name)} is taken by another vocabulary; give another`,
    );
  }
  numbers.set(name, number);
  return getEncoding(name);
}

/** A path or bytes, as the native side takes them. */
function fileOf(source) {
  if (typeof source === "string" && source !== "") return source;
  if (source instanceof URL) return fileURLToPath(source);
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  throw new TypeError(`loadEncoding: file is ${shown(source)}; it must be a path, a file URL or bytes`);
}

function checkOptions(options, file) {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`loadEncoding: options is ${shown(options)}; it must be an object`);
  }
  for (const option of Object.keys(options)) {
    if (!OPTIONS.includes(option)) {
      throw new TypeError(`loadEncoding: there is no option ${option}; there are ${OPTIONS.join(", ")}`);
    }
  }
  const { pattern, specialTokens } = options;
  const name = options.name ?? (typeof file === "string" ? basename(file, extname(file)) : undefined);
  if (typeof name !== "string" || name === "" || name === "auto") {
    throw new TypeError(
      `loadEncoding: option name is ${shown(name)}; it must be a string, and bytes need one`,
    );
  }
  if (ENCODINGS.includes(name)) {
    throw new RangeError(`loadEncoding: the name ${shown(name)} is a built-in encoding's; give another`);
  }
  if (pattern !== undefined && typeof pattern !== "string") {
    throw new TypeError(
      `loadEncoding: option pattern is ${shown(pattern)}; it must be a regular expression as a string`,
    );
  }
  const isIds = (ids) =>
    typeof ids === "object" && ids !== null && Object.values(ids).every((id) => id >>> 0 === id);
  if (specialTokens !== undefined && !isIds(specialTokens)) {
    throw new TypeError("loadEncoding: option specialTokens must be an object of ids by text");
  }
  return { name, pattern, specialTokens };
}

module.exports = { loadEncoding };
