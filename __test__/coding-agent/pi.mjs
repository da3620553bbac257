// The coding agents this folder installs, beside its node_modules so that the repository's own packages never see them.

/** Loads the coding agent, by version. */
export const codingAgents = {
  "0.73.1": () => import("pi-coding-agent-0.73"),
  "0.74.2": () => import("@earendil-works/pi-coding-agent"),
  "1.6.0": () => import("pi-coding-agent-1.6"),
};

/** The script that `pi` runs, by version. */
export const piScripts = {
  "0.74.2": new URL("node_modules/@earendil-works/pi-coding-agent/dist/cli.js", import.meta.url),
  "1.6.0": new URL("node_modules/pi-coding-agent-1.6/dist/bundle/cli.js", import.meta.url),
};

/** What pi 1.6.0 builds of a session file; unlike the whole of it, it loads on every Node. */
export const sessionManager = () =>
  import(new URL("node_modules/pi-coding-agent-1.6/dist/core/session-manager.js", import.meta.url).href);
