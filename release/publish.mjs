// Publishes a folder of tarballs, platform packages first, so that the root package never points at what is not there:
// `node release/publish.mjs DIR [--publish]`. Without `--publish` it is a rehearsal: npm does everything but upload.
// Refuses whatever the guard refuses, and a tag that is not the version.

import { execFileSync, spawnSync } from "node:child_process";
import { resolve } from "node:path";
import { inspect } from "./inspect.mjs";

const [folder] = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const isReal = process.argv.includes("--publish");

const { tarballs, problems } = inspect(folder);
if (problems.length > 0) throw new Error(`the guard refuses:\n${problems.join("\n")}`);

const isRoot = ({ manifest }) => manifest.name === "pi-strata";
const root = tarballs.find(isRoot);
const tag = process.env.GITHUB_REF_NAME;
if (isReal && tag !== `v${root.manifest.version}`)
  throw new Error(`the tag is ${tag}, the version ${root.manifest.version}`);
if (isReal && root.manifest.repository === undefined)
  throw new Error("package.json names no repository, which provenance needs");

for (const tarball of [...tarballs.filter((other) => !isRoot(other)), root]) {
  const { name, version } = tarball.manifest;
  if (isReal && isPublished(name, version)) console.log(`${name}@${version} is there already`);
  // An absolute path: npm takes `folder/file.tgz` for a repository on GitHub.
  else execFileSync("npm", ["publish", resolve(tarball.path), ...flags()], { stdio: "inherit" });
}

/** A run that broke off midway can be started again. */
function isPublished(name, version) {
  return (
    spawnSync("npm", ["view", `${name}@${version}`, "version"], { encoding: "utf8" }).stdout.trim() ===
    version
  );
}

function flags() {
  return isReal ? ["--access", "public", "--provenance"] : ["--access", "public", "--dry-run"];
}
