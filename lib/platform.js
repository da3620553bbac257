// Which platform package this machine takes. On Linux that depends on the C library of the running program; it is
// read from the program's file, so that nothing has to be started to find out.
"use strict";

const { closeSync, openSync, readSync } = require("node:fs");

/** The keys of the packages that fit this machine, the preferred one first. */
function platformKeys() {
  const { platform, arch } = process;
  if (platform === "linux") return [`linux-${arch}-${isMusl() ? "musl" : "gnu"}`];
  if (platform === "win32") return [`win32-${arch}-msvc`];
  if (platform === "darwin" && (arch === "x64" || arch === "arm64"))
    return ["darwin-universal", `darwin-${arch}`];
  return [`${platform}-${arch}`];
}

function isMusl() {
  const interpreter = interpreterOf(process.execPath);
  if (interpreter !== undefined) return interpreter.includes("ld-musl");
  return hasMuslLoaded();
}

/** Where an ELF64 file says which loader runs it: the table of segments, and in it the segment that holds the name. */
const SEGMENTS_OFFSET_AT = 0x20;
const SEGMENT_BYTES_AT = 0x36;
const SEGMENT_COUNT_AT = 0x38;
const INTERPRETER_SEGMENT = 3;
const NAME_OFFSET_AT = 0x08;
const NAME_BYTES_AT = 0x20;
/** The table and the name stand at the file's beginning. */
const BEGINNING_BYTES = 4096;

/** The loader that an ELF64 program asks for; undefined if it asks for none or cannot be read. */
function interpreterOf(program) {
  let descriptor;
  try {
    descriptor = openSync(program, "r");
    const bytes = Buffer.alloc(BEGINNING_BYTES);
    readSync(descriptor, bytes, 0, BEGINNING_BYTES, 0);
    const table = Number(bytes.readBigUInt64LE(SEGMENTS_OFFSET_AT));
    for (let i = 0; i < bytes.readUInt16LE(SEGMENT_COUNT_AT); i += 1) {
      const segment = table + i * bytes.readUInt16LE(SEGMENT_BYTES_AT);
      if (bytes.readUInt32LE(segment) !== INTERPRETER_SEGMENT) continue;
      const from = Number(bytes.readBigUInt64LE(segment + NAME_OFFSET_AT));
      const length = Number(bytes.readBigUInt64LE(segment + NAME_BYTES_AT));
      return bytes.toString("latin1", from, from + length);
    }
  } catch {
    // Not an ELF64 file, or not readable: the libraries that are loaded tell it, too.
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
  return undefined;
}

function hasMuslLoaded() {
  const { report } = process;
  if (report === undefined) return false;
  const { excludeNetwork } = report;
  // Otherwise it looks up the name of every open connection's other end.
  report.excludeNetwork = true;
  const { header, sharedObjects = [] } = report.getReport();
  report.excludeNetwork = excludeNetwork;
  return header?.glibcVersionRuntime === undefined && sharedObjects.some((file) => file.includes("ld-musl"));
}

module.exports = { platformKeys };
