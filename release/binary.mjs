// Reads from its first bytes what a native file is made for: its format and processor; of a Linux file the newest glibc it
// asks for and whether it still has its symbols, as a quick build has; of a Windows file the runtime of Visual C++.

const ELF_MACHINES = { 62: "x64", 183: "arm64" };
const MACH_CPUS = { 16777223: "x64", 16777228: "arm64" };
const PE_MACHINES = { 34404: "x64", 43620: "arm64" };

/**
 * `{ os, cpus, glibc, hasSymbols, runtime }`; `glibc` is `[major, minor]`, `runtime` the name of a library, each undefined
 * where the file asks for none.
 */
export function describeBinary(bytes) {
  if (bytes.toString("latin1", 0, 4) === "\x7fELF") {
    return {
      os: "linux",
      cpus: [ELF_MACHINES[bytes.readUInt16LE(18)]],
      glibc: newestGlibc(bytes),
      hasSymbols: bytes.includes("\0.symtab\0"),
    };
  }
  if (bytes.readUInt32LE(0) === 0xfeedfacf) return { os: "darwin", cpus: [MACH_CPUS[bytes.readUInt32LE(4)]] };
  if (bytes.readUInt32BE(0) === 0xcafebabe) return { os: "darwin", cpus: fatCpus(bytes) };
  if (bytes.toString("latin1", 0, 2) === "MZ") {
    return {
      os: "win32",
      cpus: [PE_MACHINES[bytes.readUInt16LE(bytes.readUInt32LE(0x3c) + 4)]],
      runtime: /(?:vcruntime|msvcp)\d+\w*\.dll/i.exec(bytes.toString("latin1"))?.[0],
    };
  }
  return { os: undefined, cpus: [] };
}

/** Bytes of one entry in the table of a Mach-O file for several processors. */
const FAT_ENTRY_BYTES = 20;

function fatCpus(bytes) {
  return Array.from(
    { length: bytes.readUInt32BE(4) },
    (_, i) => MACH_CPUS[bytes.readUInt32BE(8 + FAT_ENTRY_BYTES * i)],
  );
}

function newestGlibc(bytes) {
  const versions = Array.from(
    bytes.toString("latin1").matchAll(/GLIBC_(\d+)\.(\d+)/g),
    ([, major, minor]) => [Number(major), Number(minor)],
  );
  return versions.sort((a, b) => a[0] - b[0] || a[1] - b[1]).at(-1);
}
