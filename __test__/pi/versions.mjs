// The pi versions this folder installs, each under a name of its own. They are installed apart, so that the repository's own
// packages never see them.

/** Loads the package `Agent` comes from, by version. */
export const piVersions = {
  "0.73.1": () => import("pi-agent-core-0.73"),
  "0.74.2": () => import("pi-agent-core-0.74"),
  "0.87.1": () => import("pi-agent-core-0.87"),
};

/** Loads the pi-ai that package depends on, by version; of 0.87 the entry that dispatches by protocol. */
export const piAis = {
  "0.73.1": () => import("@mariozechner/pi-ai"),
  "0.74.2": () => import("@earendil-works/pi-ai"),
  "0.87.1": () =>
    import("./node_modules/pi-agent-core-0.87/node_modules/@earendil-works/pi-ai/dist/compat.js"),
};

/** The versions that refuse a Node older than 22.19. */
export const needsNode22 = new Set(["0.87.1", "1.6.0"]);
