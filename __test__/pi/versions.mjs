// The pi versions this folder installs, each under a name of its own. It lives beside their node_modules so that
// the repository's own packages never see them: installing here puts no `node` on the path of the repository's
// scripts.
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

const require = createRequire(import.meta.url);

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
export const needsNode22 = new Set(["0.87.1", "1.5.2"]);

/** Path of the Node 22 binary. */
export function node22Path() {
  const manifest = require.resolve("node22/package.json");
  return join(dirname(manifest), require(manifest).bin.node);
}
