// Native files that ask for what no system has, made from the built one: each is a real library whose needs were
// rewritten, so the system's own loader refuses it in its own words.

/** The addon, asking for a glibc that was never released. */
export function needingNewerGlibc(bytes) {
  const spoiled = Buffer.from(bytes);
  const [name] = bytes.toString("latin1").match(/GLIBC_2\.\d\d(?=\0)/g);
  const newer = "GLIBC_2.99";
  spoiled.write(newer, spoiled.indexOf(`\0${name}\0`, "latin1") + 1, "latin1");
  // The loader compares hashes before names.
  const [hash, newerHash] = [elfHash(name), elfHash(newer)];
  for (let at = spoiled.indexOf(hash); at !== -1; at = spoiled.indexOf(hash, at + 1))
    newerHash.copy(spoiled, at);
  return spoiled;
}

/** The addon, asking for a library that is nowhere. */
export function needingMissingLibrary(bytes) {
  const spoiled = Buffer.from(bytes);
  spoiled.write("libgcc_s.so.9", spoiled.indexOf("\0libgcc_s.so.1\0", "latin1") + 1, "latin1");
  return spoiled;
}

/** The hash of a symbol's or version's name in ELF files, as it is stored. */
function elfHash(name) {
  let hash = 0;
  for (const byte of Buffer.from(name)) {
    hash = (hash * 16 + byte) >>> 0;
    const high = hash & 0xf0000000;
    hash = (hash ^ (high >>> 24) ^ high) >>> 0;
  }
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(hash);
  return bytes;
}
