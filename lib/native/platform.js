// Finds the platform package of this machine. On Linux that depends on the C library of the running program; it is
// read from the program's file, so that nothing has to be started to find out.
"use strict";

const { fs } = require("./here.js");

const { closeSync, openSync, readSync } = fs;

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

/** Offsets at which an ELF64 file names its loader: the table of segments, and in it the segment that holds the name. */
const SEGMENTS_OFFSET_AT = 0x20;
const SEGMENT_BYTES_AT = 0x36;
const SEGMENT_COUNT_AT = 0x38;
const INTERPRETER_SEGMENT = 3;
const NAME_OFFSET_AT = 0x08;
const NAME_BYTES_AT = 0x20;
/** Bytes of the header of such a file. */
const HEADER_BYTES = 64;

/** The loader that an ELF64 program asks for; undefined if it asks for none or cannot be read. */
function interpreterOf(program) {
  try {
    const header = bytesAt(program, 0, HEADER_BYTES);
    const segmentBytes = header.readUInt16LE(SEGMENT_BYTES_AT);
    const tableBytes = segmentBytes * header.readUInt16LE(SEGMENT_COUNT_AT);
    const table = bytesAt(program, Number(header.readBigUInt64LE(SEGMENTS_OFFSET_AT)), tableBytes);
    for (let at = 0; at < tableBytes; at += segmentBytes) {
      if (table.readUInt32LE(at) !== INTERPRETER_SEGMENT) continue;
      const from = Number(table.readBigUInt64LE(at + NAME_OFFSET_AT));
      return bytesAt(program, from, Number(table.readBigUInt64LE(at + NAME_BYTES_AT))).toString("latin1");
    }
  } catch {
    // Not an ELF64 file, or not readable: the libraries that are loaded tell it, too.
  }
  return undefined;
}

/** `length` bytes of a file, zeros behind its end. */
function bytesAt(file, position, length) {
  const descriptor = openSync(file, "r");
  try {
    const bytes = Buffer.alloc(length);
    readSync(descriptor, bytes, 0, length, position);
    return bytes;
  } finally {
    closeSync(descriptor);
  }
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

module.exports = { HEADER_BYTES, bytesAt, platformKeys };
