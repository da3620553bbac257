// The coding agents this folder installs, beside its node_modules so that the repository's own packages never see them.

/** Loads the coding agent, by version. */
export const codingAgents = {
  "0.73.1": () => import("pi-coding-agent-0.73"),
  "0.74.2": () => import("@earendil-works/pi-coding-agent"),
  "0.87.1": () => import("pi-coding-agent-0.87"),
};
