// The coding agent this folder installs, beside its node_modules so that the repository's own packages never see it.
export * from "@earendil-works/pi-coding-agent";
