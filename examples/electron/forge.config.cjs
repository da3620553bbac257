// Electron Forge: everything goes into the archive but native files, which cannot be loaded from inside it.
module.exports = {
  packagerConfig: {
    asar: { unpack: "**/*.node" },
    // Both halves of a universal macOS app carry the same native files; they are not to be joined.
    osxUniversal: { x64ArchFiles: "**/pi-strata-darwin-*/*.node" },
  },
  makers: [{ name: "@electron-forge/maker-zip" }],
};
