// Loads vocabularies from files, once per process and content, off the main thread. Each is then known by a name.
"use strict";

const { basename, extname } = process.getBuiltinModule?.("node:path") ?? require("node:path");
const { fileURLToPath } = process.getBuiltinModule?.("node:url") ?? require("node:url");
const { types } = process.getBuiltinModule?.("node:util") ?? require("node:util");
const { native } = require("../native/native.js");
const { checkOptions, record, show, text } = require("../options.js");
const { getEncoding } = require("./encoding.js");
const { ENCODINGS, numbers } = require("./models.js");

const ids = {
  allowed: "an object of ids by text, whole numbers from 0 on",
  accepts: (value) => record.accepts(value) && Object.values(value).every((id) => id >>> 0 === id),
};
const OPTIONS = {
  name: [undefined, text],
  pattern: [undefined, { ...text, allowed: "a regular expression as a string" }],
  specialTokens: [{}, ids],
};

async function loadEncoding(source, options) {
  const file = fileOf(source);
  const { name, pattern, specialTokens } = checkLoading(options, file);
  const number = await native().loadVocabulary(file, name, pattern, specialTokens);
  if ((numbers.get(name) ?? number) !== number) {
    throw new RangeError(`loadEncoding: the name ${show(name)} is taken by another vocabulary; give another`);
  }
  numbers.set(name, number);
  return getEncoding(name);
}

/** Returns a path or bytes, as the native loader takes them. */
function fileOf(source) {
  if (typeof source === "string" && source !== "") return source;
  if (typeof source?.href === "string") return fileURLToPath(source.href);
  if (types.isUint8Array(source)) return source;
  if (types.isArrayBuffer(source)) return new Uint8Array(source);
  throw new TypeError(`loadEncoding: file is ${show(source)}; it must be a path, a file URL or bytes`);
}

function checkLoading(options, file) {
  const checked = checkOptions("loadEncoding", options, OPTIONS);
  const name = checked.name ?? (typeof file === "string" ? basename(file, extname(file)) : undefined);
  if (name === undefined || name === "" || name === "auto") {
    throw new TypeError(`loadEncoding: option name is ${show(name)}; it must be a name, and bytes need one`);
  }
  if (ENCODINGS.includes(name)) {
    throw new RangeError(`loadEncoding: the name ${show(name)} is a built-in encoding's; give another`);
  }
  return { ...checked, name };
}

module.exports = { loadEncoding };
