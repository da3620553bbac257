// Looks at the native file before it is loaded. A Linux library that is cut short (a download that broke off, a full
// disk) does not fail to load: the first page that is missing kills the process. So its header is asked how long the
// file must be. Other systems refuse such a file themselves.
"use strict";

const { HERE, copied, createRequire, fs, path } = require("./here.js");
const { HEADER_BYTES, bytesAt, platformKeys } = require("./platform.js");

/** An ELF64 header, and where it says what stands at the file's end: the table of sections. */
const MAGIC = 0x7f454c46;
const CLASS_64 = 2;
const TABLE_OFFSET_AT = 0x28;
const ENTRY_BYTES_AT = 0x3a;
const ENTRIES_AT = 0x3c;

/** Throws if a file that lib/native/addon.js may load is there and cut short. */
function refuseCutFiles() {
  if (process.platform !== "linux") return;
  for (const file of candidates()) {
    if (isCut(file)) throw new Error(`${file} is incomplete: it must be installed anew`);
  }
}

/** The files lib/native/addon.js may find, where it looks for them. */
function candidates() {
  const [key] = platformKeys();
  const name = `pi-strata.${key}.node`;
  const packaged = path.join(`pi-strata-${key}`, name);
  const folders = module.paths ?? [];
  const places = [path.join(HERE, "..", "..", name), ...folders.map((folder) => path.join(folder, packaged))];
  const found = [...places.filter((file) => fs.existsSync(file)), ...copied(`pi-strata.${key}`)];
  const chosen = process.env.NAPI_RS_NATIVE_LIBRARY_PATH;
  if (chosen) found.push(...resolved(chosen));
  // Only an unusual installer puts them elsewhere, and asking Node where takes longer than loading the file.
  return found.length > 0 ? found : resolved(packaged);
}

function resolved(request) {
  try {
    return [createRequire(path.join(HERE, "index.js")).resolve(request)];
  } catch {
    return [];
  }
}

function isCut(file) {
  try {
    return fs.statSync(file).size < lengthByHeader(bytesAt(file, 0, HEADER_BYTES));
  } catch {
    return false;
  }
}

/** The length of a library with this header; 0 where the header is of another kind. */
function lengthByHeader(header) {
  if (header.readUInt32BE(0) !== MAGIC || header[4] !== CLASS_64) return 0;
  const table = Number(header.readBigUInt64LE(TABLE_OFFSET_AT));
  return table + header.readUInt16LE(ENTRY_BYTES_AT) * header.readUInt16LE(ENTRIES_AT);
}

module.exports = { refuseCutFiles };
